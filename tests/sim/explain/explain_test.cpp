#include "stepcast/sim/explain/explain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/in_child.hpp"
#include "sim/replay/recorded_scenarios.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

using testing::in_child;
using testing::RecordedCase;

constexpr int workers = 2;
const RecordedCase small_dense{
    "telechat3-36b-2048.yaml",
    {"cluster.devices=64", "parallel.dp=auto", "training.global_batch=32"}};

double step_time(const Scenario& scenario, const Ideal& ideal = {}) {
  return in_child([&] { return std::vector<double>{forecast(scenario, ideal).step_time.value()}; })
      .at(0);
}

const Elasticity& find(const Explanation& e, const std::string& path) {
  return *std::ranges::find_if(e.elasticities,
                               [&](const Elasticity& row) { return row.parameter.path == path; });
}

// Twice as long in every time, half of every rate: twice as long in all.
TEST(Elasticities, OfAllTimesAddUpToOne) {
  for (const char* dispatch : {"runtime.dispatch=graph_sink", "runtime.dispatch=eager"}) {
    RecordedCase c = small_dense;
    c.overrides.emplace_back(dispatch);
    const auto sum = in_child(
        [&] { return std::vector<double>{explain(testing::scenario_of(c), workers).time_sum}; });
    ASSERT_EQ(sum.size(), 1U) << dispatch;
    EXPECT_NEAR(sum[0], 1, 0.02) << dispatch;
  }
}

TEST(Elasticities, OfAnIdealPipelineAreThoseOfItsUnits) {
  const Explanation e = explain(testing::scenario_of({"ideal-pipeline.yaml", {}}), workers);
  EXPECT_NEAR(find(e, "workload.chunks.0.forward").value, 1.0 / 3, 1e-3);
  EXPECT_NEAR(find(e, "workload.chunks.0.backward_input").value, 1.0 / 3, 1e-3);
  EXPECT_NEAR(e.time_sum, 1, 1e-3);
}

TEST(Parameters, AreScaledOneByOne) {
  const Scenario scenario = testing::scenario_of(small_dense);
  const std::vector<Parameter> all = parameters(scenario);
  EXPECT_GE(all.size(), 30U);
  for (const Parameter& p : all) {
    const auto after = parameters(scaled(scenario, p.path, 2));
    ASSERT_EQ(after.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(after[i].value, all[i].value * (all[i].path == p.path ? 2 : 1)) << p.path;
  }
}

/// A varied number as `--set` takes it.
std::string assignment(const Parameter& p, double factor) {
  const bool work = p.text.ends_with("FLOPS");
  const char* unit = p.nature == Parameter::Nature::time   ? "s"
                     : p.nature == Parameter::Nature::rate ? (work ? "FLOP/s" : "B/s")
                                                           : "";
  return p.path + "=" + shortest(factor * p.value) + unit;
}

bool reads(RecordedCase c, const std::string& override_) {
  c.overrides.push_back(override_);
  try {
    testing::scenario_of(c);
  } catch (const InputError&) {
    return false;
  }
  return true;
}

// A lever that no file can pull is none.
TEST(Parameters, AreVariedWhereTheReaderTakesTheValueNightly) {
  std::vector<RecordedCase> cases = testing::all_recorded_cases();
  cases.push_back({"deepseek-v3-2048.yaml", {}});
  cases.push_back({"what-if/pangu-sigma-offload-experts.yaml", {}});
  int refused = 0;
  for (const RecordedCase& c : cases) {
    const Scenario scenario = testing::scenario_of(c);
    for (const Parameter& p : parameters(scenario)) {
      for (const double factor : {0.99, 1.01}) {
        const bool offered = varied(scenario, p, factor).has_value();
        EXPECT_EQ(offered, reads(c, assignment(p, factor))) << c.file << " " << p.path;
        refused += offered ? 0 : 1;
      }
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(Elasticities, LeaveOutWhatTheReaderRefuses) {
  const RecordedCase moe{"mixtral-8x7b.yaml", {"training.global_batch=64"}};
  const Scenario scenario = testing::scenario_of(moe);
  const std::string path = "training.offload.active_experts";
  const auto of = [&](const auto& list, const auto& projection) {
    return std::ranges::count(list, path, projection);
  };
  ASSERT_EQ(of(parameters(scenario), &Parameter::path), 1);
  const Explanation e = explain(scenario, workers);
  EXPECT_EQ(of(e.elasticities, [](const Elasticity& row) { return row.parameter.path; }), 0);
  EXPECT_GE(e.elasticities.size(), 30U);
}

/// The scenario with costs of nothing in its numbers.
Scenario without_communication(Scenario s) {
  constexpr double unlimited = 1e30;
  for (const Parameter& p : parameters(s)) {
    const bool link = p.path.starts_with("cluster.node") || p.path.starts_with("cluster.network") ||
                      p.path.starts_with("cluster.super_node");
    if (link && p.nature == Parameter::Nature::rate) s = scaled(s, p.path, unlimited);
    if (link && p.nature == Parameter::Nature::time) s = scaled(s, p.path, 0);
  }
  for (const Parameter& p : parameters(s))
    if (p.path.starts_with("cluster.collectives.") && p.nature == Parameter::Nature::time)
      s = scaled(s, p.path, 0);
  s.cluster.device.launch.communication = Seconds{0};
  return s;
}

Scenario without_host(Scenario s) {
  for (const Parameter& p : parameters(s)) {
    const bool host = p.path.starts_with("cluster.host.") || p.path.starts_with("runtime.");
    if (host && p.nature == Parameter::Nature::time) s = scaled(s, p.path, 0);
  }
  s.cluster.host.step_overhead = Seconds{0};
  return s;
}

TEST(Bounds, EqualRunsWithThoseCostsSetToNothing) {
  for (const char* dispatch : {"runtime.dispatch=graph_sink", "runtime.dispatch=eager"}) {
    RecordedCase c = small_dense;
    c.overrides.emplace_back(dispatch);
    c.overrides.emplace_back("runtime.host_speed=0.5");
    const Scenario scenario = testing::scenario_of(c);
    Ideal communication, host;
    communication.free_communication = true;
    host.free_host = true;
    const double step = step_time(scenario);
    const double no_communication = step_time(scenario, communication);
    EXPECT_LT(no_communication, step);
    EXPECT_NEAR(no_communication, step_time(without_communication(scenario)), 1e-9 * step);
    const double no_host = step_time(scenario, host);
    EXPECT_LT(no_host, step);
    EXPECT_NEAR(no_host, step_time(without_host(scenario)), 1e-9 * step);
  }
}

// Eight micro-batches of three units of 1 ms each, without the three of the fill.
TEST(Bounds, WithoutBubbleIsTheWorkOfTheSlowestStage) {
  Ideal ideal;
  ideal.no_bubble = true;
  EXPECT_NEAR(step_time(testing::scenario_of({"ideal-pipeline.yaml", {}}), ideal), 0.024, 1e-12);
}

TEST(Explanation, IsToldInJsonTextAndSvg) {
  const Scenario scenario = testing::scenario_of(small_dense);
  const Explanation e = explain(scenario, workers);
  const auto json = nlohmann::json::parse(explanation_json(scenario, e));
  EXPECT_EQ(json["step_time_s"], e.step_time);
  EXPECT_EQ(json["elasticities"].size(), e.elasticities.size());
  EXPECT_EQ(json["bounds"].size(), e.bounds.size());
  const std::string table = explanation_table(scenario, e, 10);
  std::size_t begin = 0;
  for (std::size_t end; (end = table.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const auto characters = std::count_if(table.begin() + static_cast<std::ptrdiff_t>(begin),
                                          table.begin() + static_cast<std::ptrdiff_t>(end),
                                          [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_LE(characters, 80) << table.substr(begin, end - begin);
  }
  EXPECT_NE(tornado_svg(scenario, e, 10).find(e.elasticities.front().parameter.path),
            std::string::npos);
}

}  // namespace
}  // namespace stepcast
