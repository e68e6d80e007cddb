#include "stepcast/sim/replay/recording.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "recorded_scenarios.hpp"
#include "sim/explain/executed_graph.hpp"
#include "sim/in_child.hpp"
#include "stepcast/sim/explain/explain.hpp"
#include "stepcast/sim/report/run_operators.hpp"
#include "stepcast/sim/report/usage.hpp"

namespace stepcast {
namespace {

using testing::in_child;
using testing::RecordedCase;

std::string title(const RecordedCase& c) {
  std::string text = c.file;
  for (const std::string& o : c.overrides) text += " " + o;
  return text;
}

/// Largest difference between what entries and pieces add up to and the report's parts of any
/// rank class, relative to the run.
double difference(const RecordedRun& run) {
  double most = 0;
  for (std::size_t c = 0; c < run.recording.ranks.size(); ++c) {
    RankTimes sum;
    for (const Recording::Entry& e : run.recording.ranks[c].entries)
      sum.computing += Seconds{e.worked};
    for (const Recording::Piece& p : run.recording.ranks[c].pieces) {
      const Seconds time{p.to - p.from};
      if (p.part == WaitPart::exposed) sum.exposed[static_cast<std::size_t>(p.kind)] += time;
      if (p.part == WaitPart::bubble) sum.bubble += time;
      if (p.part == WaitPart::host_stall) sum.host_stall += time;
      if (p.part == WaitPart::compile_stall) sum.compile_stall += time;
      if (p.part == WaitPart::other_idle) sum.other_idle += time;
    }
    const RankTimes& told = run.forecast.timeline.classes[c];
    const auto compare = [&](Seconds a, Seconds b) {
      most = std::max(most, std::abs((a - b).value()) / run.recording.end);
    };
    compare(sum.computing, told.computing);
    for (std::size_t k = 0; k < exposed_kinds; ++k) compare(sum.exposed[k], told.exposed[k]);
    compare(sum.bubble, told.bubble);
    compare(sum.host_stall, told.host_stall);
    compare(sum.compile_stall, told.compile_stall);
    compare(sum.other_idle, told.other_idle);
  }
  return most;
}

TEST(Recording, AddsUpToTheBreakdown) {
  for (const RecordedCase& c : testing::all_recorded_cases()) {
    const auto result = in_child([&] {
      const Scenario scenario = testing::scenario_of(c);
      const RecordedRun run = record(scenario);
      return std::vector<double>{scenario.simulate.steps > 1 ? 0 : difference(run)};
    });
    ASSERT_EQ(result.size(), 1U) << title(c);
    EXPECT_LE(result[0], 1e-9) << title(c);
  }
}

TEST(Recording, IsTheForecastWhereNothingCouldRecur) {
  const auto times = [](const Forecast& f) {
    std::vector<double> all{f.step_time.value(), static_cast<double>(f.timeline.tasks)};
    for (const RankTimes& rank : f.timeline.classes)
      for (const Seconds part : {rank.computing, rank.bubble, rank.host_stall, rank.communication})
        all.push_back(part.value());
    return all;
  };
  RecordedCase c{"ideal-pipeline.yaml", {}};
  EXPECT_FALSE(record(testing::scenario_of(c)).exact);
  c.overrides = {"stalls.compute_jitter.sigma=0.05"};
  const Scenario scenario = testing::scenario_of(c);
  const RecordedRun run = record(scenario);
  EXPECT_TRUE(run.exact);
  EXPECT_EQ(times(run.forecast), times(forecast(scenario)));
}

TEST(Recording, DoesNotChangeTheForecastNightly) {
  for (const RecordedCase& c : testing::all_recorded_cases()) {
    const Scenario scenario = testing::scenario_of(c);
    const auto recorded =
        in_child([&] { return std::vector<double>{record(scenario).forecast.step_time.value()}; });
    const auto plain =
        in_child([&] { return std::vector<double>{forecast(scenario).step_time.value()}; });
    ASSERT_EQ(recorded.size(), 1U) << title(c);
    EXPECT_NEAR(recorded[0], plain.at(0), 1e-9 * plain.at(0)) << title(c);
  }
}

TEST(Recording, LeavesOutTheRanksThatNobodyAskedFor) {
  const auto result = in_child([] {
    const RecordedRun run = record(testing::scenario_of({"ideal-pipeline.yaml", {}}),
                                   {.first = 2, .of_each_stage = false});
    std::vector<double> entries;
    for (const auto& rank : run.recording.ranks)
      entries.push_back(static_cast<double>(rank.entries.size()));
    return entries;
  });
  ASSERT_EQ(result.size(), 4U);
  EXPECT_GT(result[0], 0);
  EXPECT_GT(result[1], 0);
  EXPECT_EQ(result[2], 0);
  EXPECT_EQ(result[3], 0);
}

std::vector<double> operator_numbers(const Scenario& scenario, const RecordedRun& run) {
  std::vector<double> numbers;
  for (const RunOperator& row : run_operators(scenario, run)) {
    numbers.push_back(row.launches);
    numbers.push_back(row.time.value());
    numbers.push_back(row.efficiency);
  }
  return numbers;
}

// The plain way keeps every entry of every rank and adds up afterwards.
TEST(Recording, WhatIsAddedUpIsWhatAllEntriesAddUpTo) {
  const std::vector<std::string> unlike{"simulate.fold=off", "stalls.compute_jitter.sigma=0.05"};
  for (const std::string steps : {"simulate.steps=1", "simulate.steps=3"}) {
    auto overrides = unlike;
    overrides.push_back(steps);
    const Scenario scenario = testing::scenario_of({"llama2-7b-8.yaml", overrides});
    const auto numbers = [&](const RecordedClasses& recorded) {
      return in_child([&] {
        const RecordedRun run = record(scenario, recorded);
        std::vector<double> all = operator_numbers(scenario, run);
        for (const LinkUsage& link : link_usage(run, 16)) {
          all.push_back(link.bytes);
          all.push_back(link.mean);
        }
        for (const auto& unit : run.recording.ranks[0].units) all.push_back(unit.end);
        return all;
      });
    };
    const auto whole = numbers({}), part = numbers({.first = 1});
    ASSERT_GT(whole.size(), 100U);
    ASSERT_EQ(whole.size(), part.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_NEAR(part[i], whole[i], 1e-9 * std::abs(whole[i])) << steps << " " << i;
  }
}

// The parts of a sum are of another length than those that are asked for, by less than half.
TEST(Recording, UseOfLinksOverTimeSurvivesAddingUp) {
  const Scenario scenario = testing::scenario_of(
      {"llama2-7b-8.yaml", {"simulate.fold=off", "stalls.compute_jitter.sigma=0.05"}});
  const auto shares = [&](const RecordedClasses& recorded) {
    return in_child([&] {
      std::vector<double> all;
      for (const LinkUsage& link : link_usage(record(scenario, recorded), 8))
        all.insert(all.end(), link.share.begin(), link.share.end());
      return all;
    });
  };
  const auto whole = shares({}), part = shares({.first = 1});
  ASSERT_GT(whole.size(), 8U);
  ASSERT_EQ(whole.size(), part.size());
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(part[i], whole[i], 0.08) << i;
}

// The graph holds all that a moment waits for, and nothing that it did not wait for: its longest
// path to every moment is that moment's date.
TEST(ExecutedGraph, LongestPathsAreTheDatesNightly) {
  for (const RecordedCase& c : testing::all_recorded_cases()) {
    const auto result = in_child([&] {
      const RecordedRun run = record(testing::scenario_of(c));
      const ExecutedGraph graph(run);
      double most = 0;
      for (ExecutedGraph::Vertex v = 0; v < graph.vertices(); ++v)
        most = std::max(most, std::abs(graph.longest(v) - graph.date(v)));
      double least_slack = 0;
      for (ExecutedGraph::Vertex v = 0; v < graph.vertices(); ++v)
        least_slack = std::min(least_slack, graph.slack(v));
      return std::vector<double>{most / run.recording.end, least_slack / run.recording.end};
    });
    ASSERT_EQ(result.size(), 2U) << title(c);
    EXPECT_LE(result[0], 1e-9) << title(c);
    EXPECT_GE(result[1], -1e-9) << title(c);
  }
}

// A recording is of equal devices: what the fleet costs stands beside it.
TEST(CriticalPath, AddsUpToTheStepTimeNightly) {
  for (const RecordedCase& c : testing::all_recorded_cases()) {
    const auto result = in_child([&] {
      const RecordedRun run = record(testing::scenario_of(c));
      const CriticalPath path = critical_path(run);
      const auto sum = [](const std::vector<PathShare>& rows) {
        double all = 0;
        for (const PathShare& row : rows) all += row.seconds;
        return all;
      };
      double communication = 0;
      for (const PathShare& row : path.categories)
        if (row.name.ends_with("communication")) communication += row.seconds;
      return std::vector<double>{(run.forecast.step_time - run.forecast.mean.fleet).value(),
                                 path.total,
                                 sum(path.categories),
                                 sum(path.operators),
                                 communication,
                                 sum(path.links)};
    });
    ASSERT_EQ(result.size(), 6U) << title(c);
    const double step = result[0];
    EXPECT_NEAR(result[1], step, 1e-9 * step) << title(c);
    EXPECT_NEAR(result[2], step, 1e-9 * step) << title(c);
    EXPECT_NEAR(result[3], step, 1e-9 * step) << title(c);
    EXPECT_NEAR(result[5], result[4], 1e-9 * step) << title(c);
  }
}

// Each operator waits for the one before, so that the path runs along the host; but the host itself
// takes 1 us for each of some thousand operators, and computes nothing.
TEST(CriticalPath, LeavesTheWaitForAFullQueueToTheDevice) {
  const auto result = in_child([] {
    const CriticalPath path = critical_path(record(testing::scenario_of(
        {"telechat3-36b-2048.yaml",
         {"cluster.devices=64", "parallel.dp=auto", "training.global_batch=32",
          "runtime.dispatch=eager", "cluster.host.queue_depth=1", "cluster.host.step_overhead=0s",
          "cluster.host.dispatch.matmul=1us", "cluster.host.dispatch.vector=1us",
          "cluster.host.dispatch.communication=1us"}})));
    double host = 0;
    for (const PathShare& row : path.categories)
      if (row.name == "host") host += row.seconds;
    return std::vector<double>{host, path.total};
  });
  ASSERT_EQ(result.size(), 2U);
  EXPECT_LT(result[0], 0.02 * result[1]);
}

// Four stages, eight micro-batches, nothing but computing: the path computes all the time.
TEST(CriticalPath, OfAnIdealPipelineIsComputing) {
  const auto result = in_child([] {
    const CriticalPath path =
        critical_path(record(testing::scenario_of({"ideal-pipeline.yaml", {}})));
    EXPECT_EQ(path.categories.front().name, "computing");
    return std::vector<double>{path.categories.front().seconds, path.total};
  });
  ASSERT_EQ(result.size(), 2U);
  EXPECT_NEAR(result[0], 0.033, 1e-12);
  EXPECT_NEAR(result[1], 0.033, 1e-12);
}

}  // namespace
}  // namespace stepcast
