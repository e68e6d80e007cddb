#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// A run of operators with no communication between them, as a (max,+) matrix. All times in seconds, as doubles,
/// because this is the inner loop. Derivation: docs/models/segments.md.
namespace stepcast {

/// Issue and execution of one operator: the main host thread spends `main`, the second thread `worker`
/// (0 without task_queue), then `launch` passes, then the stream works for `device`.
struct OperatorCost {
  double main = 0, worker = 0, launch = 0, device = 0;
};

/// Factors on time: 2 = half as fast. Launch is not scaled.
struct SpeedFactors {
  double device = 1, host = 1;
  friend bool operator==(const SpeedFactors&, const SpeedFactors&) = default;
};

/// Clocks of one rank: when each host thread is free, when the compute stream is.
struct Clocks {
  double main = 0, worker = 0, device = 0;
  friend bool operator==(const Clocks&, const Clocks&) = default;
};

/// Lower triangular (max,+) map of Clocks: six numbers. -inf is "no path".
struct SegmentMatrix {
  static constexpr double none = -std::numeric_limits<double>::infinity();
  double main = 0, worker = 0, device = 0;              ///< diagonal: sums of main, worker and device times
  double main_worker = none, main_device = none, worker_device = none;

  Clocks apply(const Clocks& c) const;
  /// First this, then `next`.
  SegmentMatrix then(const SegmentMatrix& next) const;
};

/// One segment: its operators and the forms that replace them.
class Segment {
 public:
  explicit Segment(std::vector<OperatorCost> operators);

  const std::vector<OperatorCost>& operators() const { return operators_; }
  std::size_t size() const { return operators_.size(); }
  double device_time() const { return unit_.device; }
  /// The matrix under speed factors; (1, 1) is stored, others come from the hulls in O(hull).
  SegmentMatrix matrix(const SpeedFactors& speed) const;
  /// Points kept of all hulls, for reports and tests.
  std::size_t hull_points() const;

 private:
  struct Point { double host, device; };   ///< path cost = y * host + x * device + launch
  std::vector<OperatorCost> operators_;
  SegmentMatrix unit_;
  std::vector<Point> main_device_, worker_device_;   ///< upper hulls; launch folded in by class, see .cpp
  double main_worker_ = SegmentMatrix::none;
};

/// Clocks after the operators, one by one: the definition that every form is held against.
Clocks replay_operators(Clocks clocks, std::span<const OperatorCost> operators, const SpeedFactors& speed);

/// The host waits for the compute stream: h = max(h, d) + cost.
Clocks host_sync(Clocks clocks, double cost);

/// The host may run at most `depth` compute operators ahead of the stream: before it issues operator i it waits for
/// the end of operator i - depth. Remembers what it needs to, as runs rather than operators.
class HostQueue {
 public:
  explicit HostQueue(std::uint64_t depth) : depth_{depth} {}
  /// Clocks after the segment; takes the matrix when the queue cannot bind, the operator loop otherwise.
  Clocks run(Clocks clocks, const Segment& segment, const SpeedFactors& speed);
  std::uint64_t operator_loops() const { return loops_; }   ///< how often the slow form was needed

 private:
  std::uint64_t depth_;
  std::uint64_t loops_ = 0;
  // The implementer chooses the history: runs with entry clocks, replayed on demand, dropped when out of reach.
};

}  // namespace stepcast
