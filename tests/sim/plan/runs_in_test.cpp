#include <gtest/gtest.h>

#include <algorithm>

#include "small_plans.hpp"
#include "stepcast/sim/import/export.hpp"
#include "stepcast/sim/plan/plan_report.hpp"

// plan.runs_in: what a launch file cannot say is left out, and nothing else is.
namespace stepcast {
namespace {

constexpr const char* launched_plan = R"(
stepcast: 1
name: launched-plan
framework: megatron-core-0.16
cluster: {extends: clusters/dgx-h100.yaml, devices: 16}
model: {extends: models/llama2-7b.yaml, layers: 12}
parallel: {tp: [1, 2], pp: [1, 2], vpp: [1, 2], zero: [1, 3], sequence_parallel: [false]}
training: {sequence: 2048, global_batch: 64, micro_batch: [1], recompute: [none]}
schedule: {pipeline: [1f1b, zb_h1]}
plan: {top: 2, simulations: 8, placements: 1}
)";

std::vector<Strategy> kept_by(const std::vector<std::string>& overrides) {
  const test::PlanFile file(launched_plan);
  const PlanSpace space = file.read(overrides);
  auto costs = test::costs_of(space);
  std::vector<Strategy> all;
  for (const PlanPoint& point : enumerate(space, costs).kept) all.push_back(point.strategy);
  return all;
}

TEST(PlanRunsIn, LeavesOutWhatTheLaunchFileCannotSay) {
  const test::PlanFile file(launched_plan);
  const PlanSpace space = file.read();
  const std::vector<Strategy> everywhere = kept_by({});
  const std::vector<Strategy> here = kept_by({"plan.runs_in=megatron"});
  std::size_t taken = 0;
  for (const Strategy& s : everywhere) {
    PlanPoint point;
    point.strategy = s;
    const bool says =
        export_launch(read_point(space, point, test::presets()), "megatron").lacking.empty();
    EXPECT_EQ(says, std::ranges::count(here, s) == 1) << strategy_text(space, s);
    taken += says ? 1 : 0;
  }
  EXPECT_EQ(taken, here.size());
  EXPECT_GT(taken, 0U);
  EXPECT_LT(taken, everywhere.size());
}

TEST(PlanRunsIn, TheWinnerHasALaunchFile) {
  const test::PlanFile file(launched_plan);
  const PlanSpace space = file.read({"plan.runs_in=megatron"});
  const PlanResult result = search_plan(space, test::presets(), 1);
  ASSERT_FALSE(result.best.empty());
  for (const PlanPoint& point : result.best)
    EXPECT_EQ(export_launch(read_point(space, point, test::presets()), "megatron").lacking,
              std::vector<std::string>{});
}

// Without slices SeqPipe is interleaved 1F1B, which alone Megatron-LM has.
TEST(PlanRunsIn, AmongEqualsTheFirstHasALaunchFile) {
  const test::PlanFile file(launched_plan);
  const PlanSpace space =
      file.read({"schedule.pipeline=[seqpipe, interleaved_1f1b]", "parallel.pp=[2]",
                 "parallel.vpp=[2]", "parallel.tp=[2]", "parallel.zero=[1]", "plan.placements=2"});
  const PlanResult result = search_plan(space, test::presets(), 1);
  ASSERT_EQ(result.best.size(), 2U);
  EXPECT_EQ(*result.best[0].simulated, *result.best[1].simulated);
  EXPECT_EQ(space.dimensions.schedules[result.best.front().strategy.schedule], "interleaved_1f1b");
  EXPECT_TRUE(ties({1.0}, {1.0004}) && !ties({1.0}, {1.001}) && !ties({1.0, 1}, {1.0, 2}));
}

TEST(PlanTable, HasThePointOfItsHeadAndOneSentenceOfWhatIsProven) {
  const test::PlanFile file(launched_plan);
  const PlanSpace space = file.read({"parallel.pp=[2]", "schedule.pipeline=[1f1b]"});
  PlanResult result = search_plan(space, test::presets(), 1);
  ASSERT_FALSE(result.best.empty());
  result.proven = true;
  result.placed = {result.best.front()};
  result.placed.front().placement = PlanPlacement{{{7, 5}}, {{1, 0}}, "", "", 0.03};
  result.placed.front().simulated = 0.9 * *result.placed.front().simulated;
  const std::string table = plan_table(space, result);
  EXPECT_NE(table.find("   1 "), std::string::npos) << table;
  const std::string row = table.substr(table.find("   1 "));
  EXPECT_NE(row.substr(0, row.find('\n')).find("recompute=1/12"), std::string::npos) << table;
  EXPECT_NE(row.find(" - "), std::string::npos) << "bounds are those of even layers\n" << table;
  EXPECT_NE(table.find("No point with even layers is better, by its bound; an uneven split of "
                       "layers may be up to 3.0% faster."),
            std::string::npos)
      << table;
}

TEST(PlanRunsIn, IsNamedWhereNothingElseStandsInTheWay) {
  const test::PlanFile file(launched_plan);
  const PlanSpace space = file.read({"plan.runs_in=megatron", "schedule.pipeline=zb_h1"});
  const PlanResult none = search_plan(space, test::presets(), 1);
  EXPECT_TRUE(none.best.empty());
  ASSERT_TRUE(none.relaxed);
  EXPECT_EQ(none.relaxed->tightest, "plan.runs_in");
  EXPECT_EQ(none.tightest,
            "plan.runs_in: megatron has no way to say schedule.p2p, schedule.pipeline");
}

TEST(PlanRunsIn, AnUnknownFrameworkIsRefusedWithTheNearest) {
  const test::PlanFile file(launched_plan);
  try {
    (void)file.read({"plan.runs_in=megatrom"});
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("plan.runs_in: is 'megatrom'"), std::string::npos) << text;
    EXPECT_NE(text.find("megatron"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace stepcast
