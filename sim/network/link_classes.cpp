#include "link_classes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace stepcast {
namespace {

constexpr double most_shares = 1024;

double largest_of(const LinkLoads& loads) {
  double largest = 0;
  for (const auto& [flow, weight] : loads) largest = std::max(largest, weight);
  return largest;
}

/// Weights are quotients of bytes, so that whole numbers come out with rounding.
bool whole(double ratio) { return std::abs(ratio - std::round(ratio)) <= 1e-9 * ratio; }

/// The largest weight that divides all weights, found among the fractions of the smallest one.
std::optional<double> common_share(const LinkLoads& loads) {
  constexpr int most_parts = 1024;
  double smallest = std::numeric_limits<double>::infinity();
  // A common divisor is a fraction of the smallest weight, since it divides that too.
  for (const auto& [flow, weight] : loads) smallest = std::min(smallest, weight);
  const double largest = largest_of(loads);
  for (int parts = 1; parts <= most_parts; ++parts) {
    const double share = smallest / parts;
    // Finer shares would cost the solver precision and gain nothing.
    if (largest / share > most_shares) break;
    if (std::ranges::all_of(loads, [&](const auto& load) { return whole(load.second / share); }))
      return share;
  }
  return {};
}

double of_flow(const LinkLoads& loads, std::uint32_t flow) {
  // Loads are sorted by flow.
  const auto found =
      std::ranges::lower_bound(loads, flow, {}, &std::pair<std::uint32_t, double>::first);
  return found != loads.end() && found->first == flow ? found->second : 0;
}

}  // namespace

LinkLoads merged(LinkLoads instances) {
  // Stable, so that sums add up in the order of the instances and round alike in every run.
  std::ranges::stable_sort(instances, {}, &std::pair<std::uint32_t, double>::first);
  LinkLoads once;
  for (const auto& [flow, weight] : instances) {
    if (!once.empty() && once.back().first == flow) {
      once.back().second += weight;
    } else {
      once.emplace_back(flow, weight);
    }
  }
  return once;
}

double LinkClasses::Class::load_of(std::uint32_t flow) const { return of_flow(loads, flow); }

/// Where no share divides all weights, one is a 1024th of the largest. Both is asked of single
/// instances, which are the same whether they are one flow or several: folded or not.
double LinkClasses::Class::count_shares(bool& rounded) {
  const std::optional<double> common = common_share(instances);
  rounded = rounded || !common;
  const double share = common.value_or(largest_of(instances) / most_shares);
  // At least one share: a flow without any would not feel the link at all.
  for (const auto& [flow, weight] : instances)
    shares.emplace_back(flow, std::max(1.0, std::round(weight / share)));
  shares = merged(std::move(shares));
  return share;
}

void LinkClasses::add(double bandwidth, LinkLoads instances, bool shared) {
  LinkLoads loads = merged(instances);
  for (const auto& [flow, weight] : loads)
    of_flow_[flow].push_back(static_cast<std::uint32_t>(classes_.size()));
  Class& c =
      classes_.emplace_back(Class{bandwidth, std::move(instances), std::move(loads), shared});
  // Only links on which flows meet need the solver.
  if (shared) enter(c);
}

void LinkClasses::finish() {
  for (std::uint32_t flow = 0; flow < of_flow_.size(); ++flow) keep_tightest_private(flow);
}

/// The engine counts whole shares, so that a link enters with the bandwidth of one share.
void LinkClasses::enter(Class& c) {
  c.in_engine = true;
  c.index = static_cast<std::uint32_t>(bandwidths_.size());
  bandwidths_.push_back(c.bandwidth / c.count_shares(rounded_));
}

/// Private links count in the closed form only; in the engine one of them, the tightest, stands for
/// all.
std::vector<LinkUse> LinkClasses::path(std::uint32_t flow) const {
  std::vector<LinkUse> uses;
  for (const std::uint32_t i : of_flow_[flow]) {
    const Class& c = classes_[i];
    // A private link that another flow keeps is none of this one's business: they never meet there.
    if (!c.shared && i != tightest_[flow]) continue;
    uses.push_back({c.index, static_cast<std::uint32_t>(of_flow(c.shares, flow))});
  }
  return uses;
}

/// A flow with a shared link keeps its tightest private one too, where that is the tighter.
void LinkClasses::keep_tightest_private(std::uint32_t flow) {
  std::uint32_t tightest = none;
  double slowest = 0;
  // Shared or private, the link that takes longest limits the flow when it is alone.
  bool meets = false;
  for (const std::uint32_t i : of_flow_[flow]) {
    const Class& c = classes_[i];
    meets = meets || c.shared;
    // Equally slow links change nothing; the first one stands.
    const double load = c.load_of(flow) / c.bandwidth;
    if (load <= slowest) continue;
    slowest = load;
    tightest = c.shared ? none : i;
  }
  // A flow that meets nobody is timed by arithmetic,
  // and one limited by a shared link needs no other.
  if (!meets || tightest == none) return;
  tightest_[flow] = tightest;
  if (!classes_[tightest].in_engine) enter(classes_[tightest]);
}

/// The flow alone with its copies, before any other flow is looked at.
double LinkClasses::seconds_per_byte(std::uint32_t flow) const {
  double slowest = 0;
  for (const std::uint32_t i : of_flow_[flow]) {
    slowest = std::max(slowest, classes_[i].load_of(flow) / classes_[i].bandwidth);
  }
  return slowest;
}

}  // namespace stepcast
