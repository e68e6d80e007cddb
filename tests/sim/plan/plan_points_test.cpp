#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <random>

#include "random_points.hpp"
#include "sim/plan/point_times.hpp"
#include "small_plans.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr std::size_t compared_points = STEPCAST_PLAN_POINTS;

/// Random points of a space whose keys are all searched.
void expect_ranked(const char* text) {
  const test::PlanFile file(text);
  const PlanSpace space = file.read();
  const auto compared = testing::RandomPoints(space, 20261121).compare(compared_points);
  EXPECT_EQ(compared.simulations.size(), compared_points);
  EXPECT_EQ(compared.failed, 0U);
  EXPECT_TRUE(compared.broken.empty()) << compared.broken.front();
  EXPECT_GT(compared.exchanging, 0U);
  EXPECT_GE(compared.rank_correlation(), 0.95);
  EXPECT_GE(compared.median_unit_bound(), 0.95);
  std::cout << space.points() << " points, rank correlation " << compared.rank_correlation()
            << ", worst estimate " << 100 * compared.worst() << " % off, median bound by units "
            << compared.median_unit_bound() << " of the time alone\n";
}

TEST(PlanPoints, EstimatesOfADenseModelRankAsItsSimulationsNightly) {
  expect_ranked(R"(
stepcast: 1
name: dense-points
framework: none
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 32}
model: {extends: models/llama2-7b.yaml, layers: 16}
parallel: {tp: search, pp: search, vpp: search, cp: search, zero: search, sequence_parallel: search}
training: {sequence: 4096, global_batch: 64, micro_batch: search, recompute: search}
schedule: {pipeline: search}
runtime: {dispatch: graph_sink}
)");
}

TEST(PlanPoints, EstimatesOfAModelWithExpertsRankAsItsSimulationsNightly) {
  expect_ranked(R"(
stepcast: 1
name: expert-points
framework: none
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 32}
model: {extends: models/mixtral-8x7b.yaml, layers: 16}
parallel: {tp: search, pp: search, vpp: search, cp: [1, 2, 4], ep: search, etp: search, zero: search,
           sequence_parallel: search}
training: {sequence: 4096, global_batch: 64, micro_batch: search, recompute: search}
schedule: {pipeline: search}
)");
}

TEST(AnswerStore, OneChangedByteIsSeenOrChangesNothing) {
  const test::TemporaryFiles files;
  const std::string path = files.path("answers"), copy = files.path("copy");
  const auto key = [](int i) { return sha256(std::to_string(i)); };
  constexpr int answers = 40;
  {
    AnswerStore store(path);
    for (int i = 0; i < answers; ++i) store.put(key(i), std::string(100, 'a') + std::to_string(i));
  }
  std::ifstream file{path, std::ios::binary};
  const std::string whole{std::istreambuf_iterator<char>{file}, {}};
  std::mt19937 random(46);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::string changed = whole;
    const std::size_t at = random() % changed.size();
    changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1 + random() % 255));
    std::ofstream(copy, std::ios::binary) << changed;
    try {
      const AnswerStore store(copy);
      for (int i = 0; i < answers; ++i) {
        const std::string given = std::string(100, 'a') + std::to_string(i);
        // One that is missing is made again.
        EXPECT_EQ(store.find(key(i)).value_or(given), given) << "byte " << at;
      }
    } catch (const InputError& error) {
      ++refused;
    }
    std::filesystem::remove(copy + "-journal");
  }
  EXPECT_GT(refused, 50);
}

// What a store gives back may be less than what was put into it.
TEST(PlanPoints, AnAnswerThatLostItsEndIsNoTime) {
  const test::TemporaryFiles files;
  const PlanSpace space = test::PlanFile(R"(
stepcast: 1
name: small
framework: none
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 8}
model: {extends: models/llama2-7b.yaml, layers: 4}
parallel: {tp: [4, 8]}
training: {sequence: 4096, global_batch: 8}
)")
                              .read();
  std::vector<BaseCosts> costs = test::costs_of(space);
  AnswerStore store(files.path("answers"));
  const auto key = [](const char* job, const PlanPoint&) { return std::string(job); };
  PlanCounts counts;
  PointTimes times(space, costs, 1, &store, key, counts);
  std::vector<PlanPoint> points(2);
  const std::vector<PlanPoint*> both{&points[0], &points[1]};
  const auto keep = [&](const std::string& job, const std::string& answer) {
    store.put(sha256(job + job), answer);
  };
  keep("time", "1.5\n2.5\n");
  times.replay(both);
  EXPECT_EQ(points[1].alone, Seconds{2.5});
  for (const char* answer : {"", "1.5\n", "1.5\n\n", "1.5\nwrong\n"}) {
    keep("time", answer);
    EXPECT_THROW(times.replay(both), EngineError) << answer;
    keep("units", answer);
    EXPECT_THROW(times.bound(both), EngineError) << answer;
  }
}

}  // namespace
}  // namespace stepcast
