#include "schedule.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast::collectives {
namespace {

/// Both flows, one after the other, as one.
PhaseFlow joined(const PhaseFlow& a, const PhaseFlow& b) {
  PhaseFlow sum{a.latency + b.latency, a.bytes + b.bytes, {}};
  if (sum.bytes.value() == 0) return sum;
  const double part_a = a.bytes / sum.bytes;
  const double part_b = b.bytes / sum.bytes;
  auto i = a.links.begin();
  auto j = b.links.begin();
  while (i != a.links.end() || j != b.links.end()) {
    const bool first = j == b.links.end() || (i != a.links.end() && i->link <= j->link);
    const bool second = i == a.links.end() || (j != b.links.end() && j->link <= i->link);
    const LinkId link = first ? i->link : j->link;
    double weight = 0;
    if (first) weight += part_a * (i++)->weight;
    if (second) weight += part_b * (j++)->weight;
    sum.links.push_back({link, weight});
  }
  return sum;
}

}  // namespace

Seconds message_latency(const Fabric& fabric, DeviceId a, DeviceId b) {
  const CollectiveLibrarySpec& library = fabric.cluster().collectives;
  const bool near = fabric.locality(a, b) <= Locality::super_node;
  return fabric.route_latency(a, b) + (near ? library.node_step_latency : library.step_latency);
}

void Step::at_least(Seconds latency) { latency_ = std::max(latency_, latency); }

void Step::load(LinkId link, double bytes) {
  if (bytes > 0 && fabric_.can_saturate(link)) loads_[link.value] += bytes;
}

void Step::send(DeviceId a, DeviceId b, Bytes bytes) {
  if (a == b) return;
  for (const LinkId link : fabric_.route(a, b)) load(link, bytes.value());
  at_least(message_latency(fabric_, a, b));
}

void Step::send_all_pairs(const Members& members, Bytes bytes) {
  using Count = std::map<std::uint32_t, double>;
  Count node, super;
  std::map<std::uint32_t, Members> by_node;
  for (const DeviceId m : members) {
    node[fabric_.node_of(m).value] += 1;
    super[fabric_.super_node_of(m)] += 1;
    by_node[fabric_.node_of(m).value].push_back(m);
  }
  for (std::size_t i = 1; i < members.size(); ++i) {
    // Every locality that some pair of an ascending list has occurs among these pairs.
    at_least(message_latency(fabric_, members[0], members[i]));
    at_least(message_latency(fabric_, members[i - 1], members[i]));
  }
  const auto load_pair = [&](LinkKind up, LinkKind down, DeviceId m, double peers) {
    if (peers <= 0) return;
    load(fabric_.device_link(up, m), peers * bytes.value());
    load(fabric_.device_link(down, m), peers * bytes.value());
  };
  const bool ports = std::holds_alternative<SwitchFabric>(fabric_.cluster().node_fabric);
  for (const auto& [index, local] : by_node) {
    const auto peers = static_cast<double>(local.size() - 1);
    for (const DeviceId a : local) {
      if (ports) {
        load_pair(LinkKind::port_up, LinkKind::port_down, a, peers);
        continue;
      }
      for (const DeviceId b : local)
        for (const LinkId link : fabric_.route(a, b)) load(link, bytes.value());
    }
  }
  const auto all = static_cast<double>(members.size());
  for (const DeviceId m : members) {
    const double in_super = super[fabric_.super_node_of(m)];
    load_pair(LinkKind::super_up, LinkKind::super_down, m,
              in_super - node[fabric_.node_of(m).value]);
    load_pair(LinkKind::nic_up, LinkKind::nic_down, m, all - in_super);
  }
  if (fabric_.leaves() > 0) load_trunks(members, bytes.value());
}

void Step::load_trunks(const Members& members, double bytes) {
  std::map<std::uint32_t, double> super, below;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> both;  // (leaf, super-node)
  for (const DeviceId m : members) {
    super[fabric_.super_node_of(m)] += 1;
    below[fabric_.leaf_of(m)] += 1;
    both[{fabric_.leaf_of(m), fabric_.super_node_of(m)}] += 1;
  }
  const auto all = static_cast<double>(members.size());
  for (const auto& [place, count] : both) {
    const auto [leaf, super_node] = place;
    // Peers of another super-node that are not below the same leaf.
    const double peers = all - super[super_node] - (below[leaf] - count);
    load(fabric_.leaf_link(LinkKind::leaf_up, leaf), count * peers * bytes);
    load(fabric_.leaf_link(LinkKind::leaf_down, leaf), count * peers * bytes);
  }
}

PhaseFlow Step::flow(double times) const {
  PhaseFlow flow{latency_ * times, Bytes{0}, {}};
  double largest = 0;
  for (const auto& [link, bytes] : loads_) largest = std::max(largest, bytes);
  flow.bytes = Bytes{largest * times};
  flow.links.reserve(loads_.size());
  for (const auto& [link, bytes] : loads_) flow.links.push_back({{link}, bytes / largest});
  return flow;
}

Seconds transfer_time(const Fabric& fabric, const PhaseFlow& flow) {
  double slowest = 0;
  for (const LinkWeight& use : flow.links)
    slowest = std::max(slowest, use.weight / fabric.link(use.link).bandwidth.value());
  return Seconds{flow.bytes.value() * slowest};
}

Schedule::Schedule(const Fabric& fabric, CollectiveCall call)
    : fabric_{fabric},
      loops_{std::max(1.0, std::ceil(call.bytes / fabric.cluster().collectives.buffer))} {}

void Schedule::then(const Step& step, double times) {
  if (times <= 0) return;
  const PhaseFlow next = step.flow(times);
  if (!phases_.empty() && phases_.back().flows.size() == 1) {
    PhaseFlow& last = phases_.back().flows.front();
    PhaseFlow both = joined(last, next);
    both.latency = last.latency + next.latency * loops_;
    const Seconds apart = transfer_time(fabric_, last) + transfer_time(fabric_, next);
    if (transfer_time(fabric_, both) >= apart * (1 - 1e-12)) {
      last = std::move(both);
      return;
    }
  }
  then_together({next});
}

void Schedule::then_together(const std::vector<PhaseFlow>& flows) {
  Phase& phase = phases_.emplace_back(Phase{flows});
  for (PhaseFlow& flow : phase.flows) flow.latency *= loops_;
}

}  // namespace stepcast::collectives
