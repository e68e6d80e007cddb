#include <gtest/gtest.h>

#include <functional>

#include "sim/forecast/forecast_parts.hpp"
#include "sim/in_child.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/forecast/prepare.hpp"

namespace stepcast {
namespace {

using namespace literals;
using testing::in_child;

/// A small forecast that keeps all laws, to spoil.
struct Kept {
  Kept()
      : scenario{prepare_scenario(std::string(STEPCAST_SOURCE_DIR) + "/scenarios/llama2-7b-8.yaml",
                                  {"model.layers=8"}, default_search_path({}))},
        layers{layers_of(scenario)},
        result{forecast(scenario)} {}
  void check() const { check_laws(scenario, layers, result); }

  Scenario scenario;
  LayerTable layers;
  Forecast result;
};

const Kept& kept() {
  static const Kept once;
  return once;
}

void expect_broken(const char* what, const std::function<void(Kept&)>& spoil) {
  Kept spoilt = kept();
  spoil(spoilt);
  EXPECT_THROW(spoilt.check(), ContractError) << what;
}

TEST(CheckLaws, HoldForAForecast) { EXPECT_NO_THROW(kept().check()); }

TEST(CheckLaws, LayersAreTheModels) {
  expect_broken("a layer less", [](Kept& k) { --k.layers.slices[0][0].count; });
  expect_broken("no embedding", [](Kept& k) { k.layers.slices[0][0].embedding = false; });
  expect_broken("two heads", [](Kept& k) {
    k.scenario.workload.plan.chunk_placement = ChunkPlacement::bidirectional;
  });
  expect_broken("a module", [](Kept& k) { k.layers.slices[0][0].mtp = 1; });
}

TEST(CheckLaws, NoFlopIsLeftOut) {
  expect_broken("half of the model", [](Kept& k) { *k.result.executed_flops /= 2; });
  expect_broken("no model", [](Kept& k) { k.result.model_flops = 0; });
}

TEST(CheckLaws, PartsOfTheTimeAddUp) {
  expect_broken("mean", [](Kept& k) { k.result.mean.bubble += k.result.step_time * 1e-6; });
  expect_broken("stage", [](Kept& k) { k.result.stages[0].times.computing = Seconds{0}; });
  expect_broken("class", [](Kept& k) { k.result.timeline.classes[0].exposed[0] += 1_ms; });
  expect_broken("negative", [](Kept& k) {
    RankTimes& times = k.result.mean;
    times.other_idle -= Seconds{1};
    times.computing += Seconds{1};
  });
}

// Sums may be off by a billionth of the whole.
TEST(CheckLaws, RoundingIsABillionth) {
  const auto add = [](double part) {
    return [part](Kept& k) { k.result.mean.bubble += k.result.step_time * part; };
  };
  const auto leave_out = [](double part) {
    return [part](Kept& k) { *k.result.executed_flops = *k.result.model_flops * (1 - part); };
  };
  for (const std::function<void(Kept&)>& spoil :
       {std::function<void(Kept&)>(add(0.5e-9)), std::function<void(Kept&)>(leave_out(0.5e-9))}) {
    Kept spoilt = kept();
    spoil(spoilt);
    EXPECT_NO_THROW(spoilt.check());
  }
  expect_broken("mean", add(1.5e-9));
  expect_broken("FLOPs", leave_out(1.5e-9));
}

TEST(CheckLaws, PartsOfTheMemoryAreWhole) {
  const auto memory = [](const std::function<void(MemoryBudget&)>& spoil) {
    return [spoil](Kept& k) { spoil(*k.result.stages[0].memory); };
  };
  expect_broken("negative", memory([](MemoryBudget& m) { m.update = Bytes{-1}; }));
  expect_broken("moments", memory([](MemoryBudget& m) { m.moments = 2 * m.optimizer; }));
  expect_broken("communicators", memory([](MemoryBudget& m) { m.communicators = 2 * m.buffers; }));
  // Were all eight devices to hold everything, a sixteenth of it is half of the model.
  expect_broken("parameters", memory([](MemoryBudget& m) { m.parameters = m.parameters / 16; }));
  expect_broken("gradients", memory([](MemoryBudget& m) { m.gradients = m.gradients / 16; }));
  expect_broken("states", memory([](MemoryBudget& m) {
                  m.optimizer = m.optimizer / 16;
                  m.moments = m.moments / 16;
                }));
}

/// Bytes of weights on all devices of a job that holds each expert once and dense products twice.
std::vector<double> weights_on_devices(const char* gathers, const char* zero) {
  const std::string laws = std::string(STEPCAST_SOURCE_DIR) + "/tests/sim/laws";
  std::vector<std::string> settings{"parallel.tp=4", "parallel.ep=8",
                                    "model.moe.expert_hidden=1024", "training.precision=fp8_mixed",
                                    "training.fp8_recipe=tensorwise"};
  settings.push_back(std::string("parallel.zero=") + zero);
  settings.push_back(std::string("communication.parameter.precision=") + gathers);
  const Scenario scenario = prepare_scenario(laws + "/experts.yaml", settings, SearchPath{{laws}});
  return in_child([&] {
    const Forecast result = forecast(scenario);
    double bytes = 0;
    for (const StageForecast& stage : result.stages) bytes += stage.memory->parameters.value();
    return std::vector<double>{8 * bytes};
  });
}

// Experts without replicas are on the devices once, in the one byte that they are kept in.
TEST(CheckLaws, HoldForExpertsThatAreKeptInOneByte) {
  const double experts = 7.0 * 16 * (3 * 1024 * 1024);
  const double dense =
      8 * (2 * 1024.0 * 1024 + 2 * 1024 * 256) + 3 * 1024.0 * 3072 + 7 * 3 * 1024.0 * 1024;
  for (const char* const zero : {"1", "2", "3"}) {
    const std::vector<double> wide = weights_on_devices("bf16", zero);
    const std::vector<double> cast = weights_on_devices("fp8", zero);
    ASSERT_EQ(wide.size(), 1U);
    ASSERT_EQ(cast.size(), 1U);
    EXPECT_NEAR(wide[0] - cast[0], *zero == '3' ? 0 : experts + 2 * dense, 1) << zero;
  }
}

/// FLOPs of the model in a step whose experts drop what exceeds `capacity` times the mean, and the
/// part of all pairs of token and expert that they drop.
std::vector<double> flops_and_dropped(const char* capacity) {
  const Scenario scenario =
      prepare_scenario(std::string(STEPCAST_SOURCE_DIR) + "/tests/sim/laws/experts.yaml",
                       {"parallel.ep=4", "moe.routing={distribution: zipf}",
                        std::string("moe.capacity_factor=") + capacity},
                       SearchPath{{std::string(STEPCAST_SOURCE_DIR) + "/tests/sim/laws"}});
  return in_child([&] {
    const Forecast result = forecast(scenario);
    return std::vector<double>{*result.model_flops, result.experts->dropped};
  });
}

TEST(StepFlops, DroppedTokensAreNoWorkOfTheModel) {
  const auto all = flops_and_dropped("none"), few = flops_and_dropped("0.5");
  EXPECT_EQ(flops_and_dropped("1000"), all);
  EXPECT_EQ(all.at(1), 0);
  EXPECT_GE(few.at(1), 0.5);  // no expert takes more than half of the mean
  // seven layers of four chosen experts of three matrices, for 32 sequences of 2048 tokens
  const double experts = 3.0 * 2 * 4 * (3 * 1024 * 512) * 7 * 32 * 2048;
  EXPECT_NEAR((all.at(0) - few.at(0)) / experts, few.at(1), 1e-9);
}

}  // namespace
}  // namespace stepcast
