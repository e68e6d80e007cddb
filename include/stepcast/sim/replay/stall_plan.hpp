#pragma once
#include <cstdint>
#include <vector>

#include "stepcast/base/random.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/sim/scenario/stalls_spec.hpp"
#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/segment.hpp"

/// Here the stalls of a scenario are spread over its ranks. Models and sources:
/// docs/models/stalls.md.
namespace stepcast {

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
  /// The factor at `time` >= 0 [s]; a change holds from its own date on.
  double factor_at(double time) const;
  /// Work of `device` seconds at factor 1 that begins at `start` >= 0 ends here [s]: where the
  /// integral of 1 / factor from `start` is `device`.
  double end_of(double start, double device) const;
};

/// The stalls of a job, rank by rank.
struct StallPlan {
  std::size_t ranks = 0;
  std::vector<SpeedFactors> speed;     ///< [rank]; empty: all 1
  std::vector<std::uint32_t> profile;  ///< [rank] index into `profiles`; empty: all 0
  std::vector<SpeedProfile> profiles{SpeedProfile{}};
  std::vector<double> gc_offset;        ///< [rank] first garbage collection [s]; empty: none
  std::optional<IdleClock> idle_clock;  ///< of every device
  std::optional<PowerCap> power_cap;    ///< of every device, which has no idle clock then
  StallsSpec spec;

  /// Says whether the replay has something to heed. Damaged links are the fabric's and
  /// failures the report's.
  bool any() const;
  /// Says whether the device factors vary at random or over time, or hosts pause, so that no
  /// step repeats another.
  bool irregular() const;
  /// Says whether something makes hosts pause or wait.
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

/// Spreads the stalls over the ranks. The spec is checked. Where a node is slow, the hosts of
/// all its devices are; garbage is collected first at a date uniform in [0, period), the same on
/// all ranks when synchronised.
StallPlan plan_stalls(const StallsSpec& spec, const Placement& placement,
                      const ClusterSpec& cluster);

}  // namespace stepcast
