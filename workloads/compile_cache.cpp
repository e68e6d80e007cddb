#include "stepcast/workloads/compile_cache.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "expert_popularity.hpp"

namespace stepcast {

namespace {

constexpr double spread = 8;           ///< standard deviations beyond which no shape is drawn
constexpr double cells = 256;          ///< in which neighbouring shapes are taken as equally likely
constexpr double last_look_up = 1e18;  ///< look-ups of which nobody waits for the last
constexpr int halvings = 60;           ///< to the last digit of a date

/// Probability of less than the mean plus so many deviations of a normal distribution.
double below(double deviations) { return std::erfc(-deviations / std::numbers::sqrt2) / 2; }

/// Different shapes among so many look-ups.
double different(const std::vector<LikelyShapes>& shapes, double look_ups) {
  double sum = 0;
  // In the mean: n look-ups all miss a shape of probability p with exp(-p n).
  for (const LikelyShapes& s : shapes) sum -= s.count * std::expm1(-s.probability * look_ups);
  return sum;
}

/// The part of all pairs that the rows of one kernel are.
double share_of_kernel(const WorkloadSpec& spec) {
  const bool grouped = spec.moe.products == MoeSpec::Products::grouped;
  return 1 / static_cast<double>(grouped ? spec.plan.ep : spec.model.moe->experts);
}

}  // namespace

std::vector<LikelyShapes> routed_shapes(const WorkloadSpec& spec) {
  const double share = share_of_kernel(spec), pairs = pairs_of_group(spec);
  // Pairs are routed one by one, so that the rows are binomial, here taken as normal.
  const double mean = pairs * share, deviation = std::sqrt(pairs * share * (1 - share));
  if (deviation == 0) return {{1, 1}};
  const auto rows = static_cast<double>(spec.runtime.compile_rows);
  // One kernel serves `compile_rows` numbers of rows.
  const double first = std::ceil(std::max(0.0, mean - spread * deviation) / rows);
  const double count = std::ceil((mean + spread * deviation) / rows) - first + 1;
  const double parts = std::min(count, cells);
  std::vector<LikelyShapes> shapes;
  double from = 0, passed = 0;  // shapes, and the probability of those and fewer rows
  for (double part = 1; part <= parts; ++part) {
    const double to = std::floor(part * count / parts);
    // Half a row above the last, where whole numbers are followed as a continuous quantity.
    const double most = (first + to - 1) * rows + 0.5;
    // The last cell takes the rest, so that the probabilities add up to 1.
    const double reached = part == parts ? 1 : below((most - mean) / deviation);
    if (reached > passed) shapes.push_back({to - from, (reached - passed) / (to - from)});
    from = to;
    passed = std::max(passed, reached);
  }
  return shapes;
}

double cache_misses(const std::vector<LikelyShapes>& shapes, double kept) {
  double all = 0;
  for (const LikelyShapes& s : shapes) all += s.count;
  // Room for all shapes: each is compiled once, which no later step sees.
  if (kept >= all) return 0;
  // How far back the cache remembers: until `kept` different shapes were looked up.
  double low = kept, high = kept;  // as many look-ups find that many shapes at most
  while (different(shapes, high) < kept && high < last_look_up) high *= 2;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (different(shapes, middle) < kept ? low : high) = middle;
  }
  // Formula (4) of docs/models/fusion.md: a miss is a shape that none of these asked for.
  double missed = 0;
  for (const LikelyShapes& s : shapes)
    missed += s.count * s.probability * std::exp(-s.probability * high);
  return missed;
}

RuntimeSpec with_misses(const WorkloadSpec& spec) {
  RuntimeSpec runtime = spec.runtime;
  // Without a cache the misses are those that were stated.
  if (runtime.compile_cache > 0 && spec.model.moe)
    runtime.compile_misses =
        cache_misses(routed_shapes(spec), static_cast<double>(runtime.compile_cache));
  return runtime;
}

}  // namespace stepcast
