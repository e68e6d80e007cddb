#include <gtest/gtest.h>

#include "small_plans.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/forecast/step_cost.hpp"

/// The price of a token as the objective of a plan. docs/models/costs.md.
namespace stepcast {
namespace {

using namespace test;

constexpr const char* fabrics = R"(
stepcast: 1
name: fabrics
cluster:
  extends: clusters/atlas-800t-a2.yaml
  devices: 128
  network: {topology: {leaf_ports: 8}}
  costs:
    currency: usd
    amortisation: 1000d
    electricity: 0.1
    device: {price: 15000}
    switch: {price: 40000, power: 1500, ports: 128}
    cable: {price: 1000}
model: {extends: models/llama2-7b.yaml}
parallel: {tp: [2, 4], pp: [1, 2], zero: 1}
training: {sequence: 2048, global_batch: 256, recompute: full}
plan:
  objective: cost
  placements: 0
  search: {cluster.network.topology.oversubscription: [1, 8]}
)";

TEST(PlanOfCosts, TakesTheCheapestTokenAndKeepsTheFrontier) {
  const PlanFile file(fabrics);
  const PlanSpace space = file.read();
  const PlanResult result = search_plan(space, presets(), 1);
  ASSERT_FALSE(result.best.empty());
  EXPECT_TRUE(result.proven);
  double before = 0;
  for (const PlanPoint& p : result.best) {
    ASSERT_TRUE(p.cost);
    EXPECT_GE(p.cost->token, before);
    before = p.cost->token;
    EXPECT_LE(p.cost_rate * p.simulated->value(), p.cost->token * (1 + 1e-12));
    EXPECT_LE(p.bound, *p.simulated);
  }
  // A leaf of eight NICs with one uplink costs far less than one with eight, and is hardly slower.
  EXPECT_EQ(space.bases[result.best.front().strategy.base].settings.back().second, "8");
}

TEST(PlanOfCosts, IsWhatTheBillMakesOfTheStep) {
  const PlanFile file(fabrics);
  const PlanSpace space = file.read();
  Scenario scenario = space.bases.front().scenario;
  Forecast step;
  step.step_time = Seconds{2};
  const auto cost = step_cost(scenario, step);
  ASSERT_TRUE(cost);
  const Bill bill = bill_of(Fabric(scenario.cluster));
  EXPECT_DOUBLE_EQ(cost->step, cost_of(*scenario.cluster.costs, bill, Seconds{2}, 0));
  EXPECT_DOUBLE_EQ(cost->joules, 2 * bill.power());
  EXPECT_DOUBLE_EQ(*cost->tokens, 256 * 2048);
  EXPECT_DOUBLE_EQ(least_cost_rate(scenario), cost->step / 2);
  step.energy = Energy{.idle = 3.6e6};
  EXPECT_NEAR(step_cost(scenario, step)->step, cost->step + 0.1, 1e-9);
}

TEST(PlanOfCosts, NeedsPrices) {
  const PlanFile file(fabrics);
  try {
    file.read({"cluster.costs=none"});
    FAIL() << "the plan has no prices";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("plan.objective: is cost, but cluster.costs has no"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace stepcast
