#include "stepcast/sim/scenario/file_kind.hpp"

#include <algorithm>

#include "stepcast/sim/scenario/draft.hpp"
#include "stepcast/sim/scenario/searched_keys.hpp"

namespace stepcast {
namespace {

constexpr FileKindInfo kinds[] = {
    {FileKind::scenario, "scenario", "a scenario file", "a scenario",
     "stepcast run forecasts its step"},
    {FileKind::check, "check", "a scenario file", "a scenario with expect",
     "stepcast run forecasts its step, stepcast check compares it with expect"},
    {FileKind::cluster, "cluster", "a cluster file", "a cluster file",
     "stepcast topology shows it, and a scenario extends it"},
    {FileKind::model, "model", "a model file", "a model file",
     "stepcast model counts its parameters, and a scenario extends it"},
    {FileKind::framework, "framework", "a framework file", "a framework file",
     "stepcast list frameworks shows it, and a scenario names it"},
    {FileKind::sweep, "sweep", "a sweep file", "a sweep file", "stepcast sweep runs its points"},
    {FileKind::plan, "plan", "a plan file", "a plan", "stepcast plan searches it"},
    {FileKind::orders, "orders", "a file of orders", "a file of orders",
     "stepcast schedule draws it, and schedule.pipeline: {table: FILE} runs it"},
    {FileKind::ratios, "ratios", "a file of ratios", "a file of ratios",
     "stepcast accuracy reads it with its folder"},
    {FileKind::gallery, "gallery", "a gallery of techniques", "a gallery of techniques",
     "stepcast accuracy forecasts its rows with its folder"},
    {FileKind::labels, "labels", "a file of labels", "a file of labels",
     "stepcast accuracy reads it with its folder"},
    {FileKind::differs, "differs", "a list of differences", "a list of differences",
     "stepcast accuracy reads it with its folder"},
    {FileKind::measurements, "measurements", "a file of sources", "a file of sources",
     "stepcast accuracy --components reads it with its folder"},
    {FileKind::residuals, "residuals", "a file of residuals", "a file of residuals",
     "stepcast operator takes its intervals from it"},
    {FileKind::hugging_face, "hugging_face", "a Hugging Face config.json",
     "a Hugging Face config.json",
     "stepcast model counts its parameters, and model.hf_config names it in a scenario"},
};

bool has_any(const Node& root, std::initializer_list<const char*> keys) {
  return std::ranges::any_of(keys, [&](const char* key) { return root.find(key) != nullptr; });
}

/// Whether a key holds what only the key of a plan can hold.
bool is_searched(const Node& root, const SearchedKey& key) {
  const Node* node = &root;
  for (std::string_view path = key.path; node != nullptr && !path.empty();) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = node->kind == Node::Kind::mapping ? node->find(path.substr(0, dot)) : nullptr;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  if (node == nullptr) return false;
  return node->is_word("search") || (node->kind == Node::Kind::list && !key.also_list);
}

bool is_plan(const Node& root) {
  const Node* plan = root.find("plan");
  if (plan != nullptr && plan->kind == Node::Kind::mapping && !plan->entries.empty()) return true;
  return std::ranges::any_of(searched_keys,
                             [&](const SearchedKey& key) { return is_searched(root, key); });
}

bool is_check(const Node& root) {
  const Node* expect = root.find("expect");
  return expect != nullptr && expect->kind == Node::Kind::mapping;
}

}  // namespace

std::span<const FileKindInfo> file_kinds() { return kinds; }

const FileKindInfo& info(FileKind kind) {
  const auto* found = std::ranges::find(kinds, kind, &FileKindInfo::kind);
  expects(found != std::end(kinds), "every kind of file is in the table");
  return *found;
}

std::optional<FileKind> file_kind(const Node& root) {
  if (root.kind != Node::Kind::mapping) return {};
  // Keys of special files first: a sweep and a plan also have the keys of a scenario, whereas no
  // scenario has theirs.
  if (has_any(root, {"sweep"})) return FileKind::sweep;
  if (has_any(root, {"tables"})) return FileKind::measurements;
  if (has_any(root,
              {"cluster", "model", "workload", "parallel", "training", "schedule", "launch"})) {
    if (is_plan(root)) return FileKind::plan;
    return is_check(root) ? FileKind::check : FileKind::scenario;
  }
  if (has_any(root, {"framework"})) return FileKind::framework;
  if (has_any(root, {"orders"})) return FileKind::orders;
  if (has_any(root, {"residuals"})) return FileKind::residuals;
  if (has_any(root, {"ratios"})) return FileKind::ratios;
  if (has_any(root, {"techniques"})) return FileKind::gallery;
  if (has_any(root, {"differs"})) return FileKind::differs;
  if (has_any(root, {"foreign", "frameworks"})) return FileKind::labels;
  if (has_any(root, {"device", "node", "network"})) return FileKind::cluster;
  // Keys that only a Hugging Face file has; `layers` and `hidden` alone are a model of ours.
  if (has_any(root, {"model_type", "architectures", "hidden_size", "num_hidden_layers"}))
    return FileKind::hugging_face;
  if (has_any(root, {"layers", "hidden", "attention", "hf_config"})) return FileKind::model;
  return {};
}

void require_kind(std::optional<FileKind> kind, FileKind wanted, const std::string& path) {
  if (!kind || *kind == wanted) return;
  if (*kind == FileKind::check && wanted == FileKind::scenario) return;
  refuse_input({path}, {},
               "is " + std::string(info(*kind).noun) + ", give " +
                   std::string(info(wanted).wanted) + "; " + std::string(info(*kind).command));
}

void describe_scenario_file(Visitor& visitor) {
  ScenarioDraft draft;
  describe(visitor, draft);
}

void describe_varied_keys(Visitor& visitor) {
  ScenarioDraft draft;
  describe_framework_key(visitor, draft);
  describe_content(visitor, draft);
}

void describe_model_file(Visitor& visitor) {
  ModelSpec model;
  std::string config;
  std::size_t source = ScenarioDraft::from_keys;
  describe_model(visitor, model, config, source);
}

}  // namespace stepcast
