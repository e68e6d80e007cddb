#include "stepcast/sim/forecast/step_graph.hpp"

#include <algorithm>

#include "node_kinds.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {
namespace {

/// What no graph says, by its key.
std::vector<Diagnostic> beyond_graphs(const Scenario& scenario, const LayerTable& layers) {
  std::vector<Diagnostic> all;
  const auto refuse = [&](bool wrong, const char* key, const char* message) {
    if (wrong) all.push_back({{}, key, message});
  };
  // A graph has numbers, not files.
  auto spread = scenario.stalls.spread;  // its list of distributions may be changed
  refuse(spread && std::ranges::any_of(distributions(*spread),
                                       [](const auto& d) { return !d.second->factors.empty(); }),
         "stalls.spread",
         "takes factors from a file, which a task graph does not hold, allowed: a graph without "
         "it, and stalls beside workload.graph");
  refuse(scenario.cluster.device.power_cap.has_value(), "cluster.device.power_cap",
         "is set, and a task graph does not hold what its operators draw, allowed: none");
  refuse(scenario.schedule.post_validation, "schedule.post_validation",
         "is true, and a task graph holds one step, allowed: false");
  refuse(scenario.simulate.steps > 1, "simulate.steps",
         "are several, and a task graph holds one step, allowed: 1");
  refuse(scenario.workload.documents, "schedule.data.documents",
         "make micro-batches differ, and a task graph has one program for all, allowed: none");
  refuse(!scenario.synthetic && scenario.workload.moe.spare_experts > 0, "moe.spare_experts",
         "makes ranks exchange unequal parts, and a task graph has one program per stage, allowed: "
         "0");
  // Variants of programs have no place in it.
  refuse(!scenario.synthetic && !layer_loads(scenario.workload).even(), "moe.routing",
         "loads ranks of a stage unevenly, and a task graph has one program per stage, allowed: "
         "uniform");
  refuse(kind_programs(scenario, layers, Placement(scenario.workload.plan)).has_value(),
         "cluster.node", "has several kinds, and a task graph has one program per stage");
  return all;
}

/// `stalls:` as the document of the scenario has it.
std::optional<Node> stalls_of(const Scenario& scenario) {
  if (scenario.stalls == StallsSpec{} || !scenario.document) return {};
  const Node* found = scenario.document->find("stalls");
  return found == nullptr ? std::nullopt : std::optional(*found);
}

}  // namespace

TaskGraph step_graph(const Scenario& scenario) {
  if (scenario.graph) {
    // Stalls beside a graph replace those that it holds.
    TaskGraph again = *scenario.graph;
    if (auto beside = stalls_of(scenario)) again.stalls = std::move(beside);
    return again;
  }
  const LayerTable layers = layers_of(scenario);
  if (auto wrong = beyond_graphs(scenario, layers); !wrong.empty())
    throw InputError(std::move(wrong));
  TaskGraph graph;
  graph.name = scenario.name;
  graph.plan = scenario.workload.plan;
  graph.shape = scenario.pipeline_shape();
  graph.p2p = scenario.schedule.p2p;
  graph.micro_batch = scenario.workload.training.micro_batch;
  // Only synthetic workloads replace the network by a latency.
  graph.global_batch = scenario.workload.training.global_batch;
  if (scenario.synthetic && scenario.synthetic->boundary_latency_given)
    graph.boundary_latency = scenario.synthetic->boundary_latency;
  graph.algorithms = scenario.workload.communication.algorithms;
  graph.programs = stage_programs(scenario, layers);
  graph.orders = scenario.orders();
  graph.stalls = stalls_of(scenario);
  return graph;
}

}  // namespace stepcast
