#include "stepcast/scheduler/balanced_slices.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr double unreachable = std::numeric_limits<double>::infinity();

/// The slices of least sum among those that each take at most `limit`.
struct Shortest {
  double sum = unreachable;
  std::vector<std::int64_t> lengths;
};

/// Bellman's recursion over slices and steps; O(slices * steps^2).
Shortest shortest_within(const SliceTimes& times, std::size_t slices, double limit) {
  // from[k][end]: where slice k begins in the best way to end it there; best: sums of k slices.
  const std::size_t steps = times.size();
  std::vector<std::vector<std::size_t>> from(slices, std::vector<std::size_t>(steps + 1));
  std::vector<double> best(steps + 1, unreachable);
  best[0] = 0;
  for (std::size_t k = 0; k < slices; ++k) {
    std::vector<double> next(steps + 1, unreachable);
    // Each slice before this one has at least a step.
    for (std::size_t first = k; first < steps; ++first) {
      if (best[first] == unreachable) continue;
      for (std::size_t end = first + 1; end <= steps; ++end) {
        const double time = times[first][end - first - 1];
        if (time > limit || best[first] + time >= next[end]) continue;
        next[end] = best[first] + time;
        from[k][end] = first;
      }
    }
    best = std::move(next);
  }
  // The lengths are read back from the end.
  Shortest result{best[steps], std::vector<std::int64_t>(slices)};
  if (result.sum == unreachable) return result;
  for (std::size_t k = slices, end = steps; k-- > 0; end = from[k][end])
    result.lengths[k] = static_cast<std::int64_t>(end - from[k][end]);
  return result;
}

}  // namespace

/// T = m sum t + fill max t (docs/models/pipeline.md, slices).
double sliced_pipeline_time(const std::vector<std::int64_t>& lengths, const SliceTimes& times,
                            double micro_batches, double fill) {
  double sum = 0, longest = 0;
  std::size_t first = 0;
  for (const std::int64_t length : lengths) {
    const double time = times[first][static_cast<std::size_t>(length - 1)];
    sum += time;
    longest = std::max(longest, time);
    first += static_cast<std::size_t>(length);
  }
  return micro_batches * sum + fill * longest;
}

/// (p - 1) / v: the rounds in which the longest slice passes alone.
double pipeline_fill(std::int64_t stages, std::int64_t chunks) {
  return static_cast<double>(stages - 1) / static_cast<double>(chunks);
}

std::vector<std::int64_t> balanced_slices(const SliceTimes& times, std::int64_t slices,
                                          double micro_batches, double fill) {
  expects(slices >= 1 && slices <= std::ssize(times), "a slice has at least one step");
  const auto count = static_cast<std::size_t>(slices);
  // Only times of slices can be the longest one: each of them is tried as the bound.
  std::set<double> limits;
  for (const auto& row : times) limits.insert(row.begin(), row.end());
  const double least_sum = shortest_within(times, count, unreachable).sum;
  double best = unreachable;
  std::vector<std::int64_t> chosen;
  for (const double limit : limits) {
    // Limits ascend: no later one can beat the best, since the sum never falls below its least.
    if (micro_batches * least_sum + fill * limit >= best) break;
    Shortest found = shortest_within(times, count, limit);
    if (found.sum == unreachable) continue;
    const double time = sliced_pipeline_time(found.lengths, times, micro_batches, fill);
    if (time >= best) continue;
    best = time;
    chosen = std::move(found.lengths);
  }
  return chosen;
}

}  // namespace stepcast
