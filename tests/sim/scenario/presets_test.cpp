#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/report/report.hpp"
#include "stepcast/workloads/operator_table.hpp"
#include "stepcast/workloads/operator_time.hpp"
#include "stepcast/workloads/rewrites.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

fs::path root() { return fs::path(STEPCAST_SOURCE_DIR) / "scenarios"; }

/// Every runnable scenario that is shipped.
std::vector<std::string> scenarios() {
  std::vector<std::string> found;
  for (const char* folder : {"", "what-if", "bench"}) {
    for (const auto& entry : fs::directory_iterator(root() / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      found.push_back(fs::relative(entry.path(), root()).string());
    }
  }
  std::ranges::sort(found);
  return found;
}

class Presets : public ::testing::TestWithParam<std::string> {};

TEST_P(Presets, PartsAddUpToTheStepTime) {
  const Scenario scenario =
      prepare_scenario((root() / GetParam()).string(), {}, default_search_path({}));
  EXPECT_FALSE(scenario.question.empty());
  const Forecast f = forecast(scenario);
  const double step = f.step_time.value();
  ASSERT_GT(step, 0);
  EXPECT_NEAR(f.mean.total().value(), step, 1e-9 * step);
  for (const StageForecast& stage : f.stages) {
    EXPECT_NEAR(stage.times.total().value(), step, 1e-9 * step);
    EXPECT_GE(stage.times.communication.value(), stage.times.exposed_total().value() * (1 - 1e-9));
    EXPECT_GE(stage.times.host_stall, Seconds{0});
  }
  EXPECT_FALSE(report_json(scenario, f, {}).empty());
  EXPECT_FALSE(verdict(f).empty());
}

std::string test_name(const ::testing::TestParamInfo<std::string>& scenario) {
  std::string name = fs::path(scenario.param).stem().string();
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

double sum_of_times(const LayerItems& items, const DeviceSpec& device) {
  double sum = 0;
  for (const LayerItem& item : items)
    sum += operator_time(std::get<Operator>(item), device, false).value();
  return sum;
}

/// A fused kernel that is slower than the statements that it replaces is one that nobody runs.
TEST(DevicePresets, FusedActivationsAreNoSlowerThanTheirStatements) {
  ModelSpec model;
  model.ffn.kind = FeedForwardSpec::Kind::swiglu;
  KernelSpec apart;
  apart.activation = KernelSpec::Activation::apart;
  const KernelShape shape{.m = 8192, .n = 7168};
  const auto of = [&](const char* kind) {
    return LayerItems{find_operator_kind(kind)->kernels(shape).front()};
  };
  const auto apart_of = [&](const char* kind) {
    return with_unfused_kernels(of(kind), apart, model);
  };
  ASSERT_EQ(apart_of("activation_backward").size(), 3);
  for (const char* cluster :
       {"dgx-a100", "dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300", "gb200-nvl72"}) {
    const DeviceSpec device =
        read_cluster("clusters/" + std::string(cluster) + ".yaml", {}, default_search_path({}))
            .device;
    const double forward = sum_of_times(of("activation"), device);
    const double backward = sum_of_times(of("activation_backward"), device);
    const double forward_apart = sum_of_times(apart_of("activation"), device);
    const double backward_apart = sum_of_times(apart_of("activation_backward"), device);
    EXPECT_LE(backward, backward_apart) << cluster;
    EXPECT_LE(forward + backward, forward_apart + backward_apart) << cluster;
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, Presets, ::testing::ValuesIn(scenarios()), test_name);

}  // namespace
}  // namespace stepcast
