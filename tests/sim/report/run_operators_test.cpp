#include "stepcast/sim/report/run_operators.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "sim/in_child.hpp"
#include "sim/replay/recorded_scenarios.hpp"
#include "stepcast/base/csv.hpp"

namespace stepcast {
namespace {

using testing::in_child;
using testing::RecordedCase;

std::vector<RecordedCase> cases() {
  std::vector<RecordedCase> all = testing::recorded_cases();
  all.push_back({"what-if/telechat3-105b-zipf.yaml", {}});  // ranks with other amounts of work
  all.push_back({"what-if/telechat3-36b-packed-8k.yaml",
                 {"cluster.devices=64", "parallel.dp=auto", "training.global_batch=32"}});
  all.push_back({"telechat3-36b-2048.yaml",
                 {"cluster.devices=64", "parallel.dp=auto", "training.global_batch=32",
                  "runtime.fusion=dvm", "simulate.fold=off"}});
  return all;
}

TEST(RunOperators, TimesOfAStageAddUpToItsComputing) {
  for (const RecordedCase& c : cases()) {
    const auto result = in_child([&] {
      const Scenario scenario = testing::scenario_of(c);
      const RecordedRun run = record(scenario);
      std::vector<double> sums(run.programs.size());
      double share = 0;
      for (const RunOperator& row : run_operators(scenario, run)) {
        sums[row.stage] += row.time.value();
        share += row.share;
        EXPECT_LE(row.efficiency, 1 + 1e-9) << row.name;
        EXPECT_GT(row.launches, 0) << row.name;
      }
      double most = 0;
      for (std::size_t s = 0; s < sums.size(); ++s) {
        const double computing = run.forecast.stages[s].times.computing.value();
        EXPECT_GT(computing, 0);
        most = std::max(most, std::abs(sums[s] / computing - 1));
      }
      return std::vector<double>{most, share / static_cast<double>(sums.size())};
    });
    ASSERT_EQ(result.size(), 2U) << c.file;
    EXPECT_LE(result[0], 1e-9) << c.file << (c.overrides.empty() ? "" : c.overrides.back());
    EXPECT_NEAR(result[1], 1, 1e-9) << c.file;
  }
}

/// What a rank executes is counted piece by piece elsewhere (StageProgram::executed_flops).
TEST(RunOperators, FlopsAddUpToThoseThatTheStepExecutes) {
  for (const RecordedCase& c : {RecordedCase{"telechat3-105b-4096.yaml", {}},
                                RecordedCase{"mixtral-8x7b.yaml", {"training.global_batch=64"}},
                                RecordedCase{"what-if/telechat3-105b-zipf.yaml", {}}}) {
    const auto result = in_child([&] {
      const Scenario scenario = testing::scenario_of(c);
      const RecordedRun run = record(scenario);
      double sum = 0;
      for (const RunOperator& row : run_operators(scenario, run)) sum += row.flops * row.launches;
      const auto ranks = static_cast<double>(scenario.workload.plan.stage_ranks());
      return std::vector<double>{sum * ranks / *run.forecast.executed_flops};
    });
    ASSERT_EQ(result.size(), 1U) << c.file;
    EXPECT_NEAR(result[0], 1, 1e-9) << c.file;
  }
}

TEST(RunOperators, RowsHaveWorkClassAndBound) {
  const auto result = in_child([] {
    const Scenario scenario = testing::scenario_of({"telechat3-105b-4096.yaml", {}});
    const RecordedRun run = record(scenario);
    double found = 0;
    for (const RunOperator& row : run_operators(scenario, run)) {
      if (row.stage != 1 || row.name != "attention out") continue;
      // [4096 tokens x 4 heads of 128] x [512 x 2560], on 16 micro-batches of 6 layers, twice each.
      EXPECT_EQ(row.shape, "4096x512x2560");
      EXPECT_DOUBLE_EQ(row.flops, 2.0 * 4096 * 512 * 2560);
      EXPECT_DOUBLE_EQ(row.launches, 16 * 6 * 2);
      EXPECT_EQ(row.of, KernelClass::matmul);
      EXPECT_EQ(row.bound, OperatorBound::compute);
      ++found;
    }
    const std::string csv = run_operators_csv(run_operators(scenario, run));
    EXPECT_TRUE(csv.starts_with("stage,name,class,shape,flops,bytes,launches,time_s,efficiency,"));
    const std::string table = run_operators_table(run_operators(scenario, run), 3);
    std::istringstream lines{table};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
    EXPECT_NE(table.find("others"), std::string::npos);
    return std::vector<double>{found};
  });
  EXPECT_EQ(result, std::vector<double>{1});
}

/// [stage] By name, how often an operator or statement is executed, in kernels of its own or fused.
std::map<std::pair<std::uint32_t, std::string>, double> executed(const RecordedCase& c) {
  const Scenario scenario = testing::scenario_of(c);
  std::map<std::pair<std::uint32_t, std::string>, double> all;
  for (const RunOperator& row : run_operators(scenario, record(scenario))) {
    EXPECT_NE(row.fused.size(), 1U) << row.name;
    if (row.fused.empty()) all[{row.stage, row.name}] += row.launches;
    for (const std::string& part : row.fused) all[{row.stage, part}] += row.launches;
  }
  return all;
}

// Whatever is fused is listed in what it became part of, once for each launch.
TEST(RunOperators, FusedKernelsListAllThatTheyWereMadeOf) {
  const std::string plain = "runtime.fusion=none", made = "runtime.fusion=dvm";
  // Layers have to stay where they are, so that stages hold the same statements.
  const std::string placed =
      "parallel.layers_per_chunk=[[3, 3, 3, 3, 3, 3, 3, 3], [3, 3, 3, 3, 3, 3, 3, 0]]";
  for (const char* file : {"telechat3-105b-4096.yaml", "papers/telechat3/105b-512-unfused.yaml"}) {
    const auto result = in_child([&] {
      const auto apart = executed({file, {plain, placed}}),
                 fused = executed({file, {made, placed}});
      double wrong = apart.size() == fused.size() ? 0 : 1;
      for (const auto& [what, launches] : apart) {
        const auto found = fused.find(what);
        const double counted = found == fused.end() ? 0 : found->second;
        EXPECT_NEAR(counted, launches, 1e-9 * launches) << what.second;
        if (std::abs(counted - launches) > 1e-9 * launches) ++wrong;
      }
      return std::vector<double>{wrong, static_cast<double>(apart.size())};
    });
    ASSERT_EQ(result.size(), 2U);
    EXPECT_EQ(result[0], 0);
    EXPECT_GT(result[1], 50);
  }
}

TEST(RunOperators, CsvJsonAndTableNameThePartsOfAFusedKernel) {
  RunOperator row{.name = "a + b", .launches = 1, .fused = {"a", "b"}};
  EXPECT_TRUE(run_operators_csv({row}).ends_with(",a; b\n"));
  EXPECT_NE(run_operators_table({row}, 1).find("\n      of a, b\n"), std::string::npos);
  const std::vector<RunOperator> rows{row};
  EXPECT_NE(run_fields_json("", "", &rows).find("\"fused\":[\"a\",\"b\"]"), std::string::npos);
  row.fused.assign(20, "a statement");
  std::istringstream lines{run_operators_table({row}, 1)};
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}
TEST(RunOperators, ASyntheticWorkloadHasTimesAlone) {
  const auto result = in_child([] {
    const Scenario scenario = testing::scenario_of({"ideal-pipeline.yaml", {}});
    const RecordedRun run = record(scenario);
    const std::vector<RunOperator> rows = run_operators(scenario, run);
    for (const RunOperator& row : rows) {
      EXPECT_EQ(row.of, KernelClass::given);
      EXPECT_EQ(row.efficiency, 0);
    }
    return std::vector<double>{static_cast<double>(rows.size() / run.programs.size())};
  });
  EXPECT_EQ(result, std::vector<double>{1});
}

}  // namespace
}  // namespace stepcast
