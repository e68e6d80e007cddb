#include "stepcast/sim/replay/stall_plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "stepcast/sim/replay/spread.hpp"

namespace stepcast {
namespace {

using Intervals = std::vector<const StallsSpec::Throttling*>;

bool jitters(const StallsSpec& spec) {
  return spec.compute_jitter && spec.compute_jitter->sigma > 0;
}
bool allocator_pauses(const StallsSpec& spec) {
  const auto& pauses = spec.allocator_pauses;
  return pauses && pauses->duration > Seconds{0} && pauses->probability > 0;
}
bool collects_garbage(const StallsSpec& spec) {
  return spec.gc_pauses && spec.gc_pauses->duration > Seconds{0};
}
bool waits_for_data(const StallsSpec& spec) {
  return spec.data_loader && spec.data_loader->time_per_step > Seconds{0};
}
bool saves(const StallsSpec& spec) {
  return spec.checkpoint && spec.checkpoint->blocking_time > Seconds{0} &&
         spec.checkpoint->every == Seconds{0};
}

/// Persistent differences come on top of what is named.
void spread(const SpreadSpec& spec, const Placement& placement, const ClusterSpec& cluster,
            std::vector<SpeedFactors>& speeds) {
  if (spec.neutral()) return;
  // Draws go by device: as many as the cluster has, whatever the plan uses.
  const auto devices = std::max<std::int64_t>(cluster.devices, placement.world());
  const std::vector<SpeedFactors> drawn = spread_factors(spec, devices, cluster.node_devices);
  for (std::uint32_t r = 0; r < speeds.size(); ++r) {
    const SpeedFactors& own = drawn[placement.device_of(Rank{r}).value];
    speeds[r].device *= own.device;
    speeds[r].host *= own.host;
  }
}

/// Nothing is kept where nobody suffers, so that an intact job looks the same with and without the
/// section.
std::vector<SpeedFactors> speeds(const StallsSpec& spec, const Placement& placement,
                                 const ClusterSpec& cluster) {
  std::vector<SpeedFactors> result(placement.world());
  // Looked up by what the key names: device, slot in its node, node.
  std::map<std::int64_t, double> of_device, of_node, of_slot;
  for (const auto& slow : spec.slow_devices)
    for (const std::int64_t device : slow.devices) of_device[device] = slow.factor;
  for (const auto& hot : spec.thermal_classes)
    for (const std::int64_t slot : hot.slots) of_slot[slot] = hot.slowness();
  for (const auto& slow : spec.slow_hosts)
    for (const std::int64_t node : slow.nodes) of_node[node] = host_factor(slow, cluster.host);
  for (std::uint32_t r = 0; r < result.size(); ++r) {
    const std::int64_t device = placement.device_of(Rank{r}).value;
    const auto slow_device = of_device.find(device);
    const auto slow_host = of_node.find(device / cluster.node_devices);
    const auto hot = of_slot.find(device % cluster.node_devices);
    // Named devices and hot slots multiply; hosts are named by node.
    if (slow_device != of_device.end()) result[r].device = slow_device->second;
    if (hot != of_slot.end()) result[r].device *= hot->second;
    if (slow_host != of_node.end()) result[r].host = slow_host->second;
  }
  if (spec.spread) spread(*spec.spread, placement, cluster, result);
  // Factors of 1 all over are no stall, and ranks stay alike.
  if (std::ranges::all_of(result, [](const SpeedFactors& s) { return s == SpeedFactors{}; }))
    result.clear();
  return result;
}

/// The intervals of one device do not overlap, and one that repeats is the only one.
SpeedProfile profile(Intervals intervals) {
  std::ranges::sort(intervals, {}, &StallsSpec::Throttling::from);
  SpeedProfile result{{{0, 1}}};
  const auto change = [&result](Seconds date, double factor) {
    // Intervals may touch: of two changes at one date the later counts.
    if (result.changes.back().from == date.value()) result.changes.pop_back();
    result.changes.push_back({date.value(), factor});
  };
  for (const StallsSpec::Throttling* interval : intervals) {
    change(interval->from, interval->factor);
    // A repeating interval is the only one, so that its two changes are what repeats.
    result.first_repeated = result.changes.size() - 1;
    change(interval->until, 1);
    result.period = interval->period.value();
  }
  if (result.period == 0) result.first_repeated = 0;
  return result;
}

/// Devices that are throttled alike share a profile, and its number tells ranks apart without
/// comparing dates.
void throttle(StallPlan& plan, const Placement& placement) {
  std::map<std::int64_t, Intervals> of_device;
  for (const auto& throttling : plan.spec.throttling) {
    if (throttling.factor == 1) continue;
    for (const std::int64_t device : throttling.devices) of_device[device].push_back(&throttling);
  }
  if (of_device.empty()) return;
  plan.profile.assign(placement.world(), 0);
  for (std::uint32_t r = 0; r < placement.world(); ++r) {
    const auto found = of_device.find(placement.device_of(Rank{r}).value);
    if (found == of_device.end()) continue;
    // Profiles are compared by value, since few are distinct.
    const SpeedProfile wanted = profile(found->second);
    const auto known = std::ranges::find(plan.profiles, wanted);
    plan.profile[r] = static_cast<std::uint32_t>(known - plan.profiles.begin());
    if (known == plan.profiles.end()) plan.profiles.push_back(wanted);
  }
}

/// All ranks take the first one's offset when they collect together, so that one seed gives it the
/// same dates in both modes.
std::vector<double> gc_offsets(const StallsSpec::GcPauses& pauses, std::uint32_t world) {
  std::vector<double> result(world);
  const auto seed = static_cast<std::uint64_t>(pauses.seed);
  for (std::uint32_t r = 0; r < world; ++r) {
    const std::uint32_t whose = pauses.synchronised ? 0 : r;
    result[r] = pauses.period.value() * uniform_number(seed, whose, gc_stream, 0);
  }
  return result;
}

}  // namespace

StallPlan plan_stalls(const StallsSpec& spec, const Placement& placement,
                      const ClusterSpec& cluster) {
  StallPlan plan;
  plan.ranks = placement.world();
  plan.spec = spec;
  plan.speed = speeds(spec, placement, cluster);
  plan.idle_clock = cluster.device.idle_clock;
  plan.power_cap = cluster.device.power_cap;
  throttle(plan, placement);
  if (collects_garbage(spec)) plan.gc_offset = gc_offsets(*spec.gc_pauses, placement.world());
  return plan;
}

/// A steady factor does not count: it makes every step longer by as much.
bool StallPlan::irregular() const {
  const bool throttled =
      !std::ranges::all_of(profiles, [](const SpeedProfile& p) { return p.steady(); });
  return throttled || !gc_offset.empty() || jitters(spec) || allocator_pauses(spec) ||
         waits_for_data(spec) || saves(spec);
}

/// A host that nothing holds needs no clock of its own where it costs nothing either.
bool StallPlan::holds_host() const {
  return !gc_offset.empty() || allocator_pauses(spec) || waits_for_data(spec) || saves(spec) ||
         spec.host_sync != StallsSpec::HostSyncAt::none;
}

/// Damaged links are not asked for: the fabric has them, and the replay sees only their flows.
bool StallPlan::any() const {
  return irregular() || !speed.empty() || idle_clock || power_cap ||
         spec.host_sync != StallsSpec::HostSyncAt::none;
}

/// Random draws tell all ranks apart, because each rank has numbers of its own.
std::vector<std::uint64_t> StallPlan::keys() const {
  // Own numbers per rank: no two ranks may share a class.
  const bool own = jitters(spec) || allocator_pauses(spec);
  // Suffering alike is equality, which a hash could only make likely.
  std::map<std::tuple<double, double, std::uint32_t, double, std::size_t>, std::uint64_t> known;
  std::vector<std::uint64_t> result(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const SpeedFactors s = speed_of(Rank{r});
    const std::uint32_t p = profile.empty() ? 0 : profile[r];
    const double gc = gc_offset.empty() ? 0 : gc_offset[r];
    result[r] =
        known.try_emplace({s.device, s.host, p, gc, own ? r : 0}, known.size()).first->second;
  }
  // One class needs no keys, and an empty list folds as much.
  if (known.size() <= 1) result.clear();
  return result;
}

}  // namespace stepcast
