#include "stepcast/workloads/compile_cache.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "stepcast/base/random.hpp"

// The misses of a cache of kernels (docs/models/fusion.md, "A cache of shapes").
namespace stepcast {
namespace {

/// A group of 16 ranks: 512 tokens of each, 8 experts per token, so that a rank gets 4096 rows with
/// a deviation of 61.97.
WorkloadSpec job() {
  WorkloadSpec spec;
  spec.model.moe.emplace();
  spec.model.moe->experts = 192;
  spec.model.moe->top_k = 8;
  spec.training.micro_batch = 1;
  spec.training.sequence = 4096;
  spec.plan.tp = 8;
  spec.plan.ep = 16;
  return spec;
}

double misses(WorkloadSpec spec, std::int64_t cache, std::int64_t rows = 1) {
  spec.runtime.compile_cache = cache;
  spec.runtime.compile_rows = rows;
  return with_misses(spec).compile_misses;
}

double number_of(const std::vector<LikelyShapes>& shapes) {
  return std::accumulate(shapes.begin(), shapes.end(), 0.0,
                         [](double sum, const LikelyShapes& s) { return sum + s.count; });
}

TEST(CompileCache, OfEquallyLikelyShapesMissesThoseThatItHasNot) {
  for (const double kept : {1.0, 7.0, 60.0, 99.0})
    EXPECT_NEAR(cache_misses({{60, 0.01}, {40, 0.01}}, kept), 1 - kept / 100, 1e-12);
  EXPECT_EQ(cache_misses({{60, 0.01}, {40, 0.01}}, 100), 0);
}

TEST(CompileCache, ShapesAreTheRowsWithinEightDeviations) {
  const WorkloadSpec spec = job();
  const auto shapes = routed_shapes(spec);
  double probability = 0;
  for (const LikelyShapes& s : shapes) probability += s.count * s.probability;
  EXPECT_NEAR(probability, 1, 1e-12);
  const double deviation = std::sqrt(65536 * (1.0 / 16) * (15.0 / 16));
  EXPECT_NEAR(number_of(shapes), 16 * deviation, 2);
  // the densest shape has that of the middle of the bell
  const auto most = std::ranges::max_element(shapes, {}, &LikelyShapes::probability);
  EXPECT_NEAR(most->probability, 1 / (deviation * std::sqrt(2 * std::numbers::pi)),
              1e-2 / deviation);
}

TEST(CompileCache, WithoutOneTheMissesStay) {
  WorkloadSpec spec = job();
  spec.runtime.compile_misses = 0.25;
  EXPECT_EQ(with_misses(spec).compile_misses, 0.25);
}

TEST(CompileCache, AllRowsOnOneRankAreOneShape) {
  WorkloadSpec spec = job();
  spec.plan.ep = 1;
  EXPECT_EQ(misses(spec, 1), 0);
  spec.moe.products = MoeSpec::Products::sequential;  // each expert has rows of its own
  EXPECT_GT(misses(spec, 1), 0.9);
}

/// The part of draws that a cache of the latest shapes has not.
double simulated(double mean, double deviation, std::size_t kept, double rows) {
  std::list<double> cache;
  int missed = 0;
  constexpr int warm_up = 20000, draws = 100000;
  for (std::uint32_t i = 0; i < warm_up + draws; ++i) {
    const double drawn = std::round(mean + deviation * normal_number(7, 0, 0, i));
    const double shape = std::ceil(drawn / rows);
    const auto found = std::ranges::find(cache, shape);
    if (found == cache.end()) {
      missed += i >= warm_up ? 1 : 0;
      if (cache.size() == kept) cache.pop_back();
    } else {
      cache.erase(found);
    }
    cache.push_front(shape);
  }
  return static_cast<double>(missed) / draws;
}

TEST(CompileCache, MissesAsOneThatIsSimulated) {
  const double deviation = std::sqrt(65536 * (1.0 / 16) * (15.0 / 16));
  const std::vector<std::pair<int, int>> cases{{8, 1},  {64, 1},  {200, 1},
                                               {4, 16}, {12, 16}, {4, 64}};
  for (const auto& [kept, rows] : cases)
    EXPECT_NEAR(misses(job(), kept, rows),
                simulated(4096, deviation, static_cast<std::size_t>(kept), rows), 0.01)
        << kept << " " << rows;
}

// Che's approximation lets the time since a shape's last use not vary, which few kept shapes make
// it do.
TEST(CompileCache, MissesALittleMoreThanSimulatedWhereItKeepsTwo) {
  const double deviation = std::sqrt(65536 * (1.0 / 16) * (15.0 / 16));
  const double more = misses(job(), 2, 64) - simulated(4096, deviation, 2, 64);
  EXPECT_GT(more, 0);
  EXPECT_LT(more, 0.02);
}

TEST(CompileCacheProperty, MoreKernelsAndWiderOnesMissLess) {
  EXPECT_TRUE(rc::check("misses fall with what is kept and with rows per kernel", [] {
    WorkloadSpec spec = job();
    spec.training.sequence = *rc::gen::inRange(1, 4096) * 8;
    spec.plan.ep = *rc::gen::element(2, 4, 16, 64);
    const std::int64_t cache = *rc::gen::inRange(1, 400), rows = *rc::gen::inRange(1, 64);
    const double missed = misses(spec, cache, rows);
    RC_ASSERT(missed >= 0);
    RC_ASSERT(missed <= 1 + 1e-12);
    RC_ASSERT(misses(spec, cache + *rc::gen::inRange(1, 100), rows) <= missed + 1e-9);
    // two shapes become one where the counts double
    RC_ASSERT(misses(spec, cache, 4 * rows) <= missed + 1e-3);
  }));
}

}  // namespace
}  // namespace stepcast
