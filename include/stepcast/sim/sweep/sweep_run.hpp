#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sim/sweep/point_result.hpp"
#include "stepcast/sim/sweep/store.hpp"
#include "stepcast/sim/sweep/sweep.hpp"

namespace stepcast {

/// Says which points of a sweep to take.
struct PointChoice {
  std::vector<std::string> filters;   ///< `path=value`, also != < <= > >=; all must hold
  std::size_t shard = 0, shards = 1;  ///< every `shards`-th point, beginning with `shard`
  std::optional<std::size_t> limit;   ///< of those at most so many
};
/// Numbers of the points in rising order. Throws InputError for a filter that is none.
std::vector<std::size_t> choose_points(const Sweep& sweep, const PointChoice& choice);

/// Simulates one point in this process (which makes at most one run). What is wrong with the
/// configuration, does not fit or fails is a result with a reason, never an exception.
PointResult simulate_point(const Sweep& sweep, std::size_t point, const SearchPath& search);

/// Stands for a point whose process ended without an answer.
PointResult failed_point(const Sweep& sweep, std::size_t point, const std::string& why);

/// The bookkeeping of one run over points: what is known already, what is missing, what
/// came out.
class SweepRun {
 public:
  /// Reads every point and looks it up in `store` (may be null). Throws InputError as Store.
  /// Rows of other builds count as missing unless `builds` takes them.
  SweepRun(const Sweep& sweep, std::vector<std::size_t> points, const SearchPath& search,
           Store* store, Store::Builds builds = Store::Builds::own);

  /// Points to be simulated, rising; each scenario once.
  const std::vector<std::size_t>& missing() const { return missing_; }
  std::size_t known() const { return points_.size() - missing_.size(); }
  /// What came out at a missing point goes to the store, and to all points of the same scenario. A
  /// failed point is not stored, so that the next run tries it again.
  void add(const PointResult& result);
  /// Results of every point, in order. Everything missing must have been added.
  std::vector<PointResult> results() const;

 private:
  std::optional<PointResult> stored(const std::string& key, Store::Builds builds) const;
  void note(std::size_t place, const PointResult& result);

  const Sweep& sweep_;
  Store* store_;
  std::vector<std::size_t> points_, missing_;
  std::vector<std::string> keys_;  ///< per place in points_
  std::vector<std::optional<PointResult>> results_;
};

/// A point that was simulated, for those who watch.
struct PointDone {
  const PointResult& result;
  std::size_t done = 0, of = 0;  ///< of the missing ones
};

/// Simulates what is missing in `workers` processes. `watch` is called after each point is
/// stored.
void run_missing(SweepRun& run, const Sweep& sweep, int workers, const SearchPath& search,
                 const std::function<void(const PointDone&)>& watch);

/// The efficiency of each result relative to the baseline of the sweep: tokens (samples for
/// a synthetic workload) per second and device over those of the baseline point. It is nothing
/// where either is not simulated or there is no baseline. Of several seeds it is that of the mean
/// steps.
std::vector<std::optional<double>> scaling_efficiency(const Sweep& sweep,
                                                      const std::vector<PointResult>& results);

}  // namespace stepcast
