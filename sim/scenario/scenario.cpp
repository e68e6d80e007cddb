#include "stepcast/sim/scenario/scenario.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "read_draft.hpp"
#include "run_framework.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/base/known_keys.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/draft.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/workloads/operator_table.hpp"

namespace stepcast {
namespace {

bool has_model(const Scenario& s) { return !s.synthetic && !s.graph; }
bool has_experts(const Scenario& s) { return has_model(s) && s.workload.model.moe.has_value(); }
bool in_fp8(const Scenario& s) {
  return s.workload.training.precision == TrainingSpec::Precision::fp8_mixed;
}
bool keeps_on_host(const Scenario& s) {
  const TrainingSpec& t = s.workload.training;
  return t.offloads_activations() || t.offload_optimizer || t.offload_experts;
}
bool launches(const Scenario& s, RuntimeSpec::Dispatch dispatch) {
  return s.workload.runtime.dispatch == dispatch;
}
bool has_affinity(const Scenario& s, StallsSpec::SlowHosts::Affinity affinity) {
  return std::ranges::count(s.stalls.slow_hosts, affinity, &StallsSpec::SlowHosts::affinity) > 0;
}

/// Keys of a cluster that begin alike, and the jobs that read them.
struct Part {
  std::string_view begin;
  bool (*is_read)(const Scenario& s);
};
// A key is read where every part that it belongs to is.
constexpr std::array<Part, 21> parts{{
    {"device.efficiency.", has_model},
    {"device.efficiency.grouped_matmul", has_experts},
    {"device.efficiency.grouped_matmul_fp8.", in_fp8},
    {"device.efficiency.matmul_fp8.", in_fp8},
    {"device.efficiency.memory.scatter_add", has_experts},
    {"device.memory.reserve", has_model},
    {"host.affinity.unbound",
     [](const Scenario& s) { return has_affinity(s, StallsSpec::SlowHosts::Affinity::unbound); }},
    {"host.affinity.cross_numa",
     [](const Scenario& s) {
       return has_affinity(s, StallsSpec::SlowHosts::Affinity::cross_numa);
     }},
    // A stream that holds one kernel: each launch waits for the one before.
    {"host.blocking", [](const Scenario& s) { return s.cluster.host.queue_depth == 1; }},
    {"host.compile.", [](const Scenario& s) { return s.workload.runtime.compile_misses > 0; }},
    {"host.cores.", keeps_on_host},
    {"host.device_link.", keeps_on_host},
    {"host.memory.", keeps_on_host},
    {"host.task_queue.",
     [](const Scenario& s) { return launches(s, RuntimeSpec::Dispatch::task_queue); }},
    {"host.graph_sink.factor",
     [](const Scenario& s) { return launches(s, RuntimeSpec::Dispatch::graph_sink); }},
    {"host.graph_sink.launch",
     [](const Scenario& s) {
       return launches(s, RuntimeSpec::Dispatch::graph_sink) || s.workload.runtime.graphs != 0;
     }},
    // A spread that is drawn takes the place of the fleet.
    {"fleet.", [](const Scenario& s) { return has_model(s) && !s.stalls.spread; }},
    {"fleet.slow_nodes.",
     [](const Scenario& s) { return !s.cluster.fleet || !s.cluster.fleet->screened; }},
    {"network.",
     [](const Scenario& s) { return s.workload.plan.world() > s.cluster.node_devices; }},
    {"node.fabric.", [](const Scenario& s) { return s.workload.plan.world() > 1; }},
    {"collectives.", [](const Scenario& s) { return s.workload.plan.world() > 1; }},
}};

/// Kernels of attention have numbers of their own; the job runs one of them.
bool is_other_attention(const Scenario& s, std::string_view key) {
  constexpr std::string_view begin = "device.efficiency.attention.";
  if (!key.starts_with(begin)) return false;
  const std::string_view kernel =
      key.substr(begin.size(), key.find('.', begin.size()) - begin.size());
  const TrainingSpec::Attention attention = s.workload.training.attention;
  if (attention == TrainingSpec::Attention::unfused) return true;
  const AttentionGeneration generation = generation_of(attention);
  if (kernel == "fused") return generation != AttentionGeneration::fused;
  const auto named = named_generations();
  const auto known = std::ranges::find(named, kernel, &AttentionGenerationName::name);
  return known != named.end() && known->kernel != generation;
}

/// Drops the numbers of parts that the job does not have: those of experts in a dense model, of
/// nodes' network in a job of one node.
void drop_unread(const Scenario& scenario, std::vector<Assumption>& numbers) {
  constexpr std::string_view cluster = "cluster.";
  std::erase_if(numbers, [&](const Assumption& number) {
    if (!number.path.starts_with(cluster)) return false;
    const std::string_view key = std::string_view(number.path).substr(cluster.size());
    return is_other_attention(scenario, key) || std::ranges::any_of(parts, [&](const Part& part) {
             return key.starts_with(part.begin) && !part.is_read(scenario);
           });
  });
}

/// All that a table of orders says, for the hash.
std::string text_of(const OrderTable& table) {
  std::string text = std::to_string(static_cast<int>(table.shape.placement));
  for (const StageOrder& order : table.orders) text += "; " + to_string(order, table.shape);
  return text;
}

/// Words of devices choose a framework, whose keys count by themselves.
void leave_out_device_words(std::string& text) {
  for (const char* word : {".device.vendor=", ".device.generation=", ".device.framework="})
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      const std::size_t line = text.rfind('\n', at);
      const std::size_t begin = line == std::string::npos ? 0 : line + 1;
      text.erase(begin, text.find('\n', at) + 1 - begin);
      at = begin;
    }
}

/// What the scenario means, for its hash: what `auto` stands for, a model however it was given, and
/// what is in the files that its keys name. Two scenarios of one content have one forecast.
std::string content_of(ScenarioDraft draft) {
  Scenario& scenario = draft.scenario;
  // What `auto` became, so that a value and its default hash alike.
  scenario.schedule.pipeline_group_given = scenario.pipeline_shape().group;
  scenario.workload.plan.dp_given = scenario.workload.plan.dp;
  if (scenario.order_table) scenario.schedule.table = text_of(*scenario.order_table);
  draft.model_source = ScenarioDraft::from_keys;
  if (auto& platform = scenario.cluster.network.platform)
    platform->file.clear();  // its text counts
  if (scenario.graph) draft.graph = scenario.graph->sha256;
  std::string text = canonical_text([&](Visitor& visitor) { describe_content(visitor, draft); });
  // Words that describe a device and move no result must not move a hash.
  leave_out_device_words(text);
  const auto add = [&text](const char* key, const auto& numbers) {
    if (numbers.empty()) return;
    text += key;
    for (const auto number : numbers) text += shortest(static_cast<double>(number)) + " ";
    text += "\n";
  };
  // Of files their contents count and not their names.
  if (const auto& documents = scenario.schedule.data.documents)
    add("schedule.data.documents.lengths=", documents->lengths);
  add("moe.routing.counts=", scenario.workload.moe.routing.counts);
  if (const auto& platform = scenario.cluster.network.platform; platform && platform->text)
    text += "cluster.network.platform.text=" + sha256(*platform->text) + "\n";
  if (scenario.graph && scenario.graph->traced)
    for (const std::string& word : scenario.workload.communication.algorithms.algorithm)
      text += "communication.algorithm=" + word + "\n";
  if (auto& spread = scenario.stalls.spread)
    for (const auto& [name, part] : distributions(*spread))
      add(("stalls.spread." + name + ".factors=").c_str(), part->factors);
  return text;
}

void require_mapping(const Node& root) {
  if (root.kind == Node::Kind::mapping) return;
  const char* what = root.kind == Node::Kind::null   ? "is empty"
                     : root.kind == Node::Kind::list ? "is a list"
                                                     : "is a single value";
  refuse_input(root.place, {},
               std::string(what) + ", allowed: a mapping that begins with stepcast: 1");
}

/// A document that must be a mapping, with its overrides; every wrong override is reported.
/// Keys that are given twice go to `reading`: the first counts, so that the rest can be judged.
Node load(std::string_view text, const std::string& path, const std::vector<std::string>& overrides,
          const SearchPath& search, FileKind wanted, Reading& reading) {
  std::vector<Diagnostic> repeated;
  Node root = load_document_text(text, path, search, &repeated);
  require_mapping(root);
  // The kind is that of the file as it was written: overrides may take away the keys that tell.
  const auto kind = file_kind(root);
  open_framework(root);
  std::vector<Diagnostic> wrong;
  apply_overrides(root, overrides, search, wrong);
  // `--set model.hf_config=..` replaces a preset, whose keys would contradict the file.
  give_way_to_config(root);
  for (const Diagnostic& d : repeated) {
    reading.failed.insert(d.path);
    reading.diagnostics.push_back(d);
  }
  note_missing_presets(repeated, reading);
  // What a file is, is not known without what it extends: its words are judged as a scenario's.
  const bool whole = !reading.failed.contains("");
  // Overrides may give every key of a plan one value: a scenario is left.
  if (whole) require_kind(kind == FileKind::plan ? file_kind(root) : kind, wanted, path);
  if (!whole && wanted != FileKind::scenario) throw InputError(std::move(reading.diagnostics));
  reading.diagnostics.insert(reading.diagnostics.end(), wrong.begin(), wrong.end());
  // Nothing can be judged on a document that is not the one that was asked for, but for presets.
  if (note_missing_presets(wrong, reading)) return root;
  throw InputError(std::move(reading.diagnostics));
}

void throw_if_wrong(Reading& reading) {
  drop_consequences(reading);
  suggest_paths(reading);
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
}

Scenario read_root(Node root, std::string question, const SearchPath& search,
                   const Reading& reading) {
  FramedDraft framed = read_framed(std::move(root), search, reading);
  throw_if_wrong(framed.reading);
  Scenario& scenario = framed.draft.scenario;
  // A cluster of several kinds of nodes has one speed for each kind of link, so that the content
  // below names what is simulated.
  take_fastest_links(scenario.cluster);
  scenario.assumptions = std::move(framed.reading.assumptions);
  drop_unread(scenario, scenario.assumptions);
  // The hash is that of the meaning: defaults, frameworks and presets are in it, comments and the
  // order of keys are not.
  scenario.content = content_of(framed.draft);
  scenario.sha256 = sha256(scenario.content);
  scenario.question = std::move(question);
  scenario.document = std::make_shared<const Node>(std::move(framed.root));
  scenario.framework = std::move(framed.framework);
  return std::move(scenario);
}

}  // namespace

std::string question_of(std::string_view text) {
  constexpr std::string_view mark = "# question:";
  // The first such line counts, wherever it stands: it is a comment and invisible to the reader of
  // YAML.
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
  // 0 stands for a key that is not given: interleaved schedules visit a chunk with as many
  // micro-batches as there are stages, as Megatron-LM does.
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
  // Schedules that pair forwards and backwards themselves keep their order; others are rewritten so
  // that such units meet.
  const bool adds_pairs = !known.pairs && workload.moe.overlap == MoeSpec::Overlap::fb_pair;
  const PipelineShape shape = pipeline_shape();
  if (adds_pairs) return paired_orders(known, shape);
  const bool blocks = schedule.p2p == ScheduleSpec::PointToPoint::blocking;
  return blocks && exchanges(known, shape) ? exchanging_orders(known, shape)
                                           : stage_orders(known, shape);
}

Scenario read_values(const Node& root, const SearchPath& search, Reading& reading) {
  require_mapping(root);
  // Values alone: rules of a framework would need a whole scenario.
  if (root.find("framework") != nullptr) {
    Node bare = root;
    drop_framework(bare);
    return read_values(bare, search, reading);
  }
  ScenarioDraft draft;
  read_draft(root, search, draft, reading);
  Scenario& scenario = draft.scenario;
  Checks checks{root, reading};
  check_cluster(scenario.cluster, "cluster.", checks);
  // Cluster and model are checked by themselves, as presets are; how they go together is not asked.
  if (!scenario.synthetic && checks.good({"model"}))
    check_model(scenario.workload.model, "model.", checks);
  return std::move(scenario);
}

Scenario read_scenario(const std::string& path, const std::vector<std::string>& overrides,
                       const SearchPath& search) {
  const std::string text = read_document_text(path, search);
  Reading reading;
  Node root = load(text, path, overrides, search, FileKind::scenario, reading);
  return read_root(std::move(root), question_of(text), search, std::move(reading));
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
  if (path.starts_with("framework.")) return {};  // who reads the scenario says
  if (path == "framework" && value.kind == Node::Kind::mapping) return {};
  ScenarioDraft draft;
  std::string wrong =
      wrong_assignment([&](Visitor& visitor) { describe(visitor, draft); }, path, value);
  if (wrong.empty()) return wrong;
  Reading reading;
  reading.report(value.place, std::string(path), wrong);
  suggest_paths(reading);
  return reading.diagnostics.front().message;
}

ClusterSpec read_cluster(const std::string& path, const std::vector<std::string>& overrides,
                         const SearchPath& search) {
  Reading reading;
  const Node root =
      load(read_document_text(path, search), path, overrides, search, FileKind::cluster, reading);
  ClusterSpec cluster;
  // A platform file says links and routes itself, in place of what the preset had.
  const std::optional<Node> replaced = with_platform(root, {});
  read_mapping(replaced ? *replaced : root, {}, reading,
               [&](Visitor& visitor) { describe(visitor, cluster); });
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
  read_mapping(root, {}, reading, [&](Visitor& visitor) { describe(visitor, cluster); });
  throw_if_wrong(reading);
}

ModelSpec read_model(const std::string& path, const SearchPath& search, const std::string& as) {
  ModelSpec model;
  Reading reading;
  if (path.ends_with(".json"))
    return read_hugging_face(find_file(path, {}, search).value_or(path), as);
  if (!as.empty())
    refuse_input({}, "--as", "is for a Hugging Face config.json, whose model_type it replaces");
  const Node root =
      load(read_document_text(path, search), path, {}, search, FileKind::model, reading);
  std::string config;
  std::size_t source = ScenarioDraft::from_keys;
  read_mapping(root, {}, reading,
               [&](Visitor& visitor) { describe_model(visitor, model, config, source); });
  if (source == ScenarioDraft::from_config && reading.diagnostics.empty()) {
    read_config(root, "hf_config", config, model, search, reading);
  }
  Checks checks{root, reading};
  // Cross-checks of a mapping that did not read would complain of defaults.
  if (!reading.failed.contains("model") && !reading.failed.contains(""))
    check_model(model, {}, checks);
  throw_if_wrong(reading);
  return model;
}

}  // namespace stepcast
