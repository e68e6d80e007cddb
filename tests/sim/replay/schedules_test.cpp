#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "temporary_files.hpp"

// Schedules of a scenario, from the file to the forecast of a model.
namespace stepcast {
namespace {

using Overrides = std::vector<std::string>;

Scenario scenario_with(const Overrides& overrides) {
  const test::TemporaryFiles files;
  return prepare_scenario(files.write("s.yaml", test::small_scenario), overrides, {});
}

/// Of the small scenario on two stages with eight micro-batches.
Overrides schedule_of(const PipelineSchedule& schedule) {
  return {"schedule.pipeline=" + std::string(schedule.name),
          "parallel.vpp=" + std::to_string(schedule.chunks.low),
          "schedule.slices=" + std::to_string(std::max<std::int64_t>(
                                   schedule.slices.low, schedule.slices.high > 1 ? 2 : 1))};
}

/// Step time, computing of the mean rank, the difference of its parts to the step time, the largest
/// peak of memory, FLOPs executed, and exposed exchange of tokens of the mean rank.
std::vector<double> numbers_of(const Overrides& overrides) {
  const Scenario scenario = scenario_with(overrides);
  return testing::in_child([&] {
    const Forecast f = forecast(scenario);
    double peak = 0;
    for (const StageForecast& stage : f.stages) peak = std::max(peak, stage.memory->peak().value());
    return std::vector<double>{
        f.step_time.value(),
        f.mean.computing.value(),
        f.mean.total().value() - f.step_time.value(),
        peak,
        *f.executed_flops,
        f.mean.exposed[static_cast<std::size_t>(ExposedKind::expert)].value()};
  });
}

TEST(Schedules, EveryOneForecastsAModel) {
  for (const PipelineSchedule& schedule : pipeline_schedules()) {
    const auto numbers = numbers_of(schedule_of(schedule));
    ASSERT_EQ(numbers.size(), 6U) << schedule.name;
    EXPECT_GT(numbers[0], 0) << schedule.name;
    EXPECT_LT(numbers[1], numbers[0]) << schedule.name;
    EXPECT_NEAR(numbers[2], 0, 1e-9 * numbers[0]) << schedule.name;
  }
}

// Splitting the backward moves work, it adds none.
TEST(Schedules, ASplitBackwardComputesAsMuch) {
  const auto whole = numbers_of({"schedule.pipeline=1f1b", "parallel.vpp=1"});
  for (const char* split : {"zb_h1", "zb_h2"}) {
    const auto numbers = numbers_of({"schedule.pipeline=" + std::string(split), "parallel.vpp=1"});
    EXPECT_NEAR(numbers[1], whole[1], 1e-9 * whole[1]) << split;
    EXPECT_NEAR(numbers[4], whole[4], 1e-9 * whole[4]) << split;
  }
}

// Two directions: every stage holds the layers of both, and each does half of the micro-batches.
TEST(Schedules, TwoDirectionsDoTheWorkOnce) {
  const auto one = numbers_of({"schedule.pipeline=dualpipe_v"});
  const auto both = numbers_of({"schedule.pipeline=dualpipe"});
  EXPECT_GT(both[3], 1.2 * one[3]);
  EXPECT_NEAR(both[4], one[4], 0.01 * one[4]);  // but for the optimizer's second copy
}

// Of two inputs and two outputs at once, so that the bubble may grow.
TEST(Schedules, PairsHideTheExchangeOfTokens) {
  const Overrides plain{"schedule.warmup=extra(1)"};
  const auto alone = numbers_of(plain);
  const auto paired = numbers_of({"schedule.warmup=extra(1)", "moe.overlap=fb_pair"});
  EXPECT_LT(paired[5], 0.6 * alone[5]);  // the step also pays for the longer warm-up
  EXPECT_NEAR(paired[1], alone[1], 1e-9 * alone[1]);
}

TEST(Schedules, PairsNeedASchedule) {
  const auto refused = [](const Overrides& overrides) {
    try {
      scenario_with(overrides);
      return false;
    } catch (const InputError& error) {
      return std::string(error.what()).find("moe.overlap") != std::string::npos;
    }
  };
  EXPECT_TRUE(refused({"moe.overlap=fb_pair"}));
  EXPECT_TRUE(refused({"moe.overlap=fb_pair", "schedule.pipeline=1f1b", "parallel.vpp=1"}));
  EXPECT_TRUE(refused({"moe.overlap=fb_pair", "schedule.warmup=extra(1)", "parallel.ep=1"}));
  EXPECT_FALSE(
      refused({"moe.overlap=fb_pair", "schedule.warmup=extra(1)", "training.recompute=full"}));
  EXPECT_FALSE(refused({"moe.overlap=fb_pair", "schedule.pipeline=dualpipe_v"}));
}

TEST(Schedules, AListOfEqualSlicesIsTheirNumber) {
  for (const char* name : {"terapipe", "seqpipe"}) {
    const Overrides plan{"schedule.pipeline=" + std::string(name), "parallel.vpp=1"};
    const auto with = [&](const std::string& slices) {
      Overrides overrides = plan;
      overrides.push_back("schedule.slices=" + slices);
      return numbers_of(overrides);
    };
    EXPECT_EQ(with("[512, 512, 512, 512]"), with("4")) << name;
    EXPECT_NE(with("[1024, 512, 256, 256]"), with("4")) << name;
  }
}

// Attention is a large part of the work of long sequences: later slices are the slow ones.
TEST(Schedules, BalancedSlicesAreNeverSlowerThanEqualOnesNightly) {
  for (const char* sequence : {"2048", "32768", "131072"}) {
    for (const char* slices : {"2", "4", "8"}) {
      const Overrides plan{"schedule.pipeline=terapipe", "parallel.vpp=1", "parallel.pp=4",
                           "training.global_batch=8", "training.sequence=" + std::string(sequence)};
      const auto step = [&](const std::string& cut) {
        Overrides overrides = plan;
        overrides.push_back("schedule.slices=" + cut);
        return numbers_of(overrides).at(0);
      };
      const double balanced = step("balanced(" + std::string(slices) + ")");
      EXPECT_LE(balanced, step(slices)) << sequence << " in " << slices;
    }
  }
}

TEST(Schedules, BalancedSlicesShrinkAlongTheSequence) {
  const Scenario scenario =
      scenario_with({"schedule.pipeline=terapipe", "parallel.vpp=1", "training.global_batch=4",
                     "training.sequence=131072", "schedule.slices=balanced(4)"});
  const std::vector<std::int64_t>& tokens = scenario.workload.plan.slice_tokens;
  ASSERT_EQ(tokens.size(), 4U);
  EXPECT_EQ(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}), 131072);
  EXPECT_TRUE(std::ranges::is_sorted(tokens, std::greater{}));
  EXPECT_GT(tokens.front(), tokens.back());
}

TEST(Schedules, DocumentsNeedWholeMicroBatches) {
  const auto with_documents = [](const std::string& pipeline) {
    try {
      scenario_with(
          {"schedule.pipeline=" + pipeline,
           "schedule.data={documents: {distribution: fixed, length: 512}, mask: document}"});
      return std::string{};
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(with_documents("interleaved_1f1b"), "");
  EXPECT_EQ(with_documents("zb_v"), "");
  EXPECT_NE(with_documents("dualpipe").find("are not known in pairs"), std::string::npos);
}

/// A table that says what a schedule says.
std::string table_text(const std::vector<StageOrder>& orders, const PipelineShape& shape) {
  std::string text = "stepcast: 1\nmicro_batches: " + std::to_string(shape.micro_batches) +
                     "\nchunks: " + std::to_string(shape.chunks) + "\norders:\n";
  for (const StageOrder& order : orders) text += "  - \"" + to_string(order, shape) + "\"\n";
  return text;
}

TEST(ScheduleTables, AreTheSchedulesThatTheyWriteOut) {
  const test::TemporaryFiles files;
  const std::string path = files.write("s.yaml", test::small_scenario);
  const Scenario known = prepare_scenario(path, {}, {});
  files.write("own.yaml", table_text(known.orders(), known.pipeline_shape()));
  const Scenario own =
      prepare_scenario(path, {"schedule.pipeline={table: " + files.path("own.yaml") + "}"}, {});
  EXPECT_EQ(own.orders(), known.orders());
  EXPECT_NE(own.sha256, known.sha256);
  const auto time = [](const Scenario& s) {
    return testing::in_child([&] { return std::vector{forecast(s).step_time.value()}; });
  };
  EXPECT_EQ(time(own), time(known));
}

/// What reading the small scenario with this table says.
std::string wrong_table(std::string_view table, const std::string& more = "") {
  const test::TemporaryFiles files;
  files.write("own.yaml", table);
  std::string text{test::small_scenario};
  const std::string known = "pipeline: interleaved_1f1b";
  text.replace(text.find(known), known.size(), "pipeline: {table: own.yaml}" + more);
  try {
    prepare_scenario(files.write("s.yaml", text), {}, {});
  } catch (const InputError& error) {
    std::string what = error.what();
    const std::string directory = files.path("");
    for (std::size_t at = 0; (at = what.find(directory)) != std::string::npos;)
      what.erase(at, directory.size());
    return what;
  }
  return "nothing is wrong";
}

TEST(ScheduleTables, AreCheckedBeforeTheyRun) {
  EXPECT_EQ(wrong_table("stepcast: 1\nmicro_batches: 1\norders:\n  - F0 B0\n  - F0 C0\n"),
            "own.yaml:5:5: orders.1: holds 'C0', allowed: units such as F0, B3.1, b3/0, w2 and "
            "pairs {F3|B1}");
  EXPECT_EQ(wrong_table("stepcast: 1\nmicro_batches: 1\norders:\n  - F0\n  - F0 B0\n"),
            "own.yaml:4:3: orders: stage 0: B0 is missing");
  EXPECT_EQ(wrong_table("stepcast: 1\nmicro_batches: 2\norders: [F0 B0 F1 B1, F1 B1 F0 B0]\n"),
            "own.yaml:3:9: orders: the stages wait for each other: stage 0 at B0 needs B0 of stage "
            "1, stage 1 at F1 needs F1 of stage 0");
  EXPECT_EQ(
      wrong_table("stepcast: 1\nmicro_batches: 1\norders: [F0 B0]\n"),
      "s.yaml:38:7: parallel.pp: gives 2 stages, own.yaml has orders for 1, allowed: 1, or another "
      "schedule, such as --set schedule.pipeline=1f1b\n"
      "s.yaml:39:8: parallel.vpp: gives 2 chunks per stage, own.yaml has orders for 1, allowed: 1, "
      "or another schedule, such as --set schedule.pipeline=1f1b\n"
      "s.yaml:46:17: training.global_batch: gives 8 micro-batches, own.yaml has orders for 1, "
      "allowed: 4, or another schedule, such as --set schedule.pipeline=1f1b");
}

}  // namespace
}  // namespace stepcast
