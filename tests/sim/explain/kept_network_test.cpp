#include <gtest/gtest.h>

#include <algorithm>

#include "sim/forecast/step_setup.hpp"
#include "sim/in_child.hpp"
#include "sim/network/map_numbers.hpp"
#include "stepcast/sim/explain/explain.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/step_key.hpp"
#include "stepcast/sim/network/kept_network_map.hpp"

namespace stepcast {
namespace {

using testing::in_child;
using testing::numbers_of;

Scenario scenario_of(const std::string& file, const std::vector<std::string>& overrides) {
  return prepare_scenario(std::string(STEPCAST_SOURCE_DIR) + "/scenarios/" + file, overrides,
                          default_search_path({}));
}

struct Built {
  std::string key;
  std::vector<double> map;
};
Built built(const Scenario& scenario, const LayerTable& layers) {
  Ideal same_cut;
  same_cut.layers = &layers;
  const StepSetup setup(scenario, nullptr, same_cut, false);
  Built result;
  setup.with_network_input(false, [&](const NetworkMapInput& input) {
    result.key = network_key(input);
    result.map = numbers_of(build_network_map(input));
    return NetworkMap{};
  });
  return result;
}

struct KeyCase {
  std::string file;
  std::vector<std::string> overrides;
};

// Every number of a scenario is varied, and the map built anew: where it is another one, so is the
// key. That most keys stay is what keeping a map is for.
TEST(KeptNetwork, KeyTellsApartWhateverMakesAnotherMap) {
  const KeyCase cases[] = {{"telechat3-105b-4096.yaml",
                            {"cluster.devices=128", "training.global_batch=16", "parallel.ep=2"}},
                           {"llama3-70b-dgx-h100.yaml", {"training.global_batch=128"}}};
  for (const auto& [file, overrides] : cases) {
    const Scenario base = scenario_of(file, overrides);
    const LayerTable layers = layers_of(base);
    const Built plain = built(base, layers);
    std::size_t same = 0, other = 0;
    for (const Parameter& parameter : parameters(base)) {
      const auto scenario = varied(base, parameter, 0.99);
      if (!scenario) continue;
      const Built now = built(*scenario, layers);
      (now.key == plain.key ? same : other) += 1;
      if (now.key == plain.key) {
        EXPECT_EQ(now.map, plain.map) << file << " " << parameter.path;
      }
    }
    EXPECT_GT(same, 20U) << file;
    EXPECT_GT(other, 3U) << file;
  }
}

TEST(KeptNetwork, AProcessThatRemembersFindsWhatOthersFind) {
  const auto steps = [](bool remembers) {
    return in_child([&] {
      if (remembers) remember_network_map();
      std::vector<double> found;
      for (const char* changed : {"parallel.ep=2", "cluster.host.queue_depth=8", "parallel.ep=4",
                                  "training.micro_batch=2", "parallel.ep=2"})
        found.push_back(
            forecast(scenario_of("telechat3-105b-4096.yaml",
                                 {"cluster.devices=128", "training.global_batch=16", changed}))
                .step_time.value());
      return found;
    });
  };
  EXPECT_EQ(steps(true), steps(false));
}

// Where the key stays, explain takes the step time of the scenario as it is.
TEST(StepKey, EqualKeysHaveEqualStepTimes) {
  const Scenario base =
      scenario_of("telechat3-105b-4096.yaml",
                  {"cluster.devices=128", "training.global_batch=16", "parallel.ep=2"});
  const LayerTable layers = layers_of(base);
  Ideal same_cut;
  same_cut.layers = &layers;
  const auto time_of = [&](const Scenario& scenario) {
    return in_child([&] { return std::vector{forecast(scenario, same_cut).step_time.value()}; });
  };
  const auto key = step_key(base, layers);
  const auto time = time_of(base);
  ASSERT_TRUE(key);
  const KnownStep known{key, Seconds{time.front()}};
  const auto beside = [&](const Scenario& scenario) {
    return in_child([&] { return std::vector{step_time_beside(known, scenario, layers).value()}; });
  };
  EXPECT_EQ(beside(base), time);
  constexpr std::size_t forecast_too = 6;
  std::size_t same = 0, other = 0;
  for (const Parameter& parameter : parameters(base)) {
    const auto scenario = varied(base, parameter, 0.99);
    if (!scenario) continue;
    if (step_key(*scenario, layers) != key) {
      if (++other <= forecast_too) {
        EXPECT_EQ(beside(*scenario), time_of(*scenario)) << parameter.path;
      }
      continue;
    }
    ++same;
    EXPECT_EQ(time_of(*scenario), time) << parameter.path;
  }
  EXPECT_GT(same, 10U);
  EXPECT_GT(other, 20U);
}

// Stalls draw and change with time, which programs do not say.
TEST(StepKey, StallsHaveNone) {
  const Scenario jitters = scenario_of("telechat3-105b-4096.yaml",
                                       {"cluster.devices=128", "training.global_batch=16",
                                        "parallel.ep=2", "stalls.compute_jitter.sigma=0.01"});
  EXPECT_FALSE(step_key(jitters, layers_of(jitters)));
}

}  // namespace
}  // namespace stepcast
