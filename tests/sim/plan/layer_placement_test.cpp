#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <iostream>
#include <limits>

#include "exact_placement.hpp"
#include "sim/plan/placement.hpp"

namespace stepcast {
namespace {

HeldMoments moments_of(const std::string& schedule, const PlacementProblem& p) {
  MomentTable table;
  PipelineShape shape{p.stages, p.chunks, p.micro_batches, p.stages};
  return table.of(pipeline_schedule(schedule), shape);
}

PlacementProblem random_problem() {
  PlacementProblem p;
  p.stages = *rc::gen::inRange(1, 4);
  p.chunks = p.stages > 1 ? *rc::gen::inRange(1, 3) : 1;
  p.micro_batches = p.stages * *rc::gen::inRange(2, 4);
  const int runs = *rc::gen::inRange(1, 4);
  for (int r = 0; r < runs; ++r) {
    LayerRun run;
    run.layers = *rc::gen::inRange(1, 4);
    run.unit = *rc::gen::inRange(1, 9);
    run.recompute = run.unit / 3;
    run.states = *rc::gen::inRange(1, 5);
    run.kept = *rc::gen::inRange(2, 6);
    run.kept_recomputed = 0.5;
    p.runs.push_back(run);
  }
  while (p.layers() < p.stages * p.chunks) p.runs.back().layers += 1;
  p.first.unit = *rc::gen::inRange(0, 3);
  p.last.unit = *rc::gen::inRange(0, 6);
  p.last.kept = *rc::gen::inRange(0, 3);
  p.capacity = *rc::gen::inRange(20, 160);
  p.moments = moments_of(p.chunks > 1 ? "interleaved_1f1b" : "1f1b", p);
  return p;
}

/// 16 stages of two chunks, three kinds of layers and memory that asks for recomputation.
PlacementProblem sixteen_stages() {
  PlacementProblem p;
  p.stages = 16, p.chunks = 2, p.micro_batches = 64;
  p.runs = {
      {3, 2.0, 0.7, 1.0, 1.0, 0.1}, {58, 3.0, 1.0, 2.0, 1.2, 0.1}, {6, 4.0, 1.4, 2.5, 1.5, 0.1}};
  p.first = {0, 0.2, 0, 1.0, 0.1, 0.1};
  p.last = {0, 2.5, 0, 2.0, 0.5, 0.5};
  p.capacity = 70;
  p.moments = moments_of("interleaved_1f1b", p);
  return p;
}

/// All tables, one by one: the least time of those that fit, infinity when none does.
double exhaustive(const PlacementProblem& p) {
  PlacedLayers placed;
  placed.layers.assign(static_cast<std::size_t>(p.chunks),
                       std::vector<std::int64_t>(static_cast<std::size_t>(p.stages), 1));
  placed.recomputed = placed.layers;
  double best = std::numeric_limits<double>::infinity();
  const std::int64_t parts = p.stages * p.chunks;
  const std::function<void(std::int64_t, std::int64_t)> choose = [&](std::int64_t part,
                                                                     std::int64_t left) {
    if (part == parts) {
      if (left == 0 && placement_memory(p, placed) <= p.capacity)
        best = std::min(best, placement_time(p, placed));
      return;
    }
    const auto c = static_cast<std::size_t>(part / p.stages);
    const auto s = static_cast<std::size_t>(part % p.stages);
    for (std::int64_t n = 1; n <= left - (parts - part - 1); ++n)
      for (std::int64_t r = 0; r <= n; ++r) {
        placed.layers[c][s] = n;
        placed.recomputed[c][s] = r;
        choose(part + 1, left - n);
      }
  };
  choose(0, p.layers());
  return best;
}

TEST(LayerPlacement, EqualsTheBestOfAllTablesOfOneRun) {
  EXPECT_TRUE(rc::check("one kind of layer", [] {
    PlacementProblem p = random_problem();
    p.runs.resize(1);
    p.runs[0].layers = p.stages * p.chunks + *rc::gen::inRange(0, 4);
    const double best = exhaustive(p);
    const PlacementSolution solution = place_layers(p, {});
    if (best == std::numeric_limits<double>::infinity()) {
      RC_ASSERT(!solution.placed);
      return;
    }
    RC_ASSERT(solution.placed);
    RC_ASSERT(std::abs(solution.time - best) <= 1e-6 * best);
    RC_ASSERT(solution.status.starts_with("optimal"));
    RC_ASSERT(solution.bound <= best * (1 + 1e-6));
  }));
}

TEST(LayerPlacement, EqualsTheBestOfAllTablesOfSeveralRuns) {
  EXPECT_TRUE(rc::check("several kinds", [] {
    const PlacementProblem p = random_problem();
    const double best = exhaustive(p);
    const PlacementSolution solution = place_layers(p, {});
    RC_ASSERT(solution.bound <= best * (1 + 1e-6));
    if (best == std::numeric_limits<double>::infinity()) {
      RC_ASSERT(!solution.placed);
      RC_ASSERT(solution.status == "infeasible");
      return;
    }
    RC_ASSERT(solution.placed);
    RC_ASSERT(placement_memory(p, *solution.placed) <= p.capacity * (1 + 1e-9));
    RC_ASSERT(std::abs(solution.time - best) <= 1e-6 * best);
    RC_ASSERT(solution.status == "optimal");
  }));
}

TEST(LayerPlacement, TheEvenPlacementFits) {
  EXPECT_TRUE(rc::check("even placement", [] {
    const PlacementProblem p = random_problem();
    const auto placed = place_evenly(p);
    if (!placed) return;
    RC_ASSERT(placement_memory(p, *placed) <= p.capacity * (1 + 1e-9));
    RC_ASSERT(placement_time(p, *placed) >= exhaustive(p) * (1 - 1e-9));
  }));
}

TEST(LayerPlacement, TheReferenceOfTwoChunksEqualsTheBestOfAllTables) {
  EXPECT_TRUE(rc::check("stage dynamic programme of two chunks", [] {
    PlacementProblem p = random_problem();
    p.stages = *rc::gen::inRange(1, 4);
    p.chunks = 2;
    while (p.layers() < p.stages * p.chunks) p.runs.back().layers += 1;
    p.moments = moments_of("interleaved_1f1b", p);
    constexpr double much = 1e6;
    const double best = std::min(exhaustive(p), much);
    RC_ASSERT(std::abs(testing::ExactPlacement(p).best(much) - best) <= 1e-6 * best);
  }));
}

/// One node: what stands in is no worse than its start, and the gap is a gap.
TEST(LayerPlacement, SaysWhereItWasStopped) {
  const PlacementProblem p = sixteen_stages();
  const PlacementSolution solution = place_layers(p, {1});
  ASSERT_TRUE(solution.placed);
  EXPECT_NE(solution.status.find("limit of 1 nodes"), std::string::npos) << solution.status;
  EXPECT_LE(placement_memory(p, *solution.placed), p.capacity * (1 + 1e-9));
  EXPECT_GT(solution.gap(), 0);
  EXPECT_LT(solution.bound, solution.time);
}

TEST(LayerPlacement, TheStageProgrammeFitsWhatItPlaces) {
  EXPECT_TRUE(rc::check("stage dynamic programme", [] {
    const PlacementProblem p = random_problem();
    const auto placed = place_by_stages(p);
    if (!placed) return;
    RC_ASSERT(placement_memory(p, *placed) <= p.capacity * (1 + 1e-9));
    RC_ASSERT(placement_time(p, *placed) >= exhaustive(p) * (1 - 1e-9));
  }));
}

/// Within the limits of a plan, against an exact method that knows no solver.
TEST(LayerPlacement, SolvesSixteenStagesOfThreeKindsNightly) {
  PlacementProblem p = sixteen_stages();
  for (const double capacity : {64.0, 70.0, 100.0}) {
    p.capacity = capacity;
    const PlacementSolution solution = place_layers(p, {});
    ASSERT_TRUE(solution.placed) << solution.status;
    EXPECT_LE(placement_memory(p, *solution.placed), p.capacity * (1 + 1e-9));
    const double best = testing::ExactPlacement(p).best(1.001 * solution.time);
    EXPECT_LE(solution.time, 1.02 * best);
    EXPECT_GE(solution.time, (1 - 1e-9) * best);
    EXPECT_LE(solution.bound, best * (1 + 1e-9));
    if (solution.status == "optimal") {
      EXPECT_NEAR(solution.time, best, 1e-9 * best);
      EXPECT_EQ(solution.gap(), 0);
    }
    std::cout << solution.solver << ": " << solution.status << ", time " << solution.time
              << ", gap " << 100 * solution.gap() << " %, best of the exact method " << best
              << "\n";
  }
}

}  // namespace
}  // namespace stepcast
