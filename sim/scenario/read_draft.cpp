#include "read_draft.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/scheduler/packing.hpp"
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/draft.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/sim/scenario/spread_spec.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {
namespace {

/// A file that a key names, with one number per line; empty lines and those that begin with # do
/// not count.
struct NumberFile {
  std::string key;   ///< that names it
  std::string path;  ///< as the key has it
  std::string one;   ///< what a line holds: "length"
  std::string line;  ///< what is allowed in a line: "one whole number of tokens per line, 1 to 9"
  std::function<bool(std::string_view)> take;  ///< keeps a number, or says that it is none
};

/// How many were taken.
int read_lines(std::string_view text, const std::string& file, const NumberFile& numbers,
               Reading& reading) {
  int taken = 0;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view word = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (word.empty() || word.front() == '#') continue;
    if (numbers.take(word)) {
      ++taken;
    } else {
      reading.report({file, line, 1}, numbers.key,
                     "is '" + shortened(word) + "', allowed: " + numbers.line);
    }
  }
  return taken;
}

/// Reads the file beside the one that names it, or on the search path. Reports what is wrong: at
/// the key where the file is missing or holds no number, in the file at each line that is none.
void read_number_file(const Node& root, const SearchPath& search, const NumberFile& numbers,
                      Reading& reading) {
  const Place place = place_of(root, numbers.key);
  const auto fail = [&](const std::string& message) {
    reading.failed.insert(numbers.key);
    reading.report(place, numbers.key, message);
  };
  const auto file = find_file(numbers.path, directory_of(place), search);
  if (!file)
    return fail("names '" + shortened(numbers.path) +
                "', which does not exist, allowed: the path of a file with one " + numbers.one +
                " per line");
  const std::size_t before = reading.diagnostics.size();
  int taken = 0;
  const std::string allowed = "a file with one " + std::string(numbers.one) + " per line";
  try {
    taken = read_lines(read_document_text(file->string(), search, allowed), file->string(), numbers,
                       reading);
  } catch (const InputError& error) {
    reading.failed.insert(numbers.key);
    return append_errors(reading, error);
  }
  if (reading.diagnostics.size() > before) {
    reading.failed.insert(numbers.key);
  } else if (taken == 0) {
    fail("names '" + shortened(numbers.path) + "', which holds no " + numbers.one +
         ", allowed: one per line");
  }
}

/// The file or folder beside the file that names it, or a file on the search path.
std::optional<std::filesystem::path> named(const Node& root, const SearchPath& search,
                                           const std::string& path, const ScenarioDraft& draft,
                                           Reading& reading) {
  const bool folder = draft.workload_source == ScenarioDraft::from_chakra;
  const Place place = place_of(root, path);
  const auto directory = directory_of(place);
  // Traces are a folder, which the search path does not know.
  if (folder && is_folder(directory / draft.graph)) return directory / draft.graph;
  if (auto file = folder ? std::nullopt : find_file(draft.graph, directory, search)) return file;
  reading.report(place, path,
                 "names '" + shortened(draft.graph) + "', which does not exist, allowed: " +
                     (folder ? "a folder of traces PREFIX.RANK.et" : "a file of run --graph"));
  return {};
}

/// Whether the workload is a graph or traces.
bool names_task_graph(const Node& root) {
  const Node* workload = root.kind == Node::Kind::mapping ? root.find("workload") : nullptr;
  if (workload == nullptr || workload->kind != Node::Kind::mapping) return false;
  return workload->find("graph") != nullptr || workload->find("chakra") != nullptr;
}

/// The document without the sections that a graph says; each that is there is reported.
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

/// Reads the graph that `workload` names; what is wrong goes to `reading`.
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

/// Of a scenario with a graph only the hardware is left to check.
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

/// As many tokens as a sequence may have.
constexpr double longest = 1 << 30;

/// Reads the file that `schedule.data.documents.file` names, beside the file that names it or on
/// the search path. Every wrong line is reported.
void read_lengths(const Node& root, const SearchPath& search, DocumentSpec& documents,
                  Reading& reading) {
  const auto take = [&](std::string_view word) {
    const auto length = parse_count(word);
    if (!length || *length < 1 || *length > longest) return false;
    documents.lengths.push_back(static_cast<std::int64_t>(*length));
    return true;
  };
  read_number_file(root, search,
                   {"schedule.data.documents.file", documents.file, "length",
                    "one whole number of tokens per line, 1 to 1073741824", take},
                   reading);
}

constexpr double least_factor = 1e-3, most_factor = 1e3;

void read_factor_file(const Node& root, const SearchPath& search, const std::string& key,
                      SpreadSpec::Distribution& part, Reading& reading) {
  const auto take = [&](std::string_view word) {
    const auto factor = parse_number(word);
    if (!factor || !(*factor >= least_factor && *factor <= most_factor)) return false;
    part.factors.push_back(*factor);
    return true;
  };
  read_number_file(root, search,
                   {key, part.file, "factor", "one factor on time per line, 0.001 to 1000", take},
                   reading);
}

/// Reads the factors of every empirical law of `stalls.spread` from the file that it names.
/// What is wrong goes to `reading`, at the line of the file or where the scenario names it.
void read_factors(const Node& root, const SearchPath& search, SpreadSpec& spread,
                  Reading& reading) {
  for (const auto& [name, part] : distributions(spread)) {
    const std::string key = "stalls.spread." + name + ".file";
    // A key that is missing or wrong has its error already.
    const bool named = part->law == SpreadSpec::Distribution::Law::empirical;
    if (named && !part->file.empty() && !reading.failed.contains(key))
      read_factor_file(root, search, key, *part, reading);
  }
}

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
