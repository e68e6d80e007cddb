#include "link_classes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepcast {
namespace {

/// Weights are quotients of bytes, so that whole numbers come out with rounding.
bool whole(double ratio) { return std::abs(ratio - std::round(ratio)) <= 1e-9 * ratio; }

/// The weight that one share of the link stands for: the largest that divides all weights, found
/// among the fractions of the smallest one; where none does, shares are a 1024th of the largest
/// weight.
double common_share(const LinkLoads& loads) {
  constexpr int most_shares = 1024, most_parts = 1024;
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;
  for (const auto& [id, weight] : loads) {
    smallest = std::min(smallest, weight);
    largest = std::max(largest, weight);
  }
  for (int parts = 1; parts <= most_parts; ++parts) {
    const double share = smallest / parts;
    if (largest / share > most_shares) break;
    if (std::ranges::all_of(loads, [&](const auto& load) { return whole(load.second / share); }))
      return share;
  }
  return largest / most_shares;
}

}  // namespace

double LinkClasses::Class::load_of(std::uint32_t flow) const {
  const auto found =
      std::ranges::lower_bound(loads, flow, {}, &std::pair<std::uint32_t, double>::first);
  return found != loads.end() && found->first == flow ? found->second : 0;
}

void LinkClasses::add(double bandwidth, LinkLoads loads, bool shared) {
  for (const auto& [flow, weight] : loads)
    of_flow_[flow].push_back(static_cast<std::uint32_t>(classes_.size()));
  Class& c = classes_.emplace_back(Class{bandwidth, std::move(loads), shared});
  if (shared) enter(c);
}

void LinkClasses::finish() {
  for (std::uint32_t flow = 0; flow < of_flow_.size(); ++flow) keep_tightest_private(flow);
}

/// The engine counts whole shares, so that a link enters with the bandwidth of one share.
void LinkClasses::enter(Class& c) {
  c.in_engine = true;
  c.index = static_cast<std::uint32_t>(bandwidths_.size());
  c.share = common_share(c.loads);
  bandwidths_.push_back(c.bandwidth / c.share);
}

/// Private links count in the closed form only; in the engine one of them, the tightest, stands for
/// all.
std::vector<LinkUse> LinkClasses::path(std::uint32_t flow) const {
  std::vector<LinkUse> uses;
  for (const std::uint32_t i : of_flow_[flow]) {
    const Class& c = classes_[i];
    // A private link that another flow keeps is none of this one's business: they never meet there.
    if (!c.shared && i != tightest_[flow]) continue;
    const double shares = std::max(1.0, std::round(c.load_of(flow) / c.share));
    uses.push_back({c.index, static_cast<std::uint32_t>(shares)});
  }
  return uses;
}

/// A flow with a shared link keeps its tightest private one too, where that is the tighter.
void LinkClasses::keep_tightest_private(std::uint32_t flow) {
  std::uint32_t tightest = none;
  double slowest = 0;
  bool meets = false;
  for (const std::uint32_t i : of_flow_[flow]) {
    const Class& c = classes_[i];
    meets = meets || c.shared;
    const double load = c.load_of(flow) / c.bandwidth;
    if (load <= slowest) continue;
    slowest = load;
    tightest = c.shared ? none : i;
  }
  if (!meets || tightest == none) return;
  tightest_[flow] = tightest;
  if (!classes_[tightest].in_engine) enter(classes_[tightest]);
}

/// This is the flow alone with its copies, before any other flow is looked at.
double LinkClasses::seconds_per_byte(std::uint32_t flow) const {
  double slowest = 0;
  for (const std::uint32_t i : of_flow_[flow]) {
    slowest = std::max(slowest, classes_[i].load_of(flow) / classes_[i].bandwidth);
  }
  return slowest;
}

}  // namespace stepcast
