#include <gtest/gtest.h>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "temporary_files.hpp"

/// What orders and pieces of layers hide in a step, and what they cost.
namespace stepcast {
namespace {

using stepcast::testing::in_child;
using Overrides = std::vector<std::string>;

/// On a host that costs nothing.
Scenario quick(Overrides overrides) {
  for (const char* more : {"cluster.host.dispatch.matmul=0s", "cluster.host.dispatch.vector=0s",
                           "cluster.host.dispatch.communication=0s", "parallel.tp=1",
                           "parallel.sequence_parallel=false"})
    overrides.emplace_back(more);
  const test::TemporaryFiles files;
  return prepare_scenario(files.write("small.yaml", test::small_scenario), overrides, {});
}

struct Measured {
  double time, flops, memory;
};

Measured measured(const Overrides& overrides) {
  const std::vector<double> f = in_child([&] {
    const Forecast step = forecast(quick(overrides));
    double memory = 0;
    for (const StageForecast& stage : step.stages)
      memory = std::max(memory, stage.memory->activations.value());
    return std::vector<double>{step.step_time.value(), *step.executed_flops, memory};
  });
  return {f.at(0), f.at(1), f.at(2)};
}

TEST(LayerOrder, MakesAStepShorterWithTheSameWork) {
  for (const Overrides& plan : {Overrides{},
                                {"parallel.cp=2", "parallel.context_algorithm=ulysses"},
                                {"model.moe.shared_experts=1", "model.moe.shared_hidden=512"},
                                {"training.recompute={modules: [layernorm, moe_act, core_attn]}"},
                                {"training.recompute=full"}}) {
    Overrides ordered = plan;
    ordered.emplace_back("runtime.layer_order=overlapped");
    const Measured before = measured(plan), after = measured(ordered);
    EXPECT_LT(after.time, before.time) << (plan.empty() ? "plain" : plan.front());
    EXPECT_DOUBLE_EQ(after.flops, before.flops);
    EXPECT_GE(after.memory, before.memory);
  }
}

TEST(LayerOrder, CountsGradientsThatWait) {
  EXPECT_GT(measured({"runtime.layer_order=overlapped"}).memory, measured({}).memory);
}

struct Pieces {
  double time, cost, hidden, gain;
};

Pieces module_of(const Overrides& overrides) {
  const std::vector<double> f = in_child([&] {
    const Forecast step = forecast(quick(overrides));
    const ExpertForecast& e = *step.experts;
    const SplitExperts split = e.split.value_or(SplitExperts{});
    return std::vector<double>{(e.module.forward + e.module.backward).value(), split.cost.value(),
                               split.hidden.value(), split.gain().value()};
  });
  return {f.at(0), f.at(1), f.at(2), f.at(3)};
}

TEST(SplitExperts, GainIsWhatTheModuleIsShorterBy) {
  for (const char* overlap : {"moe.overlap=chunks(2)", "moe.overlap=chunks(8)"}) {
    const Pieces whole = module_of({}), split = module_of({overlap});
    EXPECT_EQ(whole.gain, 0) << "said only of pieces";
    EXPECT_NEAR(split.gain, whole.time - split.time, 1e-12);
    EXPECT_NEAR(split.gain, split.hidden - split.cost, 1e-15);
    EXPECT_GT(split.cost, 0) << "launches, tiles and weights";
  }
}

TEST(SplitExperts, LoseWhereThereIsLittleToHideAndWinWhereThereIsMuch) {
  const std::string fast = "cluster.node.fabric.link.bandwidth=28000GB/s";
  const std::string slow = "cluster.node.fabric.link.bandwidth=7GB/s";
  EXPECT_LT(module_of({"moe.overlap=chunks(8)", fast}).gain, 0);
  EXPECT_GT(module_of({"moe.overlap=chunks(2)", slow, "training.sequence=16384"}).gain, 0);
}

}  // namespace
}  // namespace stepcast
