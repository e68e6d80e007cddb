#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "sim/in_child.hpp"
#include "sim/plan/enumerate.hpp"
#include "small_plans.hpp"
#include "stepcast/base/quantile.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/step_alone.hpp"
#include "stepcast/sim/plan/plan_report.hpp"

namespace stepcast {
namespace {

const char* const dense = R"(
stepcast: 1
name: small-plan
framework: none
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 16}
model: {extends: models/llama2-7b.yaml, layers: 8}
parallel: {tp: [1, 2, 4], pp: [1, 2, 4], vpp: [1, 2], cp: [1, 2], zero: [0, 1, 2], sequence_parallel: [false, true]}
training: {sequence: 2048, global_batch: 32, micro_batch: [1, 2], recompute: [none, full]}
schedule: {pipeline: [1f1b, gpipe, interleaved_1f1b]}
runtime: {dispatch: graph_sink}
plan: {top: 4, shortlist: 4000, simulations: 500}
)";

const char* const experts = R"(
stepcast: 1
name: small-moe-plan
framework: none
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 32}
model: {extends: models/mixtral-8x7b.yaml, layers: 8}
parallel: {tp: [1, 2, 8], pp: [2, 4], vpp: [1, 2], ep: [1, 2, 8], etp: [1, 2], zero: [1, 3], sequence_parallel: [true]}
training: {sequence: 4096, global_batch: 64, micro_batch: [1, 2], recompute: [none, selective, full]}
schedule: {pipeline: [1f1b, interleaved_1f1b]}
runtime: {dispatch: eager}
plan: {top: 4, shortlist: 4000, simulations: 500}
)";

using test::all_strategies, test::costs_of, test::PlanFile, test::presets, test::reader_accepts;

/// Simulated step time and whether the point fits.
std::vector<double> simulated_and_fits(const PlanSpace& space, const Strategy& s) {
  return testing::in_child([&]() -> std::vector<double> {
    const Forecast f = forecast(scenario_of(space, s));
    return {f.step_time.value(), f.fits_memory() ? 1.0 : 0.0};
  });
}

TEST(Plan, EveryPointIsCountedOnce) {
  const PlanFile file(experts);
  const PlanSpace space = file.read();
  auto costs = costs_of(space);
  const Enumeration all = enumerate(space, costs);
  double counted = all.counts.bounded + all.counts.estimated;
  for (const auto& [reason, points] : all.counts.infeasible) counted += points;
  EXPECT_EQ(counted, space.points());
  EXPECT_EQ(counted, static_cast<double>(all_strategies(space).size()));
}

TEST(Plan, ArithmeticAndReaderAgreeOnWhatIsFeasible) {
  for (const char* text : {dense, experts}) {
    const PlanFile file(text);
    const PlanSpace space = file.read();
    auto costs = costs_of(space);
    const Enumeration kept = enumerate(space, costs);
    for (const PlanPoint& p : kept.kept)
      EXPECT_TRUE(reader_accepts(space, p.strategy)) << strategy_text(space, p.strategy);
  }
}

TEST(Plan, BoundsAreNeverAboveTheSimulationAndEstimatesRankAlike) {
  for (const char* text : {dense, experts, test::queued_plan}) {
    const PlanFile file(text);
    const PlanSpace space = file.read();
    auto costs = costs_of(space);
    const Enumeration all = enumerate(space, costs);
    ASSERT_GT(all.kept.size(), 200U);
    std::vector<double> estimates, times;
    for (std::size_t i = 0; i < all.kept.size(); i += all.kept.size() / 120) {
      const PlanPoint& p = all.kept[i];
      const auto result = simulated_and_fits(space, p.strategy);
      ASSERT_EQ(result.size(), 2U);
      const double alone =
          step_alone(scenario_of(space, p.strategy), costs[p.strategy.base].times).value();
      EXPECT_LE(p.bound.value(), result[0] * (1 + 1e-9)) << strategy_text(space, p.strategy);
      EXPECT_LE(alone, result[0] * (1 + 1e-9)) << strategy_text(space, p.strategy);
      EXPECT_LE(p.bound.value(), alone * (1 + 1e-9)) << strategy_text(space, p.strategy);
      EXPECT_EQ(result[1], 1) << strategy_text(space, p.strategy);
      estimates.push_back(p.estimate.value());
      times.push_back(result[0]);
    }
    EXPECT_GE(rank_correlation(estimates, times), 0.95);
  }
}

TEST(Plan, MemoryIsThatOfTheForecast) {
  const PlanFile file(dense);
  for (const char* update : {"in_place", "flat"}) {
    const PlanSpace space = file.read({std::string("training.update_memory=") + update});
    auto costs = costs_of(space);
    const Enumeration all = enumerate(space, costs);
    for (std::size_t i = 0; i < all.kept.size(); i += all.kept.size() / 30) {
      const PlanPoint& p = all.kept[i];
      const auto peak = testing::in_child([&]() -> std::vector<double> {
        double most = 0;
        const Forecast f = forecast(scenario_of(space, p.strategy));
        for (const StageForecast& stage : f.stages)
          most = std::max(most, stage.memory->peak().value());
        return {most};
      });
      ASSERT_EQ(peak.size(), 1U);
      EXPECT_NEAR(p.peak.value(), peak[0], 1e-6 * peak[0]) << strategy_text(space, p.strategy);
    }
  }
}

TEST(Plan, CountsNoStatesOfExpertsThatLiveOnTheHost) {
  const PlanFile file(experts);
  std::vector<std::string> settings = {"parallel.tp=2",
                                       "parallel.pp=2",
                                       "parallel.vpp=1",
                                       "parallel.ep=2",
                                       "parallel.etp=1",
                                       "parallel.zero=1",
                                       "training.recompute=full",
                                       "training.micro_batch=1",
                                       "schedule.pipeline=1f1b",
                                       "training.offload.experts=true",
                                       "training.offload.active_experts=0.25"};
  const PlanSpace roomy = file.read(settings);
  auto costs = costs_of(roomy);
  const Enumeration all = enumerate(roomy, costs);
  ASSERT_EQ(all.kept.size(), 1U);
  const Scenario& base = roomy.bases.front().scenario;
  const double needed = all.kept.front().peak.value() + base.cluster.device.memory_reserve.value();
  settings.push_back("cluster.device.memory.capacity=" +
                     std::to_string(static_cast<std::int64_t>(std::ceil(needed))) + "B");
  const PlanSpace tight = file.read(settings);
  auto tight_costs = costs_of(tight);
  EXPECT_EQ(enumerate(tight, tight_costs).kept.size(), 1U);
}

TEST(Plan, SaysWhatStandsInTheWayWhenNothingIsFeasible) {
  const PlanFile file(dense);
  const PlanSpace small = file.read({"cluster.device.memory.capacity=8GiB"});
  const PlanResult none = search_plan(small, presets(), 1);
  EXPECT_TRUE(none.best.empty());
  ASSERT_TRUE(none.nearest);
  EXPECT_NE(plan_failure(small, none).find("memory"), std::string::npos);
  EXPECT_NE(plan_failure(small, none).find("nearest to fitting: "), std::string::npos);
  const PlanSpace odd = file.read({"parallel.tp=3"});
  const PlanResult nothing = search_plan(odd, presets(), 1);
  EXPECT_EQ(nothing.tightest, "tp*cp*pp does not divide the devices");
  ASSERT_TRUE(nothing.relaxed);
  EXPECT_EQ(nothing.relaxed->change, "parallel.tp 4 instead of 3");
  EXPECT_EQ(nothing.relaxed->settings, ", --set 'parallel.tp=4'");
}

// A list of one value is no other question than the value beside one that is worse.
TEST(Plan, PlacesLayersWhereNoBalancedPointFits) {
  const PlanFile file(R"(
stepcast: 1
name: narrow
framework: none
cluster: {extends: clusters/dgx-h100.yaml, devices: 8, device: {memory: {capacity: 40GiB}}}
model: {extends: models/llama2-7b.yaml, layers: 16}
parallel: {tp: [1]}
training: {sequence: 8192, global_batch: 8, micro_batch: 1}
)");
  const PlanSpace one = file.read(), two = file.read({"parallel.tp=[1, 8]"});
  const PlanResult alone = search_plan(one, presets(), 1), beside = search_plan(two, presets(), 1);
  EXPECT_TRUE(alone.best.empty());
  ASSERT_FALSE(alone.placed.empty());
  ASSERT_FALSE(beside.placed.empty());
  EXPECT_EQ(best_point(one, alone).simulated, best_point(two, beside).simulated);
  EXPECT_NE(plan_table(one, alone).find("No point with even layers fits"), std::string::npos);
}

/// The nearest feasible point of a space without any.
PlanRelaxation nearest(const std::vector<std::string>& overrides) {
  const PlanFile file(dense);
  const PlanSpace space = file.read(overrides);
  const PlanResult none = search_plan(space, presets(), 1);
  EXPECT_TRUE(none.best.empty());
  EXPECT_TRUE(none.relaxed);
  EXPECT_NE(plan_failure(space, none).find("nearest feasible point: "), std::string::npos);
  return none.relaxed.value_or(PlanRelaxation{});
}

TEST(Plan, NamesTheNearestFeasiblePoint) {
  EXPECT_EQ(nearest({"plan.constraints.most_parameters=1e9"}).tightest,
            "plan.constraints.most_parameters");
  EXPECT_EQ(nearest({"plan.constraints.least_micro_batches=33"}).tightest,
            "plan.constraints.least_micro_batches");
  EXPECT_EQ(nearest({"parallel.pp=16"}).change, "parallel.pp 8 instead of 16");
  EXPECT_EQ(nearest({"parallel.vpp=3", "schedule.pipeline=1f1b"}).change,
            "parallel.vpp 1 instead of 3");
  EXPECT_EQ(nearest({"training.micro_batch=5"}).change, "training.micro_batch 4 instead of 5");
  EXPECT_EQ(nearest({"parallel.tp=3", "training.micro_batch=5"}).keys, 2U);
  const PlanRelaxation schedule =
      nearest({"schedule.pipeline=zb_v", "parallel.pp=1", "parallel.vpp=1"});
  EXPECT_EQ(schedule.keys, 1U);
}

TEST(Plan, ContradictoryConstraintsAreAnErrorAtTheirPlace) {
  const PlanFile file(dense);
  try {
    file.read({"plan.constraints={least_parameters: 2e9, most_parameters: 1e9}"});
    FAIL() << "the constraints contradict each other";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("plan.constraints.most_parameters: is 1e+09, less"),
              std::string::npos)
        << error.what();
  }
}

TEST(Plan, ReportsAllWrongKeysAtTheirPlaces) {
  const PlanFile file(R"(
stepcast: 1
name: wrong
framework: none
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 16}
model: {extends: models/llama2-7b.yaml}
parallel: {tp: [], pp: [1, 1]}
training: {sequence: 2048, global_batch: 32, recompute: [none, [full]]}
plan: {objectiv: step_time}
)");
  try {
    file.read();
    FAIL() << "the file is wrong";
  } catch (const InputError& error) {
    const std::string what = error.what();
    EXPECT_EQ(error.diagnostics().size(), 4U) << what;
    EXPECT_NE(what.find("plan.yaml:7:16: parallel.tp: is an empty list"), std::string::npos)
        << what;
    EXPECT_NE(what.find("parallel.pp: holds 1 twice"), std::string::npos) << what;
    EXPECT_NE(what.find("training.recompute: holds a list in a list"), std::string::npos) << what;
    EXPECT_NE(what.find("did you mean objective?"), std::string::npos) << what;
  }
}

TEST(Plan, ListedValuesPassTheStrictReader) {
  const PlanFile file(dense);
  EXPECT_THROW(file.read({"parallel.tp=[2, 0]"}), InputError);
  EXPECT_THROW(file.read({"training.recompute=[none, some]"}), InputError);
  EXPECT_THROW(file.read({"plan.search={model.hiden: [1, 2]}"}), InputError);
  EXPECT_EQ(file.read({"plan.search={cluster.network.nic.latency: [1us, 2us]}"}).bases.size(), 4U);
}

TEST(Plan, TheWinnersFileIsTheWinner) {
  const PlanFile file(dense);
  const PlanSpace space =
      file.read({"parallel.cp=1", "communication.algorithm.all_to_all=pairwise"});
  const PlanResult plan = search_plan(space, presets(), 1);
  ASSERT_FALSE(plan.best.empty());
  const PlanPoint& winner = plan.best.front();
  const std::string directory = std::filesystem::path(file.path()).parent_path().string();
  const std::string beside = directory + "/winner.yaml";
  const std::string text = plan_scenario(
      space, winner, directory, idle_algorithms(read_point(space, winner, presets())), presets());
  EXPECT_EQ(text.find("\nextends"), std::string::npos) << "it stands alone:\n" << text;
  std::ofstream(beside) << text;
  const auto time = testing::in_child([&]() -> std::vector<double> {
    return {forecast(prepare_scenario(beside, {}, presets())).step_time.value()};
  });
  ASSERT_EQ(time.size(), 1U);
  EXPECT_EQ(time[0], winner.simulated->value());
}

bool covers(const std::vector<int>& more, const std::vector<int>& less) {
  for (std::size_t c = 0; c < more.size(); ++c)
    if (more[c] < less[c]) return false;
  return true;
}

/// The moments of fewer micro-batches are those of all.
void expect_moments(const PipelineSchedule& schedule, const PipelineShape& shape,
                    MomentTable& table) {
  const HeldMoments& told = table.of(schedule, shape);
  const std::vector<StageOrder> orders = stage_orders(schedule, shape);
  for (std::size_t s = 0; s < orders.size(); ++s) {
    const auto all = in_flight_moments(orders[s], shape.chunks);
    for (const auto& moment : all)
      EXPECT_TRUE(std::ranges::any_of(told[s], [&](const auto& t) { return covers(t, moment); }))
          << schedule.name << " p" << shape.stages << " m" << shape.micro_batches;
    for (const auto& moment : told[s])
      EXPECT_EQ(std::ranges::count(all, moment), 1)
          << schedule.name << " p" << shape.stages << " m" << shape.micro_batches;
  }
}

TEST(Plan, FewMicroBatchesTellWhatAllHold) {
  MomentTable table;
  std::size_t shapes = 0;
  for (const PipelineSchedule& schedule : pipeline_schedules())
    for (const std::int64_t p : {1, 2, 3, 4, 6, 8})
      for (const std::int64_t v : {1, 2, 3})
        for (const std::int64_t slices : {1, 2})
          for (const std::int64_t m : {4 * p, 5 * p + 1, 7 * p - 1, 9 * p, 11 * p + 2}) {
            PipelineShape shape{p, v, m, p, slices};
            shape.placement = schedule.placement;
            const auto inside = [](std::int64_t n, const CountRange& r) {
              return n >= r.low && n <= r.high;
            };
            if (!inside(v, schedule.chunks) || !inside(slices, schedule.slices)) continue;
            if (!schedule.rule(shape).empty()) continue;
            ++shapes;
            expect_moments(schedule, shape, table);
          }
  EXPECT_GT(shapes, 300U);
}

TEST(Plan, SearchTriesEveryScheduleAndWhatTheHostMayHold) {
  const PlanFile file(dense);
  const PlanSpace space = file.read({"schedule.pipeline=search", "training.recompute=none"});
  EXPECT_EQ(space.dimensions.schedules.size(), pipeline_schedules().size() - 1);  // seqvpp: slices
  const PlanSpace sliced =
      file.read({"schedule.pipeline=search", "schedule.slices=[1, 2]", "training.recompute=none"});
  EXPECT_EQ(sliced.dimensions.schedules.size(), pipeline_schedules().size());
  EXPECT_EQ(sliced.bases.size(), 2U);
  EXPECT_THROW(file.read({"schedule.slices=balanced(2)"}), InputError);
  EXPECT_THROW(file.read({"schedule.post_validation=true"}), InputError);
  EXPECT_THROW(file.read({"schedule.pipeline=zb_h2", "schedule.put_off=3"}), InputError);
  const PlanSpace offloaded =
      file.read({"training.offload.activations=search", "training.offload.optimizer=search",
                 "training.recompute=none"});
  EXPECT_EQ(offloaded.bases.size(), 6U);
}

TEST(Plan, TheFrontierIsSimulatedAndEveryOtherPointLosesToIt) {
  const PlanFile file(dense);
  const PlanSpace space = file.read({"parallel.cp=1", "parallel.sequence_parallel=true"});
  const PlanResult plan = search_plan(space, presets(), 1);
  const std::vector<FrontierEntry> entries = frontier(plan);
  std::size_t on = 0;
  for (const FrontierEntry& entry : entries) {
    on += entry.dominator == nullptr ? 1 : 0;
    if (entry.dominator == nullptr) {
      EXPECT_TRUE(entry.point->simulated) << strategy_text(space, entry.point->strategy);
      continue;
    }
    EXPECT_TRUE(entry.dominator->simulated);
    EXPECT_LE(*entry.dominator->simulated, entry.time);
    EXPECT_LE(entry.dominator->peak, entry.point->peak);
    EXPECT_NE(beaten_by(entry).find("% slower"), std::string::npos);
  }
  EXPECT_GT(on, 2U);
  EXPECT_LT(on, entries.size() / 4);
}

TEST(Plan, TheBaselineIsComparedPartByPart) {
  const PlanFile file(dense);
  const std::string directory = std::filesystem::path(file.path()).parent_path().string();
  std::ofstream(directory + "/known.yaml") << R"(
stepcast: 1
name: known
framework: none
cluster: {extends: clusters/atlas-800t-a2.yaml, devices: 16}
model: {extends: models/llama2-7b.yaml, layers: 8}
parallel: {tp: 4, pp: 4, sequence_parallel: true}
training: {sequence: 2048, global_batch: 64, recompute: full}
schedule: {pipeline: gpipe}
runtime: {dispatch: graph_sink}
)";
  const PlanSpace space =
      file.read({"parallel.cp=1", "plan.baseline=" + directory + "/known.yaml"});
  const PlanResult plan = search_plan(space, presets(), 1);
  ASSERT_TRUE(plan.comparison);
  const PlanComparison& c = *plan.comparison;
  for (const PlanRun* run : {&c.baseline, &c.winner}) {
    double sum = 0;
    for (const double part : run->parts) sum += part;
    EXPECT_NEAR(sum, run->step_time.value(), 1e-6 * sum);
    EXPECT_GT(run->parts.back(), 0);
  }
  EXPECT_EQ(c.winner.step_time.value(), best_point(space, plan).simulated->value());
  EXPECT_EQ(c.baseline.tokens, 2 * c.winner.tokens);
  EXPECT_NEAR(1 + c.difference(), 2 * (c.winner.step_time / c.baseline.step_time), 1e-6);
  EXPECT_LT(c.difference(), 0);
  EXPECT_NE(plan_table(space, plan).find("faster by "), std::string::npos);
  EXPECT_THROW(file.read({"plan.baseline=nowhere.yaml"}), InputError);
}

// Placements included: their solver is limited by work.
TEST(Plan, AnswersDoNotDependOnTheNumberOfWorkers) {
  const PlanFile file(dense);
  const PlanSpace space =
      file.read({"parallel.cp=1", "parallel.sequence_parallel=true", "plan.placements=2"});
  const PlanResult one = search_plan(space, presets(), 1), three = search_plan(space, presets(), 3);
  EXPECT_FALSE(one.placed.empty());
  EXPECT_EQ(plan_json(space, one), plan_json(space, three));
  EXPECT_EQ(plan_table(space, one), plan_table(space, three));
}

// Each point is read back as an import would; what its framework lacks is named.
TEST(Plan, LaunchFilesSayThePointOrNameTheKeys) {
  const PlanFile file(dense);
  const PlanSpace space = file.read({"schedule.pipeline=[zb_h1, 1f1b]"});
  const auto files = [&](std::uint32_t schedule) {
    PlanPoint point;
    point.strategy.schedule = schedule, point.strategy.pp = 2;
    return launch_files(read_point(space, point, default_search_path({})));
  };
  EXPECT_TRUE(files(0).starts_with("No launch file for ")) << files(0);
  EXPECT_NE(files(0).find("  schedule.pipeline (zb_h1"), std::string::npos) << files(0);
  EXPECT_EQ(files(0).find("  workload"), std::string::npos) << files(0);
  EXPECT_EQ(files(1).find("  schedule.pipeline"), std::string::npos) << files(1);
}

}  // namespace
}  // namespace stepcast
