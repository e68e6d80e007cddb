#include "link_classes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace stepcast {
namespace {

/// Only one of these flows can be on the link at a time: one in-order channel, no two flows of one
/// phase.
bool one_at_a_time(const LinkLoads& loads, const std::vector<FlowTemplate>& templates) {
  const FlowTemplate& first = templates[loads.begin()->first];
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> phases;
  return std::ranges::all_of(loads, [&](const auto& load) {
    const FlowTemplate& t = templates[load.first];
    return t.channel == first.channel && phases.insert({t.owner, t.call, t.phase}).second;
  });
}

bool whole(double ratio) { return std::abs(ratio - std::round(ratio)) <= 1e-9 * ratio; }

/// The weight that one share of the link stands for: the largest that divides all weights, found
/// among the fractions of the smallest one; where none does, shares are a 256th of the largest
/// weight.
double common_share(const LinkLoads& loads) {
  constexpr int most_shares = 256, most_parts = 64;
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

std::set<LinkId> LinkClasses::links_of(const std::vector<FlowTemplate>& templates) {
  std::set<LinkId> links;
  for (const FlowTemplate& t : templates) {
    for (const LinkWeight& l : t.links) links.insert(l.link);
  }
  return links;
}

void LinkClasses::find(const std::vector<FlowTemplate>& templates,
                       const std::function<LinkLoads(LinkId)>& loads) {
  of_template_.assign(templates.size(), {});
  for (const LinkId link : links_of(templates)) add(link, loads(link), templates);
  for (std::uint32_t id = 0; id < templates.size(); ++id) keep_tightest_private(id);
}

void LinkClasses::add(LinkId link, const LinkLoads& loads,
                      const std::vector<FlowTemplate>& templates) {
  const double bandwidth = fabric_.link(link).bandwidth.value();
  const auto same = [&](const Class& c) { return c.bandwidth == bandwidth && c.loads == loads; };
  if (loads.empty() || std::ranges::any_of(classes_, same)) return;
  Class& c = classes_.emplace_back(Class{bandwidth, loads, !one_at_a_time(loads, templates)});
  for (const auto& [id, weight] : loads) {
    of_template_[id].push_back(static_cast<std::uint32_t>(classes_.size() - 1));
  }
  if (c.shared) enter(c);
}

void LinkClasses::enter(Class& c) {
  c.in_engine = true;
  c.index = static_cast<std::uint32_t>(bandwidths_.size());
  c.share = common_share(c.loads);
  bandwidths_.push_back(c.bandwidth / c.share);
}

std::vector<LinkUse> LinkClasses::path(std::uint32_t id) const {
  std::vector<LinkUse> uses;
  for (const std::uint32_t i : of_template_[id]) {
    const Class& c = classes_[i];
    if (!c.in_engine) continue;
    const double shares = std::max(1.0, std::round(c.loads.at(id) / c.share));
    uses.push_back({c.index, static_cast<std::uint32_t>(shares)});
  }
  return uses;
}

/// A flow with a shared link keeps its tightest private one too, where that is the tighter.
void LinkClasses::keep_tightest_private(std::uint32_t id) {
  Class* tightest = nullptr;
  double slowest = 0;
  bool meets = false;
  for (const std::uint32_t i : of_template_[id]) {
    Class& c = classes_[i];
    meets = meets || c.shared;
    const double load = c.loads.at(id) / c.bandwidth;
    if (load <= slowest) continue;
    slowest = load;
    tightest = c.shared ? nullptr : &c;
  }
  if (meets && tightest && !tightest->in_engine) enter(*tightest);
}

double LinkClasses::seconds_per_byte(std::uint32_t id) const {
  double slowest = 0;
  for (const std::uint32_t i : of_template_[id]) {
    slowest = std::max(slowest, classes_[i].loads.at(id) / classes_[i].bandwidth);
  }
  return slowest;
}

std::vector<DeviceId> LinkClasses::devices_behind(LinkId link) const {
  const Link l = fabric_.link(link);
  const bool nic = l.kind == LinkKind::nic_up || l.kind == LinkKind::nic_down;
  const bool leaf = l.kind == LinkKind::leaf_up || l.kind == LinkKind::leaf_down;
  const bool own = !leaf && !(nic && fabric_.cluster().network.nic.per == NicSpec::Per::node);
  if (own) return {DeviceId{l.from}};
  std::vector<DeviceId> devices;
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(fabric_.devices()); ++d) {
    if ((nic ? fabric_.nic_of({d}) : fabric_.leaf_of({d})) == l.from) devices.push_back({d});
  }
  return devices;
}

bool LinkClasses::touches(LinkId link, DeviceId device) const {
  const Link l = fabric_.link(link);
  switch (l.kind) {
    case LinkKind::mesh:
      return l.from == device.value || l.to == device.value;
    case LinkKind::nic_up:
    case LinkKind::nic_down:
      return fabric_.nic_of(device) == l.from;
    case LinkKind::leaf_up:
    case LinkKind::leaf_down:
      return fabric_.leaf_of(device) == l.from;
    default:
      return l.from == device.value;
  }
}

}  // namespace stepcast
