#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/random.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/topology/fabric.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/segment.hpp"

/// What slows or stops single devices, hosts and links. Models and sources: docs/models/stalls.md.
namespace stepcast {

/// `stalls:` as a file writes it. Nothing of it is on by default.
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
  /// An allocation that finds no block: the device drains, then the host frees and allocates.
  struct AllocatorPauses {
    Seconds duration{0};
    double probability = 0;  ///< per unit of the schedule
    std::int64_t seed = 1;
    friend bool operator==(const AllocatorPauses&, const AllocatorPauses&) = default;
  };
  struct DataLoader {
    Seconds time_per_step{0};
    std::int64_t prefetch = 0;  ///< steps that are loaded ahead
    friend bool operator==(const DataLoader&, const DataLoader&) = default;
  };
  struct Checkpoint {
    std::int64_t every_steps = 1;
    Seconds blocking_time{0};
    friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
  };
  struct Failures {
    Seconds device_mtbf{0};  ///< mean time between failures of one device
    Seconds restart{0};      ///< from a failure to the first step after it
    friend bool operator==(const Failures&, const Failures&) = default;
  };
  /// Where user code reads a result back: the host waits for the device.
  enum class HostSyncAt { none, step, unit };

  std::optional<Jitter> compute_jitter;
  std::vector<SlowDevices> slow_devices;
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

  friend bool operator==(const StallsSpec&, const StallsSpec&) = default;
};
/// The keys of `stalls:`.
void describe(Visitor& visitor, StallsSpec& spec);

/// A device's clock over time: factors on device time, each from its date to the next one.
struct SpeedProfile {
  struct Change {
    double from;  ///< [s]
    double factor;
    friend bool operator==(const Change&, const Change&) = default;
  };
  std::vector<Change> changes;  ///< ascending, the first at 0; empty: factor 1
  /// The changes from this one on repeat every `period`, which is longer than they take together.
  std::size_t first_repeated = 0;
  double period = 0;  ///< [s]; 0: nothing repeats
  friend bool operator==(const SpeedProfile&, const SpeedProfile&) = default;

  bool steady() const { return changes.size() <= 1; }
  /// Factor at `time` >= 0 [s]; a change holds from its own date on.
  double factor_at(double time) const;
  /// First date after `time` at which the factor may change [s]; infinity when it never does.
  double next_change(double time) const;
  /// When work of `device` seconds at factor 1 that begins at `start` >= 0 ends [s]: the end at
  /// which the integral of 1 / factor from `start` is `device`.
  double end_of(double start, double device) const;
};

/// The stalls of a job, rank by rank.
struct StallPlan {
  std::size_t ranks = 0;
  std::vector<SpeedFactors> speed;     ///< [rank]; empty: all 1
  std::vector<std::uint32_t> profile;  ///< [rank] index into `profiles`; empty: all 0
  std::vector<SpeedProfile> profiles{SpeedProfile{}};
  std::vector<double> gc_offset;  ///< [rank] first garbage collection [s]; empty: none
  StallsSpec spec;

  /// The replay has something to heed. Damaged links are the fabric's and failures the report's.
  bool any() const;
  /// The device factors vary at random or over time, or hosts pause: no step repeats another.
  bool irregular() const;
  /// Something makes hosts pause or wait.
  bool holds_host() const;
  SpeedFactors speed_of(Rank rank) const {
    return speed.empty() ? SpeedFactors{} : speed[rank.value];
  }
  const SpeedProfile& profile_of(Rank rank) const {
    return profiles[profile.empty() ? 0 : profile[rank.value]];
  }
  /// [rank] Ranks with equal keys suffer alike; empty: all do.
  std::vector<std::uint64_t> keys() const;
};

/// Factor on host time of the nodes of `slow`: its own, or the cluster's for the affinity it names.
double host_factor(const StallsSpec::SlowHosts& slow, const HostSpec& host);

/// Spreads the stalls over the ranks. The spec is checked. Where a node is slow, the hosts of all
/// its devices are; garbage is collected first at a date uniform in [0, period), the same on all
/// ranks when synchronised.
StallPlan plan_stalls(const StallsSpec& spec, const Placement& placement,
                      const ClusterSpec& cluster);

/// The links of `degraded_links` and `failed_links`, by their names on the intact fabric. The spec
/// is checked.
LinkFaults link_faults(const StallsSpec& spec, const Fabric& intact);

}  // namespace stepcast
