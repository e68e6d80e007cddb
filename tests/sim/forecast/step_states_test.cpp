#include <gtest/gtest.h>

#include <algorithm>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "temporary_files.hpp"

/// What a step waits for beside its work: other flows on its uplinks, the last rank, the clock; and
/// what it takes of energy.
namespace stepcast {
namespace {

using stepcast::testing::in_child;
using Overrides = std::vector<std::string>;

Scenario small_in_states(Overrides overrides) {
  const test::TemporaryFiles files;
  return prepare_scenario(files.write("small.yaml", test::small_scenario), overrides, {});
}

Overrides plus(Overrides some, const Overrides& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

double state_step(const Overrides& overrides) {
  return in_child([&] {
           return std::vector<double>{forecast(small_in_states(overrides)).step_time.value()};
         })
      .front();
}

/// Eight leaves of eight NICs, and experts that meet over the spine.
const Overrides leaves{"cluster.devices=64", "cluster.network.topology.kind=leaf_spine",
                       "cluster.network.topology.leaf_ports=8", "parallel.ep=8",
                       "training.global_batch=128"};

TEST(StepStates, CollisionsCostAndMoreQueuePairsLess) {
  const double ideal = state_step(leaves);
  const double hashed = state_step(plus(leaves, {"cluster.network.routing=ecmp"}));
  const double cut =
      state_step(plus(leaves, {"cluster.network.routing=ecmp", "cluster.network.queue_pairs=16"}));
  const double adaptive = state_step(plus(leaves, {"cluster.network.routing=adaptive"}));
  EXPECT_GT(hashed, 1.001 * ideal);
  EXPECT_LT(cut, hashed);
  EXPECT_LT(adaptive, hashed);
  EXPECT_GE(cut, ideal * (1 - 1e-9));
  EXPECT_GE(adaptive, ideal * (1 - 1e-9));
}

TEST(StepStates, CollisionsFoldAsEveryRankByItself) {
  for (const char* const which : {"simulate.fold=auto", "stalls.collisions.seed=3"}) {
    const Overrides hashed =
        plus(leaves, {"cluster.network.routing=ecmp", "cluster.network.queue_pairs=2", which});
    const double folded = state_step(hashed);
    EXPECT_NEAR(state_step(plus(hashed, {"simulate.fold=off"})), folded, 1e-9 * folded) << which;
  }
}

// An even job comes to the barrier as one: it costs the collective and what the host waits.
TEST(StepStates, ABarrierAtTheEndCostsItsCollective) {
  const Overrides even{"parallel.pp=1", "parallel.vpp=1", "schedule.pipeline=1f1b",
                       "runtime.dispatch=graph_sink"};
  const double without = state_step(even);
  const std::vector<double> both = in_child([&] {
    const Forecast f = forecast(small_in_states(plus(even, {"runtime.barriers.step_end=true"})));
    const auto use =
        std::ranges::find(f.collectives, "barrier at the end of the step", &CollectiveUse::name);
    return std::vector<double>{f.step_time.value(),
                               use == f.collectives.end() ? -1 : use->alone.value()};
  });
  ASSERT_GT(both[1], 0);
  EXPECT_NEAR(both[0], without + both[1], 1e-6 * without);
}

// Of stages that end at unlike times all wait for the last one before their gradients move.
TEST(StepStates, ABarrierBeforeGradientsMakesStagesWait) {
  const Overrides uneven{"communication.gradient.overlap=false", "parallel.ep=1"};
  EXPECT_GT(state_step(plus(uneven, {"runtime.barriers.gradients=true"})), state_step(uneven));
}

TEST(StepStates, EnergyOfEqualPowersIsPowerTimesTime) {
  const std::vector<double> f = in_child([&] {
    const Forecast forecast_ = forecast(small_in_states(
        {"cluster.device.power.idle=300", "cluster.device.power.computing=300",
         "cluster.device.power.communicating=300", "cluster.device.power.overhead=1.5"}));
    return std::vector<double>{forecast_.step_time.value(), forecast_.energy->step()};
  });
  EXPECT_NEAR(f[1], 1.5 * 300 * 16 * f[0], 1e-9 * f[1]);
}

TEST(StepStates, EnergyCountsWhatTheMeanRankDoes) {
  const std::vector<double> f = in_child([&] {
    const Forecast forecast_ = forecast(
        small_in_states({"cluster.device.power.idle=90", "cluster.device.power.computing=270",
                         "cluster.device.power.communicating=130"}));
    return std::vector<double>{forecast_.mean.computing.value(), forecast_.energy->computing,
                               forecast_.mean.exposed_total().value(),
                               forecast_.energy->communicating};
  });
  EXPECT_NEAR(f[1], 16 * 270 * f[0], 1e-9 * f[1]);
  EXPECT_NEAR(f[3], 16 * 130 * f[2], 1e-9 * f[3]);
}

TEST(StepStates, AnIdleClockCostsAndCountsWhatItCosts) {
  const Overrides clock{"cluster.device.idle_clock.speed=0.5", "cluster.device.idle_clock.hold=0s",
                        "cluster.device.idle_clock.ramp=1ms"};
  const double plain = state_step({});
  const std::vector<double> slow = in_child([&] {
    const Forecast f = forecast(small_in_states(clock));
    return std::vector<double>{f.step_time.value(), f.mean.clock.value(), f.mean.total().value()};
  });
  EXPECT_GT(slow[0], plain);
  EXPECT_GT(slow[1], 0);
  EXPECT_NEAR(slow[2], slow[0], 1e-9 * slow[0]);
  EXPECT_NEAR(state_step({clock[0], clock[2], "cluster.device.idle_clock.hold=1000s"}), plain,
              1e-9 * plain);
}

TEST(StepStates, PowerThatIsSavedUpIsSpentAboveTheSustainedClock) {
  const Overrides held{"cluster.device.efficiency.matmul.sustained=0.3"};
  const auto with_window = [&](const char* window) {
    Overrides all = held;
    all.push_back("cluster.device.power_cap={window: " + std::string(window) +
                  ", attention: 0.6, other: 0.4}");
    return in_child([&] {
      const Forecast f = forecast(small_in_states(all));
      return std::vector<double>{f.step_time.value(), f.mean.clock.value(), f.mean.total().value(),
                                 f.mean.computing.value()};
    });
  };
  const double steady = state_step(held), full = state_step({});
  const std::vector<double> none = with_window("1ns"), some = with_window("1ms"),
                            all = with_window("1000s");
  EXPECT_NEAR(none[0], steady, 1e-5 * steady);
  EXPECT_LT(some[0], none[0]);
  EXPECT_LE(all[0], some[0]);
  EXPECT_GE(all[0], full * (1 - 1e-9));
  for (const auto& step : {none, some, all}) {
    EXPECT_LT(step[1], 0);
    EXPECT_NEAR(step[2], step[0], 1e-9 * step[0]);
    EXPECT_NEAR(step[3] - step[1], none[3] - none[1], 1e-9 * none[3]) << "the same work";
  }
}

// Kernels that draw the whole limit and a device that draws it waiting leave nothing to save.
TEST(StepStates, UnderConstantLoadAPowerCapIsTheSustainedClock) {
  Overrides held{"cluster.device.efficiency.matmul.sustained=0.001",
                 "cluster.device.efficiency.grouped_matmul.sustained=0.001"};
  const double steady = state_step(held);
  held.push_back("cluster.device.power_cap={window: 1s, attention: 1, other: 1, waiting: 1}");
  const double state = state_step(held);
  EXPECT_NEAR(state, steady, 1e-9 * steady);
}

}  // namespace
}  // namespace stepcast
