#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// A segment is a run of operators with no communication between them, as a (max,+) matrix. All
/// times are in seconds, as doubles, because this is the inner loop. Derivation:
/// docs/models/segments.md.
namespace stepcast {

/// Costs of issue and execution of one operator. The main host thread spends `main`; the
/// second thread takes over and spends `worker` (0 without task_queue, where it is transparent);
/// `launch` later the compute stream may start, and works for `device`. issue_operator() is the
/// definition. `draw` is the part of the device's power limit that it draws at the full clock:
/// above 1 the limit holds it, and `device` is the time that this leaves (docs/models/clocks.md).
/// `compile` is the part of `main` in which the kernel is made.
struct OperatorCost {
  double main = 0, worker = 0, launch = 0, device = 0;
  double draw = 1;
  double compile = 0;
};

/// Factors on time: 2 is half as fast. Launch is not scaled.
struct SpeedFactors {
  double device = 1, host = 1;
  friend bool operator==(const SpeedFactors&, const SpeedFactors&) = default;
};

/// The clocks of one rank say when each host thread is free, and when the compute stream is.
struct Clocks {
  double main = 0, worker = 0, device = 0;
  friend bool operator==(const Clocks&, const Clocks&) = default;
};

/// The clocks after one operator: the definition that every form below is held against.
inline Clocks issue_operator(const Clocks& clocks, const OperatorCost& op,
                             const SpeedFactors& speed) {
  const double main = clocks.main + speed.host * op.main;
  const double worker = std::max(clocks.worker, main) + speed.host * op.worker;
  return {main, worker, std::max(clocks.device, worker + op.launch) + speed.device * op.device};
}

/// A lower triangular (max,+) map of Clocks: six numbers. -inf is "no path".
struct SegmentMatrix {
  static constexpr double none = -std::numeric_limits<double>::infinity();
  double main = 0, worker = 0, device = 0;  ///< diagonal: sums of main, worker and device times
  double main_worker = none, main_device = none, worker_device = none;

  Clocks apply(const Clocks& clocks) const;
  /// Runs first, then `next`.
  SegmentMatrix then(const SegmentMatrix& next) const;
};

/// A segment has its operators and the forms that replace them.
class Segment {
 public:
  /// No time is negative.
  explicit Segment(std::vector<OperatorCost> operators);

  const std::vector<OperatorCost>& operators() const { return operators_; }
  std::size_t size() const { return operators_.size(); }
  double device_time() const { return unit_.device; }
  /// Whether the host compiles for one of the operators.
  bool compiles() const { return compiles_; }
  /// The matrix under speed factors; (1, 1) is stored, others come from the hulls in O(log
  /// hull) per launch value.
  SegmentMatrix matrix(const SpeedFactors& speed) const;
  /// Counts the points kept of all hulls, for reports and tests.
  std::size_t hull_points() const;

 private:
  /// One path through an operator costs host * y + device * x + launch.
  struct Point {
    double host, device;
  };
  /// These paths are longest under some (x, y): concave, host ascending, device descending.
  using Hull = std::vector<Point>;
  /// Operators that share a launch value.
  struct LaunchHulls {
    double launch;
    Hull main_device, worker_device;
  };

  LaunchHulls& hulls_of(double launch);
  static void add_point(Hull& hull, Point point);
  static double longest(const Hull& hull, const SpeedFactors& speed);
  SegmentMatrix from_hulls(const SpeedFactors& speed) const;

  std::vector<OperatorCost> operators_;
  std::vector<LaunchHulls> hulls_;  ///< in order of first appearance
  SegmentMatrix unit_;
  bool compiles_;
};

/// The host waits until the second thread and the compute stream have drained: h = max(h, worker,
/// d) + cost.
Clocks host_sync(Clocks clocks, double cost);

}  // namespace stepcast
