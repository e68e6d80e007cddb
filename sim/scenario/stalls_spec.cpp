#include "stepcast/sim/scenario/stalls_spec.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/topology/cluster_spec.hpp"

namespace stepcast {
namespace {

// Wide enough for any stall, narrow enough that no time can overflow.
constexpr Range factor_range = between(0.001, 1000);
constexpr Range clock_range = between(0.05, 1);
constexpr Range time_range = between(0, 1e6);
constexpr Range period_range = between(1e-6, 1e6);
constexpr Range index_range = between(0, max_devices);
constexpr Range seed_range = between(0, 9007199254740992);  // 2^53

template <class Part, class Body>
void list(Visitor& visitor, std::string_view key, std::string_view doc, std::vector<Part>& parts,
          const Body& body) {
  visitor.optional_list(
      key, doc, parts.size(), [&](std::size_t size) { parts.resize(size); },
      [&](Visitor& v, std::size_t i) { body(v, parts[i]); });
}

void seed(Visitor& visitor, std::int64_t& target) {
  visitor.field({"seed", &target, "another seed, another draw", seed_range});
}

void devices(Visitor& visitor, std::vector<std::int64_t>& target) {
  visitor.field(
      {"devices", &target, "which devices, counted over the cluster from 0", index_range, true});
}

void affinity(Visitor& visitor, StallsSpec::SlowHosts::Affinity& target) {
  using Affinity = StallsSpec::SlowHosts::Affinity;
  // By hand, because `none` is no word of the key: a slow host says what is wrong with it.
  const Choice choice{
      {{"unbound"}, {"cross_numa"}},
      [&target] { return target == Affinity::cross_numa ? 1U : 0U; },
      [&target](std::size_t i) { target = i == 0 ? Affinity::unbound : Affinity::cross_numa; }};
  visitor.field({"affinity", choice,
                 "instead of a factor: what is wrong; the cluster says what it costs", any_number(),
                 true});
}

void slow_host(Visitor& visitor, StallsSpec::SlowHosts& hosts) {
  visitor.field(
      {"nodes", &hosts.nodes, "which nodes, counted over the cluster from 0", index_range, true});
  // One of the two must stand: an affinity whose factor the cluster knows, or the factor.
  std::size_t which = hosts.affinity == StallsSpec::SlowHosts::Affinity::none ? 0 : 1;
  visitor.one_of(
      which, {{"factor",
               [&](Visitor& v) {
                 v.field({"factor", &hosts.factor,
                          "on host time; 2 is half as fast; or an affinity", factor_range, true});
               }},
              {"affinity", [&](Visitor& v) { affinity(v, hosts.affinity); }}});
}

void throttling(Visitor& visitor, StallsSpec::Throttling& t) {
  devices(visitor, t.devices);
  visitor.field({"factor", &t.factor, "on device time while it lasts", factor_range, true});
  visitor.field({"from", &t.from, "date on the clock of the run", time_range, true});
  visitor.field({"until", &t.until, "date at which it ends", time_range, true});
  bool repeats = t.period > Seconds{0};
  visitor.field({"period", OptionalTime{&t.period, &repeats, "none"},
                 "it comes again after that time, for ever", period_range});
}

void describe_devices(Visitor& visitor, StallsSpec& spec) {
  // Classes by place (thermal), by device and by node may meet on one device; their factors
  // multiply.
  optional_part(visitor, "compute_jitter", "every run of operators takes a lognormal factor",
                spec.compute_jitter, [](Visitor& v, StallsSpec::Jitter& part) {
                  v.field({"sigma", &part.sigma, "of the logarithm of the factor; its mean is 1",
                           between(0, 3), true});
                  seed(v, part.seed);
                });
  list(visitor, "slow_devices", "devices that are always slow", spec.slow_devices,
       [](Visitor& v, StallsSpec::SlowDevices& part) {
         devices(v, part.devices);
         v.field({"factor", &part.factor, "on device time; 1.25 takes a quarter longer",
                  factor_range, true});
       });
  list(visitor, "thermal_classes", "places in every node where devices are hotter and slower",
       spec.thermal_classes, [](Visitor& v, StallsSpec::ThermalClass& part) {
         v.field({"slots", &part.slots, "places in the node, counted from 0", index_range, true});
         v.field({"clock", &part.clock, "over the clock of the other devices", clock_range, true});
         v.field({"core_share", &part.core_share, "part of device time that follows the clock",
                  between(0, 1)});
       });
  list(visitor, "slow_hosts", "nodes whose hosts are slow", spec.slow_hosts, slow_host);
  list(visitor, "throttling", "devices whose clock falls for a while", spec.throttling, throttling);
}

void describe_links(Visitor& visitor, StallsSpec& spec) {
  // One syntax for all keys that name links.
  constexpr std::string_view link =
      "such as nic:17, hccs:17-18 or leaf:2.up; without .up or .down both directions";
  list(visitor, "degraded_links", "links that carry less than they should", spec.degraded_links,
       [&](Visitor& v, StallsSpec::DegradedLink& part) {
         v.field({"link", &part.link, link, any_number(), true});
         v.field({"bandwidth_factor", &part.bandwidth_factor, "part of the bandwidth that is left",
                  between(0, 1), true});
       });
  list(visitor, "failed_links", "links that carry nothing", spec.failed_links,
       [&](Visitor& v, StallsSpec::FailedLink& part) {
         v.field({"link", &part.link, link, any_number(), true});
         v.field({"ports", &part.ports, "uplinks that a leaf loses", between(1, max_devices)});
       });
}

void describe_pauses(Visitor& visitor, StallsSpec& spec) {
  // Each kind of pause has its seed: another seed for one does not draw the others anew.
  optional_part(visitor, "gc_pauses", "the host process collects garbage now and then",
                spec.gc_pauses, [](Visitor& v, StallsSpec::GcPauses& part) {
                  v.field({"duration", &part.duration, "of one collection", time_range, true});
                  v.field({"period", &part.period, "from one to the next", period_range, true});
                  v.field({"synchronised", &part.synchronised,
                           "all ranks collect at the same dates, else each at its own"});
                  seed(v, part.seed);
                });
  optional_part(visitor, "allocator_pauses", "an allocation finds no block and the device drains",
                spec.allocator_pauses, [](Visitor& v, StallsSpec::AllocatorPauses& part) {
                  v.field({"duration", &part.duration, "of one pause", time_range, true});
                  v.field({"probability", &part.probability, "per unit of the schedule",
                           between(0, 1), true});
                  seed(v, part.seed);
                });
  optional_part(
      visitor, "data_loader", "batches that must be loaded", spec.data_loader,
      [](Visitor& v, StallsSpec::DataLoader& part) {
        v.field({"time_per_step", &part.time_per_step, "to load what one step reads", time_range,
                 true});
        v.field({"prefetch", &part.prefetch, "steps that are loaded ahead", between(0, 1e6)});
      });
}

void checkpoint_interval(Visitor& visitor, StallsSpec::Checkpoint& part) {
  // The interval in work rather than in steps is what a theory of failures gives
  // (docs/models/goodput.md).
  std::size_t which = part.every > Seconds{0} ? 1 : 0;
  visitor.one_of(
      which, {{"every_steps",
               [&](Visitor& v) {
                 v.field({"every_steps", &part.every_steps,
                          "steps from one to the next; or a time: every", between(1, 1e9), true});
               }},
              {"every", [&](Visitor& v) {
                 v.field({"every", &part.every,
                          "instead of a number of steps: the first step that ends when so much "
                          "work is done saves",
                          between(1e-6, 1e9), true});
               }}});
}

void describe_failures(Visitor& visitor, StallsSpec& spec) {
  // For `stepcast campaign` and goodput; a single step meets neither.
  optional_part(visitor, "checkpoint", "the state is saved now and then", spec.checkpoint,
                [](Visitor& v, StallsSpec::Checkpoint& part) {
                  checkpoint_interval(v, part);
                  v.field({"blocking_time", &part.blocking_time, "for which training waits",
                           time_range, true});
                });
  optional_part(visitor, "failures", "devices fail and the job starts again from its checkpoint",
                spec.failures, [](Visitor& v, StallsSpec::Failures& part) {
                  v.field({"device_mtbf", &part.device_mtbf,
                           "mean time between failures of one device", between(1, 1e12), true});
                  v.field({"restart", &part.restart, "from a failure to the first step after it",
                           time_range, true});
                });
}

}  // namespace

void describe(Visitor& visitor, StallsSpec& spec) {
  describe_devices(visitor, spec);
  describe_links(visitor, spec);
  describe_pauses(visitor, spec);
  describe_failures(visitor, spec);
  visitor.field({"host_sync", choice(spec.host_sync, {{"none"}, {"step"}, {"unit"}}),
                 "after each of these the host waits for the device, as where it reads a loss"});
  optional_part(visitor, "spread", "persistent differences of devices, hosts and links",
                spec.spread, [](Visitor& v, SpreadSpec& part) { describe(v, part); });
  optional_part(visitor, "collisions",
                "one hash of the flows onto uplinks is drawn; none: the mean of all hashes counts",
                spec.collisions,
                [](Visitor& v, StallsSpec::Collisions& part) { seed(v, part.seed); });
}

std::int64_t StallsSpec::Checkpoint::steps_between(Seconds step) const {
  if (every <= Seconds{0}) return every_steps;
  // At least a step, and no more than doubles count exactly.
  return static_cast<std::int64_t>(std::clamp(std::ceil(every / step), 1.0, 0x1p53));
}

bool draws(const StallsSpec& spec) {
  const bool jitters = spec.compute_jitter && spec.compute_jitter->sigma > 0;
  const bool allocates = spec.allocator_pauses && spec.allocator_pauses->probability > 0 &&
                         spec.allocator_pauses->duration > Seconds{0};
  const bool collects = spec.gc_pauses && spec.gc_pauses->duration > Seconds{0};
  return jitters || allocates || collects || spec.collisions ||
         (spec.spread && !spec.spread->neutral());
}

StallsSpec without_draws(StallsSpec spec) {
  spec.spread.reset();
  spec.compute_jitter.reset();
  spec.gc_pauses.reset();
  spec.allocator_pauses.reset();
  spec.collisions.reset();
  return spec;
}

StallsSpec with_seeds(StallsSpec spec, std::int64_t offset) {
  if (spec.compute_jitter) spec.compute_jitter->seed += offset;
  if (spec.gc_pauses) spec.gc_pauses->seed += offset;
  if (spec.allocator_pauses) spec.allocator_pauses->seed += offset;
  if (spec.spread) spec.spread->seed += offset;
  if (spec.collisions) spec.collisions->seed += offset;
  return spec;
}

double host_factor(const StallsSpec::SlowHosts& slow, const HostSpec& host) {
  // A factor beside an affinity cannot be: one_of lets one of them stand.
  switch (slow.affinity) {
    case StallsSpec::SlowHosts::Affinity::none:
      break;
    case StallsSpec::SlowHosts::Affinity::unbound:
      return host.affinity_unbound;
    case StallsSpec::SlowHosts::Affinity::cross_numa:
      return host.affinity_cross_numa;
  }
  return slow.factor;
}

}  // namespace stepcast
