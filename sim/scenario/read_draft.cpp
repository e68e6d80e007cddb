#include "read_draft.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "model_config.hpp"
#include "read_factors.hpp"
#include "read_lengths.hpp"
#include "read_platform.hpp"
#include "read_task_graph.hpp"
#include "reading_files.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {
namespace {

/// The file that the value at `path` names, beside the file that it stands in or on the search
/// path; reported where there is none.
std::optional<std::filesystem::path> named_file(const Node& root, const std::string& path,
                                                const std::string& name, const char* what,
                                                const SearchPath& search, Reading& reading) {
  const Place place = place_of(root, path);
  auto file = find_file(name, directory_of(place), search);
  if (!file) {
    reading.report(
        place, path,
        "names '" + shortened(name) + "', which does not exist, allowed: the path of a " + what);
  }
  return file;
}

/// What is wrong with the rows of a log of expert counts; empty: nothing.
std::string wrong_rows(const ModelSpec& model, const RoutingSpec& routing, bool says_layers) {
  const auto experts = static_cast<std::size_t>(model.moe->experts);
  // With counts of each layer a step of the log is a row for each layer with experts.
  const bool own = routing.layers == RoutingSpec::Layers::own;
  const std::size_t with_experts = count_moe_layers(model), layers = own ? with_experts : 1;
  const std::vector<double>& counts = routing.counts;
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  const std::size_t step = experts * layers;
  if (counts.empty() || step == 0 || counts.size() % step != 0 || sum <= 0)
    return "which holds " + std::to_string(counts.size()) + " numbers of sum " + shortest(sum) +
           ", allowed: one for each of the " + std::to_string(experts) + " experts" +
           (own ? " of each layer" : "") + ", step by step, not all 0";
  const std::size_t rows = counts.size() / experts;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto first = counts.begin() + static_cast<std::ptrdiff_t>(row * experts);
    const auto end = first + static_cast<std::ptrdiff_t>(experts);
    if (std::any_of(first, end, [](double count) { return count > 0; })) continue;
    const std::string layer = own ? "layer " + std::to_string(row % layers) + " of " : "";
    return "which holds only 0 for the experts of " + layer + "step " +
           std::to_string(row / layers) + ", allowed: a number above 0 in each row";
  }
  // As many rows as layers may be one step of all layers or a step each: guessing wrong would
  // simulate another load without a word.
  if (rows > 1 && rows == with_experts && !own && !says_layers && routing.step == 0)
    return "which holds " + std::to_string(rows) +
           " rows, as many as the model has layers with experts, allowed: with "
           "moe.routing.layers own (a row for each layer) or shared (for each step) beside it";
  return {};
}

/// Reads the expert counts of `moe.routing.file`, one per expert of the model.
void read_counts(const Node& root, Scenario& scenario, const SearchPath& search, Reading& reading) {
  const std::string path = "moe.routing.file";
  RoutingSpec& routing = scenario.workload.moe.routing;
  if (routing.distribution != RoutingSpec::Distribution::file || reading.failed.contains(path))
    return;
  const auto refuse = [&](const std::string& message) {
    reading.failed.insert(path);
    reading.report(place_of(root, path), path,
                   "names '" + shortened(routing.file) + "', " + message);
  };
  const auto file = find_file(routing.file, directory_of(place_of(root, path)), search);
  if (!file) return refuse("which does not exist, allowed: the path of a text file");
  std::string text = read_document_text(file->string(), search);
  // Logs are CSV, or columns with blanks.
  std::ranges::replace(text, ',', ' ');
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto count = parse_number(word);
    // Shares of the sum are counted with: it must be finite, and none may vanish beside it.
    constexpr double least = 1e-9, most = 1e15;
    const bool fits = count && (*count == 0 || (*count >= least && *count <= most));
    if (!fits)
      return refuse("which holds '" + shortened(word) + "', allowed: 0, or numbers of " +
                    shortest(least) + " to " + shortest(most));
    routing.counts.push_back(*count);
  }
  if (!scenario.workload.model.moe) return;
  const bool says_layers = Checks{root, reading}.given("moe.routing.layers");
  const std::string wrong = wrong_rows(scenario.workload.model, routing, says_layers);
  if (!wrong.empty()) refuse(wrong);
}

/// Reads the orders that schedule.pipeline names, if it names a file.
void read_orders(const Node& root, Scenario& scenario, const SearchPath& search, Reading& reading) {
  if (scenario.schedule.table.empty()) return;
  const std::string path = "schedule.pipeline";
  if (const auto file = named_file(root, path + ".table", scenario.schedule.table, "file of orders",
                                   search, reading)) {
    try {
      scenario.order_table = read_order_table(*file, search);
      scenario.order_file = std::filesystem::absolute(*file).string();
      return;
    } catch (const InputError& error) {
      append_errors(reading, error);
    }
  }
  reading.failed.insert(path);
}

}  // namespace

void read_config(const Node& root, const std::string& path, const std::string& config,
                 ModelSpec& model, const SearchPath& search, Reading& reading) {
  const auto file = named_file(root, path, config, "config.json", search, reading);
  if (!file) {
    reading.failed.insert("model");
    return;
  }
  // The config.json brings the whole model but for the name that the scenario gives.
  const std::string name = model.name;
  try {
    model = read_hugging_face(*file);
    if (!name.empty()) model.name = name;
  } catch (const InputError& error) {
    reading.failed.insert("model");
    append_errors(reading, error);
  }
}

void read_draft(const Node& root, const SearchPath& search, ScenarioDraft& draft,
                Reading& reading) {
  draft.names_graph = names_task_graph(root);
  const std::optional<Node> replaced = with_platform(root, "cluster.");
  const Node& all = replaced ? *replaced : root;
  const auto read_keys = [&](const Node& keys) {
    read_mapping(keys, {}, reading, [&](Visitor& visitor) { describe(visitor, draft); });
  };
  // Keys that the graph says are taken out before the rest is read, with an error for each.
  if (draft.names_graph)
    read_keys(without_job(all, reading));
  else if (const auto plain = without_config_keys(all))
    read_keys(*plain);
  else
    read_keys(all);
  Scenario& scenario = draft.scenario;
  if (scenario.name.empty()) scenario.name = name_of_file(root.place.file);
  // A cluster that stays from an attempt before has its platform file already.
  if (!draft.job_only) read_platform_file(root, search, "cluster.", scenario.cluster, reading);
  if (draft.source == ScenarioDraft::from_workload) scenario.synthetic = draft.synthetic;
  if (draft.names_graph && draft.workload_source != ScenarioDraft::from_times)
    read_task_graph(root, search, draft, reading);
  if (draft.model_source == ScenarioDraft::from_config &&
      !reading.failed.contains("model.hf_config")) {
    read_config(root, "model.hf_config", draft.hf_config, scenario.workload.model, search, reading);
    read_beside_config(root, scenario.workload.model, reading);
  }
  if (auto& documents = scenario.schedule.data.documents;
      documents && !documents->file.empty() &&
      !reading.failed.contains("schedule.data.documents.file"))
    read_lengths(root, search, *documents, reading);
  scenario.workload.documents = scenario.schedule.data.documents.has_value();
  read_counts(root, scenario, search, reading);
  if (scenario.stalls.spread) read_factors(root, search, *scenario.stalls.spread, reading);
  if (!reading.failed.contains("schedule.pipeline")) read_orders(root, scenario, search, reading);
}

void check_draft(const Node& root, ScenarioDraft& draft, Reading& reading) {
  Scenario& scenario = draft.scenario;
  Checks checks{root, reading};
  // Imports turn launch files into keys before; here one would be read as nothing.
  if (draft.launches)
    checks.fail("launch", "is not read here, allowed: the keys that stepcast import writes");
  if (draft.names_graph && !reading.diagnostics.empty()) return;  // nothing more can be said
  // A graph has its own job, and most checks ask for keys that it has no need of.
  if (scenario.graph) {
    scenario.schedule.table = draft.graph;  // what a report calls the order of the units
    check_task_graph(scenario, checks);
  } else {
    settle(scenario, checks);
    check_scenario(scenario, checks);
  }
}

}  // namespace stepcast
