#include "stepcast/sim/scenario/scenario.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "model_config.hpp"
#include "read_factors.hpp"
#include "read_lengths.hpp"
#include "read_platform.hpp"
#include "read_task_graph.hpp"
#include "scenario_content.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/base/known_keys.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/draft.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {
namespace {

void append(std::vector<Diagnostic>& all, const InputError& error) {
  all.insert(all.end(), error.diagnostics().begin(), error.diagnostics().end());
}

void require_mapping(const Node& root) {
  if (root.kind == Node::Kind::mapping) return;
  const char* what = root.kind == Node::Kind::null   ? "is empty"
                     : root.kind == Node::Kind::list ? "is a list"
                                                     : "is a single value";
  throw InputError(
      {{root.place, {}, std::string(what) + ", allowed: a mapping that begins with stepcast: 1"}});
}

/// A document that must be a mapping, with its overrides; every wrong override is reported.
/// Keys that are given twice go to `reading`: the first counts, so that the rest can be judged.
Node load(std::string_view text, const std::string& path, const std::vector<std::string>& overrides,
          const SearchPath& search, FileKind wanted, Reading& reading) {
  std::vector<Diagnostic> repeated;
  Node root = load_document_text(text, path, search, &repeated);
  require_mapping(root);
  const auto kind = file_kind(root);
  std::vector<Diagnostic> wrong;
  apply_overrides(root, overrides, search, wrong);
  give_way_to_config(root);
  // Overrides may give every key of a plan one value: a scenario is left.
  require_kind(kind == FileKind::plan ? file_kind(root) : kind, wanted, path);
  for (const Diagnostic& d : repeated) {
    reading.failed.insert(d.path);
    reading.diagnostics.push_back(d);
  }
  if (wrong.empty()) return root;
  append(reading.diagnostics, InputError(std::move(wrong)));
  throw InputError(std::move(reading.diagnostics));
}

template <class Describe>
void read(const Node& root, Reading& reading, const Describe& body) {
  Section section{root, {}, reading};
  body(section);
  section.finish();
}

void throw_if_wrong(Reading& reading) {
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
}

/// The file that the value at `path` names, beside the file that it stands in or on the search
/// path; reported where there is none.
std::optional<std::filesystem::path> named_file(const Node& root, const std::string& path,
                                                const std::string& name, const char* what,
                                                const SearchPath& search, Reading& reading) {
  const Place place = place_of(root, path);
  const bool in_file = !place.file.starts_with("--set ");
  const auto directory =
      in_file ? std::filesystem::path(place.file).parent_path() : std::filesystem::path{};
  auto file = find_file(name, directory, search);
  if (!file) {
    reading.report(
        place, path,
        "names '" + shortened(name) + "', which does not exist, allowed: the path of a " + what);
  }
  return file;
}

/// Reads the config.json that stands at `path`.
void read_config(const Node& root, const std::string& path, const std::string& config,
                 ModelSpec& model, const SearchPath& search, Reading& reading) {
  const auto file = named_file(root, path, config, "config.json", search, reading);
  if (!file) {
    reading.failed.insert("model");
    return;
  }
  const std::string name = model.name;
  try {
    model = read_hugging_face(*file);
    if (!name.empty()) model.name = name;
  } catch (const InputError& error) {
    reading.failed.insert("model");
    append(reading.diagnostics, error);
  }
}

/// What is wrong with the rows of a log of expert counts; empty: nothing.
std::string wrong_rows(const ModelSpec& model, const RoutingSpec& routing, bool says_layers) {
  const auto experts = static_cast<std::size_t>(model.moe->experts);
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
  const std::string from = place_of(root, path).file;
  const auto directory = from.starts_with("--set ") ? std::filesystem::path{}
                                                    : std::filesystem::path(from).parent_path();
  const auto file = find_file(routing.file, directory, search);
  if (!file) return refuse("which does not exist, allowed: the path of a text file");
  std::string text = read_document_text(file->string(), search);
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
      append(reading.diagnostics, error);
    }
  }
  reading.failed.insert(path);
}

/// Nothing depends on the factor of an affinity that no host has.
void drop_unused_affinities(const StallsSpec& stalls, std::vector<Assumption>& assumptions) {
  using Affinity = StallsSpec::SlowHosts::Affinity;
  for (const auto& [affinity, path] :
       {std::pair{Affinity::unbound, "cluster.host.affinity.unbound"},
        {Affinity::cross_numa, "cluster.host.affinity.cross_numa"}}) {
    if (std::ranges::count(stalls.slow_hosts, affinity, &StallsSpec::SlowHosts::affinity) > 0)
      continue;
    std::erase_if(assumptions, [path = path](const Assumption& a) { return a.path == path; });
  }
}

/// Every key by itself, and the files that keys name.
void read_draft(const Node& root, const SearchPath& search, ScenarioDraft& draft,
                Reading& reading) {
  draft.names_graph = names_task_graph(root);
  const Node all = with_platform(root, "cluster.");
  const auto read_keys = [&](const Node& keys) {
    read(keys, reading, [&](Visitor& visitor) { describe(visitor, draft); });
  };
  if (draft.names_graph)
    read_keys(without_job(all, reading));
  else if (const auto plain = without_config_keys(all))
    read_keys(*plain);
  else
    read_keys(all);
  Scenario& scenario = draft.scenario;
  read_platform_file(root, search, "cluster.", scenario.cluster, reading);
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

Scenario read_root(const Node& root, std::string question, const SearchPath& search,
                   Reading reading) {
  ScenarioDraft draft;
  read_draft(root, search, draft, reading);
  Scenario& scenario = draft.scenario;
  Checks checks{root, reading};
  if (draft.names_graph) throw_if_wrong(reading);  // without its graph nothing more can be said
  if (scenario.graph) {
    scenario.schedule.table = draft.graph;  // what a report calls the order of the units
    check_task_graph(scenario, checks);
  } else {
    settle(scenario, checks);
    check_scenario(scenario, checks);
  }
  throw_if_wrong(reading);
  take_fastest_links(scenario.cluster);
  scenario.assumptions = std::move(reading.assumptions);
  drop_unused_affinities(scenario.stalls, scenario.assumptions);
  scenario.content = content_of(draft);
  scenario.sha256 = sha256(scenario.content);
  scenario.question = std::move(question);
  scenario.document = std::make_shared<const Node>(root);
  return scenario;
}

}  // namespace

std::string question_of(std::string_view text) {
  constexpr std::string_view mark = "# question:";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(mark)) continue;
    const std::size_t first = line.find_first_not_of(" \t", mark.size());
    if (first == std::string_view::npos) return {};
    return std::string(line.substr(first, line.find_last_not_of(" \t\r") + 1 - first));
  }
  return {};
}

PipelineShape Scenario::pipeline_shape() const {
  if (graph) return graph->shape;
  const std::int64_t group = schedule.pipeline_group_given;
  PipelineShape shape{.stages = workload.plan.pp,
                      .chunks = workload.plan.vpp,
                      .micro_batches = micro_batches(),
                      .group = group > 0 ? group : workload.plan.pp,
                      .slices = schedule.slices,
                      .warm_up = schedule.warm_up,
                      .put_off = schedule.put_off.value_or(0)};
  if (schedule.table.empty()) {
    shape.placement = pipeline_schedule(schedule.pipeline).placement;
  } else if (order_table) {
    shape.placement = order_table->shape.placement;
    shape.slices = order_table->shape.slices;
  }
  return shape;
}

std::vector<StageOrder> Scenario::orders() const {
  if (graph) return graph->orders;
  if (order_table) return order_table->orders;
  const PipelineSchedule& known = pipeline_schedule(schedule.pipeline);
  const bool adds_pairs = !known.pairs && workload.moe.overlap == MoeSpec::Overlap::fb_pair;
  const PipelineShape shape = pipeline_shape();
  if (adds_pairs) return paired_orders(known, shape);
  const bool blocks = schedule.p2p == ScheduleSpec::PointToPoint::blocking;
  return blocks && exchanges(known, shape) ? exchanging_orders(known, shape)
                                           : stage_orders(known, shape);
}

Scenario read_values(const Node& root, const SearchPath& search, Reading& reading) {
  require_mapping(root);
  ScenarioDraft draft;
  read_draft(root, search, draft, reading);
  Scenario& scenario = draft.scenario;
  Checks checks{root, reading};
  check_cluster(scenario.cluster, "cluster.", checks);
  if (!scenario.synthetic && checks.good({"model"}))
    check_model(scenario.workload.model, "model.", checks);
  return std::move(scenario);
}

Scenario read_scenario(const std::string& path, const std::vector<std::string>& overrides,
                       const SearchPath& search) {
  const std::string text = read_document_text(path, search);
  Reading reading;
  const Node root = load(text, path, overrides, search, FileKind::scenario, reading);
  return read_root(root, question_of(text), search, std::move(reading));
}

ScenarioDocument load_scenario(const std::string& path, const std::vector<std::string>& overrides,
                               const SearchPath& search) {
  const std::string text = read_document_text(path, search);
  Reading reading;
  Node root = load(text, path, overrides, search, FileKind::scenario, reading);
  throw_if_wrong(reading);
  return {std::move(root), path, question_of(text)};
}

Scenario read_scenario(const ScenarioDocument& document, const SearchPath& search) {
  require_mapping(document.root);
  return read_root(document.root, document.question, search, {});
}

std::string wrong_scenario_value(std::string_view path, const Node& value) {
  ScenarioDraft draft;
  return wrong_assignment([&](Visitor& visitor) { describe(visitor, draft); }, path, value);
}

ClusterSpec read_cluster(const std::string& path, const std::vector<std::string>& overrides,
                         const SearchPath& search) {
  Reading reading;
  const Node root =
      load(read_document_text(path, search), path, overrides, search, FileKind::cluster, reading);
  ClusterSpec cluster;
  const Node all = with_platform(root, {});
  read(all, reading, [&](Visitor& visitor) { describe(visitor, cluster); });
  read_platform_file(root, search, {}, cluster, reading);
  Checks checks{root, reading};
  check_cluster(cluster, {}, checks);
  throw_if_wrong(reading);
  take_fastest_links(cluster);
  return cluster;
}

void check_cluster_part(const std::string& path, const SearchPath& search) {
  Reading reading{.partial = true};
  const Node root =
      load(read_document_text(path, search), path, {}, search, FileKind::cluster, reading);
  ClusterSpec cluster;
  read(root, reading, [&](Visitor& visitor) { describe(visitor, cluster); });
  throw_if_wrong(reading);
}

ModelSpec read_model(const std::string& path, const SearchPath& search, const std::string& as) {
  ModelSpec model;
  Reading reading;
  if (path.ends_with(".json"))
    return read_hugging_face(find_file(path, {}, search).value_or(path), as);
  if (!as.empty())
    throw InputError(
        {{{}, "--as", "is for a Hugging Face config.json, whose model_type it replaces"}});
  const Node root =
      load(read_document_text(path, search), path, {}, search, FileKind::model, reading);
  std::string config;
  std::size_t source = ScenarioDraft::from_keys;
  read(root, reading, [&](Visitor& visitor) { describe_model(visitor, model, config, source); });
  if (source == ScenarioDraft::from_config && reading.diagnostics.empty()) {
    read_config(root, "hf_config", config, model, search, reading);
  }
  Checks checks{root, reading};
  if (!reading.failed.contains("model") && !reading.failed.contains(""))
    check_model(model, {}, checks);
  throw_if_wrong(reading);
  return model;
}

}  // namespace stepcast
