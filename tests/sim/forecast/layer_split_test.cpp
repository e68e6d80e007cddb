#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <random>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/step_alone.hpp"

// How layers are split by `auto`, by the time of the step: every dense preset on several pipelines.
// STEPCAST_SPLITS sets how many plans are drawn; all of them are 357.
namespace stepcast {
namespace {

const std::string scenarios = std::string(STEPCAST_SOURCE_DIR) + "/scenarios/";

struct Plan {
  std::string model;
  std::int64_t tp = 1, pp = 1, vpp = 1, sequence = 4096;
  std::vector<std::string> settings = {};
  std::string text() const {
    std::string text = model + " tp" + std::to_string(tp) + " pp" + std::to_string(pp) + " vpp" +
                       std::to_string(vpp);
    for (const std::string& setting : settings) text += " " + setting;
    return text;
  }
};

/// Four micro-batches per stage.
Scenario prepared(const Plan& plan, const std::string& layers) {
  const std::int64_t devices = std::max<std::int64_t>(8, plan.tp * plan.pp);
  const auto set = [](const std::string& key, std::int64_t value) {
    return key + "=" + std::to_string(value);
  };
  std::vector<std::string> settings{
      "model={extends: " + scenarios + "models/" + plan.model + ".yaml}",
      set("cluster.devices", devices),
      set("parallel.tp", plan.tp),
      set("parallel.pp", plan.pp),
      set("parallel.vpp", plan.vpp),
      set("training.sequence", plan.sequence),
      std::string("parallel.sequence_parallel=") + (plan.tp > 1 ? "true" : "false"),
      std::string("schedule.pipeline=") + (plan.vpp > 1 ? "interleaved_1f1b" : "1f1b"),
      "training.micro_batch=1",
      set("training.global_batch", 4 * plan.pp * (devices / (plan.tp * plan.pp))),
      "parallel.layers_per_chunk=" + layers};
  settings.insert(settings.end(), plan.settings.begin(), plan.settings.end());
  return prepare_scenario(scenarios + "llama2-13b-8.yaml", settings, default_search_path({}));
}

/// The step; one pipeline shares no link with another, so that it is that of the network too.
double step(const Plan& plan, const std::string& layers) {
  const Scenario scenario = prepared(plan, layers);
  CollectiveTimes times(scenario.cluster, scenario.workload.communication.algorithms);
  return step_alone(scenario, times).value();
}

std::vector<Plan> plans_of(const std::string& model) {
  const Plan small{model, 1, 1, 1, 1024};
  const ModelSpec spec = prepared(small, "even").workload.model;
  const auto* attention = std::get_if<GroupedQueryAttention>(&spec.attention);
  if (spec.moe || attention == nullptr) return {};
  // Narrower parts exchange for longer than they compute, and no split looks at exchanges.
  constexpr std::int64_t least_columns = 512;
  std::int64_t tp = std::gcd(std::gcd(attention->heads, attention->kv_heads), 8);
  while (tp > 1 && spec.hidden / tp < least_columns) tp /= 2;
  const std::int64_t sequence =
      spec.positions > 0 ? std::min<std::int64_t>(spec.positions, 4096) : std::int64_t{4096};
  std::vector<Plan> plans;
  for (const std::int64_t pp : {4, 8, 16})
    for (const std::int64_t vpp : {1, 2, 4})
      if (spec.layers >= pp * vpp) plans.push_back({model, tp, pp, vpp, sequence});
  return plans;
}

std::vector<Plan> drawn_plans(std::size_t count) {
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::directory_iterator(scenarios + "models"))
    models.push_back(entry.path().stem().string());
  std::ranges::sort(models);
  std::vector<Plan> plans;
  for (const std::string& model : models)
    for (const Plan& plan : plans_of(model)) plans.push_back(plan);
  constexpr unsigned seed = 22;
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < plans.size(); ++i)
    std::swap(plans[i], plans[i + random() % (plans.size() - i)]);
  plans.resize(std::min(count, plans.size()));
  return plans;
}

std::size_t count_from(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<std::size_t>(std::stoul(text));
}

/// Steps of the plans by `auto` over those by `even`, with the mean gain printed.
std::vector<double> over_even(const std::vector<Plan>& plans) {
  std::vector<double> ratios;
  double gain = 0;
  for (const Plan& plan : plans) {
    ratios.push_back(step(plan, "auto") / step(plan, "even"));
    gain += 1 - ratios.back();
  }
  std::cout << plans.size() << " plans, mean gain over even "
            << 100 * gain / static_cast<double>(plans.size()) << " %\n";
  EXPECT_GT(gain, 0);
  return ratios;
}

constexpr double rounding = 0.001;  // of transfers and gradients, which no split looks at

TEST(LayerSplit, IsNeverSlowerThanEven) {
  const std::vector<Plan> plans = drawn_plans(count_from("STEPCAST_SPLITS", 12));
  const std::vector<double> ratios = over_even(plans);
  for (std::size_t i = 0; i < plans.size(); ++i)
    EXPECT_LE(ratios[i], 1 + rounding) << plans[i].text();
}

/// One pipeline of a model with experts, which eight ranks share and the host may launch one by
/// one.
Plan experts_plan(std::mt19937& random) {
  const auto any = [&](std::vector<std::string> of) { return of[random() % of.size()]; };
  Plan plan{any({"qwen3-next-80b-a3b", "qwen3-30b-a3b", "mixtral-8x7b"})};
  plan.pp = std::vector<std::int64_t>{4, 8}[random() % 2];
  plan.vpp = static_cast<std::int64_t>(1 + random() % 2);
  plan.sequence = 2048;
  plan.settings = {"cluster.extends=" + scenarios + "clusters/dgx-h100.yaml",
                   "cluster.devices=" + std::to_string(8 * plan.pp),
                   "model.mtp_layers=0",
                   "training.global_batch=" + std::to_string(16 * plan.pp),
                   "parallel.ep=8",
                   "moe.experts=" + any({"grouped", "sequential"})};
  return plan;
}

// From hosts that keep ahead to such as set the pace of every stage. Of many plans one in a hundred
// may be slower, by no more than 2 % (docs/models/operators.md, "Layers on stages"); of few, none.
TEST(LayerSplit, IsSeldomSlowerThanEvenWhateverTheHost) {
  constexpr double most = 0.02;
  constexpr unsigned seed = 23;
  std::mt19937 random(seed);
  const std::size_t count = count_from("STEPCAST_SPLITS", 12);
  std::vector<Plan> plans = drawn_plans(count / 2);
  while (plans.size() < count) plans.push_back(experts_plan(random));
  for (Plan& plan : plans) {
    const double speed = std::pow(10, -1.5 * static_cast<double>(random() % 1000) / 1000);
    plan.settings.push_back("runtime.host_speed=" + std::to_string(speed));
    const char* dispatches[] = {"eager", "task_queue", "graph_sink"};
    plan.settings.push_back(std::string("runtime.dispatch=") + dispatches[random() % 3]);
  }
  const std::vector<double> ratios = over_even(plans);
  std::size_t slower = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    slower += ratios[i] > 1 + rounding ? 1 : 0;
    EXPECT_LE(ratios[i], 1 + most) << plans[i].text();
  }
  EXPECT_LE(slower, plans.size() / 100);
}

/// [chunk][stage]
Table layers_on_stages(const Scenario& scenario) {
  Table table;
  for (const auto& row : assign_layers(scenario.workload, scenario.cluster).slices) {
    table.emplace_back();
    for (const auto& slice : row) table.back().push_back(slice.count);
  }
  return table;
}

// The host launches sixteen experts one by one, so that the head is hidden behind what it takes.
TEST(LayerSplit, OfAHostThatSetsThePaceStaysEven) {
  const auto layers = [](const std::string& speed) {
    return layers_on_stages(prepare_scenario(
        scenarios + "what-if/qwen3-next-80b-h100.yaml",
        {"moe.experts=sequential", "runtime.host_speed=" + speed}, default_search_path({})));
  };
  const Table even(3, std::vector<std::int64_t>(4, 4));
  EXPECT_EQ(layers("0.2"), even);
  EXPECT_NE(layers("5"), even);
}

// Vocabularies of 128 k and more make the last stage the heavy one.
TEST(LayerSplit, OfAHeavyLastStageIsAsFastAsAnySplitOneLayerAway) {
  std::vector<Plan> plans{{"qwen1.5-1.8b", 8, 8, 1, 4096}, {"llama3-70b", 8, 8, 1, 4096},
                          {"qwen2-72b", 8, 16, 1, 4096},   {"qwen1.5-14b", 8, 8, 2, 4096},
                          {"llama3-8b", 8, 8, 2, 4096},    {"telechat3-36b", 8, 16, 2, 4096}};
  plans.resize(std::min(plans.size(), count_from("STEPCAST_HEAVY", 1)));
  for (const Plan& plan : plans) {
    const Table table = layers_on_stages(prepared(plan, "auto"));
    const double chosen = step(plan, "auto");
    double best = chosen;
    const auto stages = static_cast<std::size_t>(plan.pp);
    const std::size_t parts = table.size() * stages;
    for (std::size_t from = 0; from < parts; ++from)
      for (std::size_t to = 0; to < parts; ++to) {
        Table moved = table;
        if (from == to || --moved[from / stages][from % stages] < 1) continue;
        ++moved[to / stages][to % stages];
        best = std::min(best, step(plan, table_text(moved)));
      }
    // Exchanges, which no split looks at, turn more round between the chunks of a loop.
    EXPECT_LE(chosen, (plan.vpp > 1 ? 1.03 : 1.01) * best) << plan.text();
    std::cout << plan.text() << ": " << 100 * (chosen / best - 1) << " % above the best move\n";
  }
}

}  // namespace
}  // namespace stepcast
