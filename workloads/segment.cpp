#include "stepcast/workloads/segment.hpp"

#include <utility>

namespace stepcast {

/// The (max,+) product of matrix and clocks.
Clocks SegmentMatrix::apply(const Clocks& clocks) const {
  const double issued = std::max(clocks.worker + worker_device, clocks.main + main_device);
  return {clocks.main + main, std::max(clocks.worker + worker, clocks.main + main_worker),
          std::max(clocks.device + device, issued)};
}

/// The (max,+) product of both matrices: of all ways through the two runs the longest.
SegmentMatrix SegmentMatrix::then(const SegmentMatrix& next) const {
  SegmentMatrix both;
  both.main = main + next.main;
  both.worker = worker + next.worker;
  both.device = device + next.device;
  both.main_worker = std::max(main + next.main_worker, main_worker + next.worker);
  both.worker_device = std::max(worker + next.worker_device, worker_device + next.device);
  both.main_device = std::max(
      {main + next.main_device, main_worker + next.worker_device, main_device + next.device});
  return both;
}

Segment::Segment(std::vector<OperatorCost> operators)
    : operators_{std::move(operators)},
      compiles_{std::ranges::any_of(operators_, [](const auto& op) { return op.compile > 0; })} {
  // R_j of docs/models/segments.md: device time from operator j to the end.
  std::vector<double> device_left(operators_.size() + 1);
  for (std::size_t i = operators_.size(); i > 0; --i) {
    device_left[i - 1] = device_left[i] + operators_[i - 1].device;
  }
  double from_worker = 0;
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    const OperatorCost& op = operators_[i];
    unit_.main += op.main;
    // P_j: when the second thread is done with operator j, where all begins at 0.
    unit_.main_worker = std::max(unit_.main_worker, unit_.main) + op.worker;
    from_worker += op.worker;
    LaunchHulls& hulls = hulls_of(op.launch);
    add_point(hulls.main_device, {unit_.main_worker, device_left[i]});
    add_point(hulls.worker_device, {from_worker, device_left[i]});
  }
  unit_.worker = from_worker;
  unit_.device = device_left.front();
  // What most replays ask for.
  unit_ = from_hulls({});
}

Segment::LaunchHulls& Segment::hulls_of(double launch) {
  const auto same = [launch](const LaunchHulls& hulls) { return hulls.launch == launch; };
  const auto found = std::find_if(hulls_.begin(), hulls_.end(), same);
  return found == hulls_.end() ? hulls_.emplace_back(LaunchHulls{launch, {}, {}}) : *found;
}

// Points come with host ascending and device descending, so one scan keeps the upper hull.
void Segment::add_point(Hull& hull, Point point) {
  // A point that another one dominates is never the longest path.
  if (!hull.empty() && hull.back().host >= point.host) return;
  while (!hull.empty() && hull.back().device <= point.device) hull.pop_back();
  const auto back_is_below = [&hull, &point] {
    const Point& left = hull[hull.size() - 2];
    const Point& middle = hull.back();
    return (middle.host - left.host) * (point.device - left.device) >=
           (middle.device - left.device) * (point.host - left.host);
  };
  while (hull.size() >= 2 && back_is_below()) hull.pop_back();
  hull.push_back(point);
}

double Segment::longest(const Hull& hull, const SpeedFactors& speed) {
  const auto cost = [&speed](const Point& point) {
    return speed.host * point.host + speed.device * point.device;
  };
  // The costs of a concave chain rise, then fall.
  std::size_t low = 0;
  for (std::size_t high = hull.size() - 1; low < high;) {
    const std::size_t middle = (low + high) / 2;
    if (cost(hull[middle]) < cost(hull[middle + 1])) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return cost(hull[low]);
}

SegmentMatrix Segment::from_hulls(const SpeedFactors& speed) const {
  if (operators_.empty()) return {};
  SegmentMatrix matrix;
  matrix.main = speed.host * unit_.main;
  matrix.worker = speed.host * unit_.worker;
  matrix.device = speed.device * unit_.device;
  matrix.main_worker = speed.host * unit_.main_worker;
  // Launch latencies do not scale, so that only operators with equal ones are comparable.
  for (const LaunchHulls& hulls : hulls_) {
    matrix.main_device =
        std::max(matrix.main_device, longest(hulls.main_device, speed) + hulls.launch);
    matrix.worker_device =
        std::max(matrix.worker_device, longest(hulls.worker_device, speed) + hulls.launch);
  }
  return matrix;
}

SegmentMatrix Segment::matrix(const SpeedFactors& speed) const {
  return speed == SpeedFactors{} ? unit_ : from_hulls(speed);
}

std::size_t Segment::hull_points() const {
  std::size_t points = 0;
  for (const LaunchHulls& hulls : hulls_) {
    points += hulls.main_device.size() + hulls.worker_device.size();
  }
  return points;
}

Clocks host_sync(Clocks clocks, double cost) {
  clocks.main = std::max({clocks.main, clocks.worker, clocks.device}) + cost;
  return clocks;
}

}  // namespace stepcast
