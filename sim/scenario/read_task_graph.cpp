#include "read_task_graph.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "read_draft.hpp"
#include "reading_files.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/sim/graph/task_graph.hpp"

namespace stepcast {
namespace {

/// The file or folder beside the file that names it, or a file on the search path.
std::optional<std::filesystem::path> named(const Node& root, const SearchPath& search,
                                           const std::string& path, const ScenarioDraft& draft,
                                           Reading& reading) {
  const bool folder = draft.workload_source == ScenarioDraft::from_chakra;
  const Place place = place_of(root, path);
  const auto directory = directory_of(place);
  // Traces are a folder, which the search path does not know.
  if (folder && is_folder(directory / draft.graph)) return directory / draft.graph;
  if (const auto file = folder ? std::nullopt : find_file(draft.graph, directory, search))
    return file;
  reading.report(place, path,
                 "names '" + shortened(draft.graph) + "', which does not exist, allowed: " +
                     (folder ? "a folder of traces PREFIX.RANK.et" : "a file of run --graph"));
  return {};
}

}  // namespace

bool names_task_graph(const Node& root) {
  const Node* workload = root.kind == Node::Kind::mapping ? root.find("workload") : nullptr;
  if (workload == nullptr || workload->kind != Node::Kind::mapping) return false;
  return workload->find("graph") != nullptr || workload->find("chakra") != nullptr;
}

Node without_job(const Node& root, Reading& reading) {
  Node kept = root;
  // A trace names no algorithm of its collectives.
  const Node* workload = root.find("workload");
  const bool traces = workload->find("chakra") != nullptr;
  std::erase_if(kept.entries, [&](const Node::Entry& entry) {
    const std::vector<Node::Entry>& below = entry.value.entries;
    if (traces && entry.key == "communication" && below.size() == 1 &&
        below.front().key == "algorithm")
      return true;  // read with the traces
    // Said twice, one of both would be ignored without a word.
    constexpr std::array<std::string_view, 6> said{"parallel", "training",      "schedule",
                                                   "moe",      "communication", "runtime"};
    if (std::ranges::find(said, entry.key) == said.end()) return false;
    reading.report(entry.place, entry.key,
                   "is said by the graph of the workload, allowed beside it: name, cluster, "
                   "stalls, simulate" +
                       std::string(traces ? ", communication.algorithm" : ""));
    return true;
  });
  return kept;
}

void read_task_graph(const Node& root, const SearchPath& search, ScenarioDraft& draft,
                     Reading& reading) {
  const bool folder = draft.workload_source == ScenarioDraft::from_chakra;
  const std::string path = folder ? "workload.chakra" : "workload.graph";
  if (reading.failed.contains(path)) return;
  Scenario& scenario = draft.scenario;
  try {
    const auto found = named(root, search, path, draft, reading);
    if (!found) return;
    scenario.graph =
        std::make_shared<const TaskGraph>(folder ? read_chakra(*found) : read_graph(*found));
    scenario.graph_path = std::filesystem::absolute(*found).lexically_normal().string();
  } catch (const InputError& error) {
    return append_errors(reading, error);
  }
  const TaskGraph& graph = *scenario.graph;
  scenario.workload.plan = graph.plan;
  CollectiveChoice& algorithms = scenario.workload.communication.algorithms;
  const Node* said = root.find("communication");
  if (const Node* chosen = folder && said != nullptr ? said->find("algorithm") : nullptr) {
    read_mapping(*chosen, "communication.algorithm", reading,
                 [&](Visitor& v) { describe(v, algorithms); });
  } else {
    algorithms = graph.algorithms;
  }
  // A graph remembers the stalls of its run; the scenario may replace them, wholly.
  if (graph.stalls && root.find("stalls") == nullptr) {
    read_mapping(*graph.stalls, "stalls", reading,
                 [&](Visitor& v) { describe(v, scenario.stalls); });
  }
  scenario.workload.training.micro_batch = graph.micro_batch;
  scenario.workload.training.global_batch = graph.global_batch;
  scenario.schedule.p2p = graph.p2p;
  // Stages of given times exchange without bytes, a latency apart; that of the graph holds.
  if (graph.boundary_latency) {
    scenario.synthetic->boundary_latency = *graph.boundary_latency;
    scenario.synthetic->boundary_latency_given = true;
  }
}

void check_task_graph(const Scenario& scenario, Checks& checks) {
  check_cluster(scenario.cluster, "cluster.", checks);
  // The graph's ranks are the job: no key resizes it.
  const std::int64_t ranks = scenario.graph->plan.world();
  checks.require(!checks.good({"cluster.devices"}) || scenario.cluster.devices == ranks,
                 "cluster.devices",
                 "is " + std::to_string(scenario.cluster.devices) + " and the graph has " +
                     std::to_string(ranks) + " ranks, allowed: " + std::to_string(ranks));
  // Power is counted from kinds of operators, and tasks have lengths alone.
  checks.require(!scenario.cluster.device.power_cap, "cluster.device.power_cap",
                 "is set, but a task graph does not say what its operators draw, allowed: none");
  check_stalls(scenario, checks);
}

}  // namespace stepcast
