#include "pattern_planner.hpp"

#include <span>
#include <utility>

#include "stepcast/base/errors.hpp"
#include "stepcast/topology/wire_shift.hpp"

namespace stepcast {

WireFrame::WireFrame(const Fabric& fabric, std::span<const DeviceId> members)
    : wires_{fabric.wires()} {
  // No wires, no frame: nobody asks for names.
  if (wires_.empty()) return;
  first_ = members.front().value % wires_.devices();
  // Until shown otherwise the group keeps its place.
  origin_ = first_;
  // A member below the first one along some side reaches around an edge of the grid.
  for (const DeviceId m : members) {
    std::uint32_t own = m.value % wires_.devices(), first = first_;
    for (const std::uint32_t side : wires_.sides()) {
      if (own % side < first % side) return;
      own /= side;
      first /= side;
    }
  }
  origin_ = wire_origin(wires_, first_);
}

std::uint32_t WireFrame::named(std::uint32_t wire) const {
  // From the group's place to the origin, and back.
  return shifted_wire(wires_, wire, first_, origin_);
}
std::uint32_t WireFrame::real(std::uint32_t name) const {
  return shifted_wire(wires_, name, origin_, first_);
}
std::uint32_t WireFrame::place(DeviceId device) const {
  return shifted_device(wires_, device.value % wires_.devices(), first_, origin_);
}

namespace {

/// Channels of a dragonfly are named by how many groups they are ahead of the first member's, since
/// every group sees the others alike.
std::uint32_t channel_name(const Fabric& fabric, const Link& link, std::uint32_t first) {
  const Dragonfly& fly = fabric.dragonfly();
  // Unsigned: the number of groups keeps the difference positive.
  const auto ahead = [&](std::uint32_t group) {
    return (group + fly.groups() - first) % fly.groups();
  };
  if (link.kind == LinkKind::global) return fly.global(ahead(link.from), ahead(link.to));
  // Routers keep their place in the group, because channels begin at certain ones.
  const std::uint32_t start = ahead(fly.group_of(link.from)) * fly.routers();
  return fly.local(start + link.from % fly.routers(), start + link.to % fly.routers());
}

LinkId channel_from(const Fabric& fabric, LinkKind kind, std::uint32_t first, std::uint32_t name) {
  // The inverse of channel_name().
  const Dragonfly& fly = fabric.dragonfly();
  const auto real = [&](std::uint32_t ahead) { return (ahead + first) % fly.groups(); };
  if (kind == LinkKind::global) {
    const Dragonfly::Ends ends = fly.global_ends(name);
    return fabric.channel_link(kind, fly.global(real(ends.from), real(ends.to)));
  }
  const Dragonfly::Ends ends = fly.local_ends(name);
  const std::uint32_t start = real(fly.group_of(ends.from)) * fly.routers();
  return fabric.channel_link(
      kind, fly.local(start + ends.from % fly.routers(), start + ends.to % fly.routers()));
}

}  // namespace

/// A pattern names links by members, so that groups of one shape find their own links in it.
LinkId member_link(const Fabric& fabric, LinkKind kind, DeviceId a, DeviceId b) {
  switch (info(kind).family.owner) {
    case LinkOwner::pair:
      return fabric.mesh_link(a, b);
    case LinkOwner::wire:
      return fabric.wire_link(fabric.wired_node_of(a), b.value);
    case LinkOwner::channel:
      return channel_from(fabric, kind, fabric.group_of(a), b.value);
    case LinkOwner::leaf:
      return fabric.leaf_link(kind, fabric.leaf_of(a));
    // Any device below the leaf or pod names it.
    case LinkOwner::pod:
      return fabric.pod_link(kind, fabric.pod_of(a));
    case LinkOwner::device:
    case LinkOwner::nic:
    // A device, or its NIC or PCIe switch, which device_link() finds.
    case LinkOwner::pcie_switch:
      break;
  }
  return fabric.device_link(kind, a);
}

PatternPlanner::PatternPlanner(const NetworkMapInput& input, std::span<const Rank> members,
                               std::uint32_t stage, std::size_t period)
    : input_{input}, period_{period < members.size() ? period : 0}, members_{members} {
  pattern_.stage = stage;
  devices_.reserve(members.size());
  for (const Rank member : members) devices_.push_back(input.placement.device_of(member));
  // Links of the first period alone are named; others repeat them.
  for (std::uint32_t i = 0; i < period; ++i) index_[devices_[i].value] = i;
  frame_.emplace(input.fabric, devices_);
}

CollectivePlan plan_call(const NetworkMapInput& input, std::span<const DeviceId> devices,
                         const StageCall& stage_call, NetworkForm form) {
  const CollectiveCall& call = stage_call.call;
  // A call may ask for an algorithm of its own, as hand-written exchanges do.
  const std::string& chosen = stage_call.algorithm.empty()
                                  ? input.algorithms.algorithm[static_cast<std::size_t>(call.kind)]
                                  : stage_call.algorithm;
  return plan_collective(input.fabric, devices, call, chosen, form);
}

/// Transfers over a host link are copies, and a kernel that exchanges tiles itself was measured
/// with its exchanges.
double held_by(const Fabric& fabric, std::span<const DeviceId> devices, const StageCall& call) {
  if (call.over_host_link() || call.in_kernel) return 0;
  return held_share(fabric, devices, call.call.kind, call.kernel);
}

/// Only the first phase pays the launch: a collective is one operator on its stream.
std::vector<std::vector<NetworkFlow>> timed_phases(const CollectivePlan& plan, const Fabric& fabric,
                                                   bool in_kernel) {
  // A kernel that runs already starts its exchange without a launch.
  double launch = in_kernel ? 0 : fabric.cluster().device.launch.communication.value();
  std::vector<std::vector<NetworkFlow>> phases;
  for (const Phase& phase : plan.phases) {
    auto& flows = phases.emplace_back();
    for (const PhaseFlow& flow : phase.flows)
      flows.push_back({flow.latency.value() + launch, flow.bytes.value(), 0, {}});
    launch = 0;
  }
  return phases;
}

/// Layers repeat, so that most calls of a group have been planned before.
const CollectivePlan& PatternPlanner::plan(const StageCall& stage_call) {
  StageCall call = stage_call;
  // Asked once per group, and only where experts are uneven.
  if (!call.call.skew.factor.empty() && experts_.empty())
    for (const Rank member : members_) experts_.push_back(input_.placement.coordinates(member).ep);
  call.call = stage_call.among(experts_);
  call.call.period = period_;
  const auto [place, fresh] =
      plans_.try_emplace({call.call.kind, call.call.bytes.value(), call.algorithm, call.call.skew});
  if (fresh) {
    place->second = plan_call(input_, devices_, call, input_.form);
    const CollectivePlan& plan = place->second;
    // A plan that knows no period has listed links of all copies.
    repeats_ = repeats_ && (period_ == 0 || plan.of_period || plan.phases.empty());
  }
  return place->second;
}

/// Flows are numbered across the calls of the group, because all of them may meet others on one
/// link.
void PatternPlanner::add(std::uint32_t index) {
  const StageCall& call = input_.programs[pattern_.stage].calls[index];
  const CollectivePlan& planned = plan(call);
  if (!repeats_) return;  // it names links of other copies
  pattern_.calls.push_back({index, pattern_.slots, planned.algorithm,
                            timed_phases(planned, input_.fabric, call.in_kernel),
                            held_by(input_.fabric, devices_, call)});
  for (const Phase& phase : planned.phases) {
    for (const PhaseFlow& flow : phase.flows) {
      // Loads gather per link over all calls: an entry is what a link sees of the whole group.
      for (const LinkWeight& l : flow.links)
        loads_[key_of(l.link)].push_back({pattern_.slots, l.weight});
      ++pattern_.slots;
    }
  }
}

/// The first member with that place names it, so that equal shapes name it alike.
std::uint32_t PatternPlanner::member_with(std::uint32_t value,
                                          std::uint32_t (Fabric::*place)(DeviceId) const) const {
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    if ((input_.fabric.*place)(devices_[i]) == value) return i;
  }
  expects(false, "a collective uses links of its members");
  return 0;
}

/// With one NIC per device its number is that of the device, which spares a search over the
/// members.
PatternPlanner::LinkKey PatternPlanner::key_of(LinkId link) const {
  const Link l = input_.fabric.link(link);
  switch (info(l.kind).family.owner) {
    case LinkOwner::pair:
      return {l.kind, index_.at(l.from), index_.at(l.to)};
    case LinkOwner::wire: {
      const Fabric::WirePlace place = input_.fabric.wire_place(link);
      for (std::uint32_t i = 0; i < devices_.size(); ++i)
        if (input_.fabric.wired_node_of(devices_[i]) == place.node)
          return {l.kind, i, frame_->named(place.wire)};
      expects(false, "a collective uses wires of nodes of its members");
      break;
    }
    case LinkOwner::channel:
      return {l.kind, 0, channel_name(input_.fabric, l, input_.fabric.group_of(devices_[0]))};
    case LinkOwner::leaf:
      return {l.kind, member_with(l.from, &Fabric::leaf_of), 0};
    case LinkOwner::pod:
      return {l.kind, member_with(l.from, &Fabric::pod_of), 0};
    case LinkOwner::nic: {
      // The common case first: NICs of devices are found without a search.
      const auto own = index_.find(l.from);
      if (own != index_.end() && input_.fabric.nic_of(devices_[own->second]) == l.from)
        return {l.kind, own->second, 0};
      return {l.kind, member_with(l.from, &Fabric::nic_of), 0};
    }
    case LinkOwner::pcie_switch:
      expects(false, "no plan names links of PCIe switches");
      break;
    case LinkOwner::device:
      break;
  }
  return {l.kind, index_.at(l.from), 0};
}

GroupPattern PatternPlanner::take() {
  // In the order of the keys, so that equal groups have equal patterns.
  for (const auto& [key, loads] : loads_) {
    pattern_.entries.push_back({.kind = std::get<0>(key),
                                .a = std::get<1>(key),
                                .b = std::get<2>(key),
                                .first = static_cast<std::uint32_t>(pattern_.loads.size()),
                                .count = static_cast<std::uint32_t>(loads.size())});
    pattern_.loads.insert(pattern_.loads.end(), loads.begin(), loads.end());
  }
  return std::move(pattern_);
}

}  // namespace stepcast
