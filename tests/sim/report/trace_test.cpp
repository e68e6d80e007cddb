#include "stepcast/sim/report/trace.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "sim/in_child.hpp"
#include "sim/replay/recorded_scenarios.hpp"
#include "sim/report/micros.hpp"
#include "stepcast/sim/report/report.hpp"

namespace stepcast {
namespace {

using testing::in_child;
using testing::RecordedCase;
using Json = nlohmann::json;

constexpr std::uint32_t shown_ranks = 6;

Json trace_of(const Scenario& scenario, const RecordedRun& run) {
  std::string text;
  write_trace(scenario, run, shown_ranks, [&](std::string_view piece) { text += piece; });
  return Json::parse(text).at("traceEvents");
}

template <class Put>
std::string written(const Put& put, double value) {
  std::array<char, fixed_room> text;
  return {text.data(), put(text.data(), value)};
}

TEST(Numbers, ArePrintedAsTheLibraryPrintsThem) {
  const auto agrees = [](double seconds) {
    EXPECT_EQ(written(put_micros, seconds), fmt::format("{:.6f}", seconds * 1e6)) << seconds;
    EXPECT_EQ(written(put_fixed<4>, seconds), fmt::format("{:.4f}", seconds)) << seconds;
    EXPECT_EQ(written(put_short, seconds), fmt::format("{:.4g}", seconds)) << seconds;
  };
  for (const double seconds :
       {0.0, 5e-13, 1.5e-12, 2.5e-12, 1e-300, 0.1, 0.5, 0.12345, 0.99995, 0.999949999999,
        0.999999999999, 1.0, 1e3, 999.999999999, 1e9 - 1, 1e9, -1.0})
    agrees(seconds);
  std::mt19937_64 random{1};
  for (int i = 0; i < 20000; ++i) {
    const double even = static_cast<double>(random() >> 11U) * 0x1p-53;
    agrees(even * std::pow(10.0, static_cast<int>(random() % 16) - 11));
    // Halves of the last digit, as near as a double gets.
    agrees((static_cast<double>(random() % 100000) + 0.5) * 1e-12);
    agrees((static_cast<double>(random() % 10000) + 0.5) * 1e-4);
    // Exact ones: multiples of 2^-20 of a microsecond end with a five behind the sixth digit.
    agrees(static_cast<double>(random() % 100000) * 0x1p-20 / 1e6);
    agrees(static_cast<double>(random() % 100000) * 0x1p-5);
  }
}

struct Span {
  double from, to;
};

/// Spans of one thread: each lies inside another or beside it.
bool nests(std::vector<Span> spans, double rounding) {
  std::ranges::stable_sort(spans, [](const Span& a, const Span& b) {
    return a.from < b.from || (a.from == b.from && a.to > b.to);
  });
  std::vector<double> open;
  for (const Span& span : spans) {
    while (!open.empty() && open.back() <= span.from + rounding) open.pop_back();
    if (!open.empty() && span.to > open.back() + rounding) return false;
    open.push_back(span.to);
  }
  return true;
}

TEST(Trace, SpansNestAndAddUpToTheBreakdownNightly) {
  constexpr double rounding = 2e-6;  // two of the last digit that is written, in us
  for (const RecordedCase& c : testing::recorded_cases()) {
    const auto result = in_child([&] {
      const Scenario scenario = testing::scenario_of(c);
      const RecordedRun run = record(scenario);
      std::map<std::pair<int, int>, std::vector<Span>> threads;
      std::map<std::pair<int, std::string>, double> sums;
      std::map<std::int64_t, std::vector<std::pair<std::string, double>>> arrows;
      for (const Json& e : trace_of(scenario, run)) {
        if (e["ph"] == "X") {
          const double from = e["ts"], length = e["dur"];
          EXPECT_GE(length, 0);
          threads[{e["pid"], e["tid"]}].push_back({from, from + length});
          sums[{e["pid"], e["cat"]}] += length / 1e6;
        } else if (e["ph"] == "s" || e["ph"] == "f") {
          arrows[e["id"]].emplace_back(e["ph"], e["ts"]);
        }
      }
      double most = 0;
      for (std::size_t r = 0; r < std::min<std::size_t>(shown_ranks, run.recording.ranks.size());
           ++r) {
        const RankTimes& told = run.forecast.timeline.classes[r];
        const auto compare = [&](const char* category, Seconds time) {
          const double sum = sums[{static_cast<int>(r) + 1, category}];
          most = std::max(most, std::abs(sum - time.value()) / run.recording.end);
        };
        compare("computing", told.computing);
        compare("bubble", told.bubble);
        compare("host stall", told.host_stall);
        compare("compile stall", told.compile_stall);
        compare("other idle", told.other_idle);
        compare("exposed tensor", told.exposed[0]);
        compare("exposed data", told.exposed[3]);
      }
      double wrong = 0;
      for (const auto& [thread, spans] : threads) wrong += nests(spans, rounding) ? 0 : 1;
      for (const auto& [id, ends] : arrows) {
        wrong += ends.size() == 2 && ends[0].first == "s" && ends[1].first == "f" &&
                         ends[0].second <= ends[1].second
                     ? 0
                     : 1;
      }
      return std::vector<double>{scenario.simulate.steps > 1 ? 0 : most, wrong,
                                 static_cast<double>(threads.size())};
    });
    ASSERT_EQ(result.size(), 3U) << c.file;
    EXPECT_LE(result[0], 1e-9) << c.file;
    EXPECT_EQ(result[1], 0) << c.file << (c.overrides.empty() ? "" : c.overrides.back());
    EXPECT_GT(result[2], 0) << c.file;
  }
}

TEST(Trace, NamesWhatPeopleSearchForNightly) {
  const auto result = in_child([] {
    const Scenario scenario = testing::scenario_of({"telechat3-105b-4096.yaml", {}});
    const RecordedRun run = record(scenario);
    bool unit = false, layer = false, memory = false;
    double computing = 0, described = 0, exchanges = 0, inputs = 0, waits = 0;
    for (const Json& e : trace_of(scenario, run)) {
      const std::string name = e.value("name", "");
      unit = unit || name == "F mb3 chunk1";
      layer = layer ||
              (name.starts_with("all_to_all dispatch") && name.find(" L12") != std::string::npos);
      if (e.value("cat", "") == "computing") {
        ++computing;
        described += e["args"]["launches"] > 0 && e["args"].contains("bound") ? 1 : 0;
      }
      exchanges += e.value("cat", "") == "expert" && e["args"]["bytes"] > 0 ? 1 : 0;
      const bool arrow = e["ph"] == "s" && e.value("cat", "") == "arrow";
      inputs += arrow && name == "input" ? 1 : 0;
      waits += arrow && name == "wait" ? 1 : 0;
      memory = memory || (e["ph"] == "C" && name == "memory" && e["args"]["GiB"] > 1.0);
    }
    return std::vector<double>{unit ? 1.0 : 0,        layer ? 1.0 : 0,         memory ? 1.0 : 0,
                               described / computing, exchanges > 0 ? 1.0 : 0, inputs > 0 ? 1.0 : 0,
                               waits > 0 ? 1.0 : 0};
  });
  EXPECT_EQ(result, (std::vector<double>{1, 1, 1, 1, 1, 1, 1}));
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      all.emplace_back();
    } else {
      all.back() += c;
    }
  }
  return all;
}

TEST(StepTrace, KeepsTheArithmeticOfTheProfilingTools) {
  for (const RecordedCase& c : testing::recorded_cases()) {
    const auto result = in_child([&] {
      const Scenario scenario = testing::scenario_of(c);
      const RecordedRun run = record(scenario);
      std::istringstream lines(step_trace_csv(scenario, run));
      std::string line;
      std::getline(lines, line);
      double ranks = 0, stages = 0, most = 0, span = 0;
      while (std::getline(lines, line)) {
        const auto row = cells(line);
        EXPECT_EQ(row.size(), 15U);
        if (row[1] == "stage") {
          ++stages;
          continue;
        }
        ++ranks;
        const auto at = [&](std::size_t i) { return std::stod(row[i]); };
        most = std::max(most, std::abs(at(4) + at(5) - at(6)));                  // of communication
        most = std::max(most, std::abs(at(3) + at(4) + at(7) - at(9) - at(8)));  // E2E - bubble
        most = std::max(most, std::abs(at(4) - at(9) - at(10)));
        span =
            std::max(span, std::abs(at(3) + at(4) + at(7) -
                                    run.forecast.timeline.steps[std::stoul(row[0])].value() * 1e6));
      }
      const auto steps = static_cast<double>(scenario.simulate.steps);
      return std::vector<double>{
          ranks / steps - static_cast<double>(scenario.workload.plan.world()),
          stages / steps - static_cast<double>(scenario.workload.plan.pp), most, span};
    });
    ASSERT_EQ(result.size(), 4U) << c.file;
    EXPECT_EQ(result[0], 0) << c.file;
    EXPECT_EQ(result[1], 0) << c.file;
    EXPECT_LE(result[2], 0.003) << c.file;  // three rounded numbers, us
    EXPECT_LE(result[3], 0.003) << c.file;
  }
}

// Four stages, eight micro-batches, 1 ms forward and 2 ms backward: 24 ms of work in 33 ms.
TEST(StepTrace, OfAnIdealPipelineIsTheTextbook) {
  const auto result = in_child([] {
    const Scenario scenario = testing::scenario_of({"ideal-pipeline.yaml", {}});
    std::istringstream lines(step_trace_csv(scenario, record(scenario)));
    std::string line;
    std::getline(lines, line);
    std::getline(lines, line);
    const auto first = cells(line);
    return std::vector<double>{std::stod(first[3]), std::stod(first[9])};
  });
  ASSERT_EQ(result.size(), 2U);
  EXPECT_NEAR(result[0], 24000, 1e-3);
  EXPECT_NEAR(result[1], 9000, 1e-3);
}

TEST(PipelineText, DrawsEveryStageInTheWidth) {
  const auto result = in_child([] {
    const std::string text =
        pipeline_text(record(testing::scenario_of({"ideal-pipeline.yaml", {}})), 100, false);
    std::istringstream lines(text);
    std::string line;
    double longest = 0, stages = 0;
    while (std::getline(lines, line)) {
      longest = std::max(longest, static_cast<double>(line.size()));
      stages += line.starts_with("  stage ") ? 1 : 0;
    }
    EXPECT_NE(text.find("F0"), std::string::npos);
    EXPECT_NE(text.find("B7"), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    return std::vector<double>{stages, longest};
  });
  ASSERT_EQ(result.size(), 2U);
  EXPECT_EQ(result[0], 4);
  EXPECT_LE(result[1], 100);
}

}  // namespace
}  // namespace stepcast
