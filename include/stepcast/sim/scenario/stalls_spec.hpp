#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/sim/scenario/spread_spec.hpp"
#include "stepcast/topology/host_spec.hpp"

/// A stall is what slows or stops single devices, hosts and links. Models and sources:
/// docs/models/stalls.md.
namespace stepcast {

/// The keys of `stalls:` as a file writes them. Nothing of it is on by default.
struct StallsSpec {
  /// Every segment of every device takes a lognormal factor of mean 1.
  struct Jitter {
    double sigma = 0;
    std::int64_t seed = 1;
    friend bool operator==(const Jitter&, const Jitter&) = default;
  };
  struct SlowDevices {
    std::vector<std::int64_t> devices;
    double factor = 1;  ///< on device time
    friend bool operator==(const SlowDevices&, const SlowDevices&) = default;
  };
  /// Devices at these places of every node run at a lower clock, because they are hotter there.
  struct ThermalClass {
    std::vector<std::int64_t> slots;  ///< of the node, from 0
    double clock = 1;                 ///< over that of the others
    double core_share = 1;  ///< part of device time that follows the clock; memory keeps its own

    /// The factor on device time.
    double slowness() const { return core_share / clock + 1 - core_share; }
    friend bool operator==(const ThermalClass&, const ThermalClass&) = default;
  };
  struct SlowHosts {
    enum class Affinity { none, unbound, cross_numa };
    std::vector<std::int64_t> nodes;
    double factor = 1;  ///< on host time; the preset's when `affinity` is given
    Affinity affinity = Affinity::none;
    friend bool operator==(const SlowHosts&, const SlowHosts&) = default;
  };
  /// The clock of the devices falls for a while: from `from` to `until` on the clock of the run,
  /// and again each `period` when that is given.
  struct Throttling {
    std::vector<std::int64_t> devices;
    double factor = 1;
    Seconds from{0}, until{0};
    Seconds period{0};  ///< 0: once
    friend bool operator==(const Throttling&, const Throttling&) = default;
  };
  struct DegradedLink {
    std::string link;
    double bandwidth_factor = 1;
    friend bool operator==(const DegradedLink&, const DegradedLink&) = default;
  };
  struct FailedLink {
    std::string link;
    std::int64_t ports = 1;  ///< of a leaf's bundle
    friend bool operator==(const FailedLink&, const FailedLink&) = default;
  };
  struct GcPauses {
    Seconds duration{0}, period{0};
    bool synchronised = false;
    std::int64_t seed = 1;
    friend bool operator==(const GcPauses&, const GcPauses&) = default;
  };
  /// An allocation finds no block: the device drains, then the host frees and allocates.
  struct AllocatorPauses {
    Seconds duration{0};
    double probability = 0;  ///< per unit of the schedule
    std::int64_t seed = 1;
    friend bool operator==(const AllocatorPauses&, const AllocatorPauses&) = default;
  };
  /// What a batch needs beside the step that runs; with prefetch a step lasts until the next one
  /// is there.
  struct DataLoader {
    Seconds time_per_step{0};
    std::int64_t prefetch = 0;  ///< steps that are loaded ahead
    friend bool operator==(const DataLoader&, const DataLoader&) = default;
  };
  struct Checkpoint {
    std::int64_t every_steps = 1;
    Seconds blocking_time{0};
    Seconds every{0};  ///< of work, in place of a number of steps; 0: as many as every_steps says

    /// Steps of work from one to the next: the first that ends when `every` is over saves.
    std::int64_t steps_between(Seconds step) const;
    friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
  };
  struct Failures {
    Seconds device_mtbf{0};  ///< mean time between failures of one device
    Seconds restart{0};      ///< from a failure to the first step after it
    friend bool operator==(const Failures&, const Failures&) = default;
  };
  /// One hash of the flows is drawn, where its mean over all hashes counts otherwise.
  struct Collisions {
    std::int64_t seed = 1;
    friend bool operator==(const Collisions&, const Collisions&) = default;
  };
  /// User code reads a result back here, so that the host waits for the device.
  enum class HostSyncAt { none, step, unit };

  std::optional<Jitter> compute_jitter;
  std::vector<SlowDevices> slow_devices;
  std::vector<ThermalClass> thermal_classes;
  std::vector<SlowHosts> slow_hosts;
  std::vector<Throttling> throttling;
  std::vector<DegradedLink> degraded_links;
  std::vector<FailedLink> failed_links;
  std::optional<GcPauses> gc_pauses;
  std::optional<AllocatorPauses> allocator_pauses;
  std::optional<DataLoader> data_loader;
  std::optional<Checkpoint> checkpoint;
  std::optional<Failures> failures;
  HostSyncAt host_sync = HostSyncAt::none;
  std::optional<SpreadSpec> spread;
  std::optional<Collisions> collisions;

  friend bool operator==(const StallsSpec&, const StallsSpec&) = default;
};
/// The keys of `stalls:`.
void describe(Visitor& visitor, StallsSpec& spec);

/// Says whether some number of the stalls is drawn, so that another seed gives another step.
bool draws(const StallsSpec& spec);
/// The stalls without those that draw.
StallsSpec without_draws(StallsSpec spec);
/// These stalls draw as if `offset` were added to every seed of theirs.
StallsSpec with_seeds(StallsSpec spec, std::int64_t offset);

/// The factor on host time of the nodes of `slow`: its own, or the cluster's for the
/// affinity it names.
double host_factor(const StallsSpec::SlowHosts& slow, const HostSpec& host);

}  // namespace stepcast
