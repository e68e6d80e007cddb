#include <gtest/gtest.h>

#include "sim/forecast/campaign_energy.hpp"
#include "sim/forecast/forecast_parts.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/step_cost.hpp"
#include "temporary_files.hpp"

// What a finished step is charged with, in numbers worked out by hand: money, energy, FLOPs.
namespace stepcast {
namespace {

/// 16 devices in two nodes, 32 sequences of 2048 tokens.
Scenario billed_small(const std::vector<std::string>& overrides = {}) {
  const test::TemporaryFiles files;
  return prepare_scenario(files.write("small.yaml", test::small_scenario), overrides, {});
}

/// Two seconds, of which the devices say what they take where `joules` are given.
Forecast two_seconds(std::optional<Energy> joules = {}) {
  Forecast step;
  step.step_time = Seconds{2};
  step.energy = joules;
  return step;
}

/// 160 to write off over 1000 s, 1600 W, a millionth for a joule.
Scenario priced() {
  return billed_small(
      {"cluster.costs={currency: eur, amortisation: 1000s, electricity: 3.6, device: {price: 10, "
       "power: 100}}"});
}

TEST(StepCost, WritesOffThePricesAndPaysForTheEnergy) {
  const StepCost cost = *step_cost(priced(), two_seconds());
  EXPECT_NEAR(cost.step, 0.32 + 0.0032, 1e-12);
  EXPECT_DOUBLE_EQ(cost.joules, 3200);
  EXPECT_DOUBLE_EQ(*cost.tokens, 65536);
  const StepCost more = *step_cost(priced(), two_seconds(Energy{100, 200, 300}));
  EXPECT_DOUBLE_EQ(more.joules, 3800);
  EXPECT_NEAR(more.step, 0.3238, 1e-12);
  EXPECT_FALSE(step_cost(billed_small(), two_seconds()));
}

TEST(StepCost, OfASecondIsLeastWhereDevicesIdle) {
  Scenario scenario = priced();
  EXPECT_NEAR(least_cost_rate(scenario), 0.16 + 0.0016, 1e-12);
  PowerSpec power{.idle = 50, .computing = 300, .communicating = 100, .overhead = 2};
  scenario.cluster.device.power = power;
  EXPECT_NEAR(least_cost_rate(scenario), 0.16 + 0.0016 + 0.0016, 1e-12);
  // A device that waits for others may take less than one without work.
  power.communicating = 25;
  scenario.cluster.device.power = power;
  EXPECT_NEAR(least_cost_rate(scenario), 0.16 + 0.0016 + 0.0008, 1e-12);
}

// 16 ranks compute 2 s of 3 and communicate half a second; 8 devices more have no rank.
TEST(StepEnergy, DevicesWithoutARankIdle) {
  Scenario scenario = billed_small();
  scenario.cluster.devices = 24;
  scenario.cluster.device.power =
      PowerSpec{.idle = 10, .computing = 100, .communicating = 40, .overhead = 2};
  Forecast step;
  step.step_time = Seconds{3};
  step.mean.computing = Seconds{2};
  step.mean.exposed[0] = step.mean.exposed[1] = Seconds{0.25};
  const Energy energy = step_energy(scenario, step);
  EXPECT_DOUBLE_EQ(energy.computing, 6400);
  EXPECT_DOUBLE_EQ(energy.communicating, 640);
  EXPECT_DOUBLE_EQ(energy.idle, 640);
  EXPECT_DOUBLE_EQ(energy.step(), 7680);
}

// 15 of 20 s at 1 kW, else 16 devices idle at 20 W, and three spare nodes of 8 all the time.
TEST(CampaignEnergy, IsThatOfTheStepWhileItWorks) {
  Scenario scenario = billed_small({"campaign={steps: 10, spares: 3}"});
  scenario.cluster.device.power = PowerSpec{.idle = 10, .overhead = 2};
  const CampaignRun run{.wall = Seconds{20}, .computing = Seconds{10}, .lost = Seconds{5}};
  EXPECT_DOUBLE_EQ(campaign_energy(scenario, 1000, run), 15000 + 5 * 320 + 20 * 480);
}

/// Half of all pairs is masked.
AttentionLoads half_masked() { return {{{AttentionLoad{0.5, 1}}}, {0}}; }

// Two stages of eight ranks: 60 and 30 FLOPs beside attention of 40 and 20.
TEST(StepFlops, OfMaskedPairsAreNotExecuted) {
  const Scenario scenario = billed_small();
  std::vector<StageProgram> programs(2);
  programs[0].executed_flops = 100;
  programs[0].executed_attention_flops = 40;
  programs[1].executed_flops = 50;
  programs[1].executed_attention_flops = 20;
  const AttentionLoads loads = half_masked();
  EXPECT_DOUBLE_EQ(step_flops(scenario, programs, 0, nullptr).executed, 8 * 150);
  EXPECT_DOUBLE_EQ(step_flops(scenario, programs, 0, &loads).executed, 8 * (150 - 30));
}

// Causal scores: 2 products of 1024 channels over half of the 2048 keys, three times as much with
// their backward, for each of 65536 tokens in 8 layers.
TEST(StepFlops, OfMaskedPairsAreNoWorkOfTheModel) {
  const Scenario scenario = billed_small();
  const AttentionLoads loads = half_masked();
  const double all = step_flops(scenario, {}, 0, nullptr).model;
  const double scores = 3.0 * 2 * 2 * 1024 * 1024 * 65536 * 8;
  EXPECT_NEAR(all - step_flops(scenario, {}, 0, &loads).model, scores / 2, 1e-3 * scores);
}

}  // namespace
}  // namespace stepcast
