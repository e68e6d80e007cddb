#include <gtest/gtest.h>

#include <set>

#include "small_plans.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/step_alone.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"

// What a framework says may depend on the sizes that a plan searches.
namespace stepcast {
namespace {

constexpr const char* framed_plan = R"(
stepcast: 1
name: framed-plan
framework: frameworks/trainer.yaml
cluster: {extends: clusters/dgx-a100.yaml, devices: 32}
model: {extends: models/llama2-7b.yaml, layers: 8}
parallel: {tp: [1, 2, 4], pp: [1, 2], zero: [0, 1, 2], sequence_parallel: [false, true]}
training: {sequence: 2048, global_batch: 64, micro_batch: [1, 2], recompute: [none, full]}
plan: {top: 4, shortlist: 4000, simulations: 500}
)";

constexpr const char* trainer = R"(
stepcast: 1
framework:
  name: Trainer
  versions: {from: "1"}
  rules:
    - {when: {parallel.tp: many}, set: {training.cross_entropy: fused}, source: a}
    - {when: {parallel.zero: [1, 2]}, set: {runtime.barriers.step_end: true}, source: b}
    - {when: {parallel.pp: one}, set: {communication.parameter.overlap: false}, source: c}
    - {set: {communication.tensor.overlap: chunks(2)}, source: d}
    - {when: {parallel.pp: many}, set: {stalls.host_sync: unit}, source: f}
    - {set: {runtime.update: {passes: [zero]}}, source: e}
)";

class FramedPlan {
 public:
  FramedPlan() {
    files_.write("frameworks/trainer.yaml", trainer);
    path_ = files_.write("plan.yaml", framed_plan);
  }
  PlanSpace read(const std::vector<std::string>& overrides = {}) const {
    return read_plan(path_, overrides, {}, test::presets());
  }

 private:
  test::TemporaryFiles files_;
  std::string path_;
};

/// Bounds and times alone count the fleet of DGX A100 and what the trainer waits for.
void expect_bounded(const Scenario& searched, const Scenario& read, BaseCosts& costs) {
  const double simulated = forecast(read).step_time.value();
  const LoneStep lone(searched, costs.times), even(searched, costs.times, LonePace::even);
  constexpr double rounding = 1 + 1e-9;
  EXPECT_TRUE(counts_fleet(searched));
  EXPECT_GT(lone.bound(), even.bound());
  EXPECT_LE(lone.bound(), lone.replayed());
  EXPECT_LE(lone.replayed().value(), simulated * rounding);
}

// The search times what the reader of the point's file reads.
TEST(PlanFrameworks, PointsHaveTheKeysOfTheirFiles) {
  const FramedPlan file;
  const PlanSpace space = file.read();
  EXPECT_EQ(space.plain_bases, 2U);
  EXPECT_GT(space.bases.size(), 4U);
  auto costs = test::costs_of(space);
  const Enumeration found = enumerate(space, costs);
  std::set<std::uint32_t> bases;
  int waiting = 0;
  for (const PlanPoint& point : found.kept) {
    const Scenario searched = scenario_of(space, point.strategy);
    const Scenario read = read_point(space, point, test::presets());
    const bool waits = searched.stalls.host_sync == StallsSpec::HostSyncAt::unit;
    waiting += waits ? 1 : 0;
    if (waiting == 1 && waits) expect_bounded(searched, read, costs[point.strategy.base]);
    bases.insert(point.strategy.base);
    EXPECT_EQ(searched.stalls.host_sync, read.stalls.host_sync);
    EXPECT_EQ(searched.workload.training.cross_entropy, read.workload.training.cross_entropy);
    EXPECT_EQ(searched.workload.runtime.barriers.step_end, read.workload.runtime.barriers.step_end);
    EXPECT_EQ(searched.workload.communication.gather_overlap,
              read.workload.communication.gather_overlap);
    EXPECT_EQ(searched.workload.communication.tensor_chunks,
              read.workload.communication.tensor_chunks);
    EXPECT_EQ(read.workload.runtime.update, 0U) << "the search does not know it";
  }
  EXPECT_GT(bases.size(), 4U);
  EXPECT_GT(waiting, 0);
  double counted = found.counts.estimated + found.counts.bounded;
  for (const auto& [reason, points] : found.counts.infeasible) counted += points;
  EXPECT_EQ(counted, space.points());
}

// A size that the file leaves to the framework is that of the other sizes, in the search as in run.
TEST(PlanFrameworks, SizesFollowFromRulesOfEachPoint) {
  const test::TemporaryFiles files;
  const std::string scenario = files.write("scenario.yaml", R"(
stepcast: 1
name: left-to-torchtitan
framework: torchtitan-0.1
cluster: {extends: clusters/dgx-h100.yaml, devices: 32}
model: {extends: models/llama2-7b.yaml, layers: 8}
training: {sequence: 2048, global_batch: 64, micro_batch: 1}
schedule: {pipeline: 1f1b}
)");
  const std::string plan = files.write(
      "plan.yaml",
      "extends: scenario.yaml\nparallel: {tp: [1, 2], pp: [1, 2, 4]}\nplan: {top: 20}\n");
  const PlanSpace space = read_plan(plan, {}, {}, test::presets());
  auto costs = test::costs_of(space);
  const Enumeration found = enumerate(space, costs);
  EXPECT_EQ(found.counts.points, 6);
  ASSERT_EQ(found.kept.size(), 6U);
  for (const PlanPoint& point : found.kept) {
    EXPECT_EQ(point.strategy.zero, point.strategy.pp > 1 ? 2 : 3);
    EXPECT_EQ(point.strategy.sequence_parallel, point.strategy.tp > 1);
    const Scenario run = prepare_scenario(scenario,
                                          {"parallel.tp=" + std::to_string(point.strategy.tp),
                                           "parallel.pp=" + std::to_string(point.strategy.pp)},
                                          test::presets());
    EXPECT_EQ(run.workload.plan.zero, point.strategy.zero);
    EXPECT_EQ(run.workload.plan.sequence_parallel, point.strategy.sequence_parallel);
  }
}

TEST(PlanFrameworks, NoneIsTheSpaceOfBefore) {
  const FramedPlan file;
  const PlanSpace space = file.read({"framework=none"});
  EXPECT_EQ(space.bases.size(), 2U);
  EXPECT_TRUE(space.classes.empty());
  EXPECT_TRUE(space.neutral.empty());
}

}  // namespace
}  // namespace stepcast
