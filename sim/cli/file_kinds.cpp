#include "file_kinds.hpp"

#include "stepcast/base/known_keys.hpp"
#include "stepcast/base/schema.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/accuracy/differences.hpp"
#include "stepcast/sim/accuracy/gallery.hpp"
#include "stepcast/sim/engine/platform_file.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/kernels/components.hpp"
#include "stepcast/sim/kernels/operator_interval.hpp"
#include "stepcast/sim/plan/plan.hpp"
#include "stepcast/sim/scenario/framework.hpp"
#include "stepcast/sim/scenario/scenario.hpp"
#include "stepcast/sim/sweep/sweep.hpp"

namespace stepcast::cli {
namespace {

/// Where an `$id` of ours begins; no schema has to be fetched from anywhere.
constexpr const char* schema_space = "urn:stepcast:schema:1:";

using Describe = void (*)(Visitor&);

/// Nothing for a format that is not ours.
Describe description_of(FileKind kind) {
  switch (kind) {
    case FileKind::scenario:
    case FileKind::check:
      return describe_scenario_file;
    case FileKind::cluster:
      return describe_cluster_file;
    case FileKind::model:
      return describe_model_file;
    case FileKind::framework:
      return describe_framework_file;
    case FileKind::sweep:
      return describe_sweep_file;
    case FileKind::plan:
      return describe_plan_file;
    case FileKind::orders:
      return describe_order_file;
    case FileKind::ratios:
      return describe_ratio_file;
    case FileKind::gallery:
      return describe_gallery_file;
    case FileKind::labels:
      return describe_label_file;
    case FileKind::differs:
      return describe_difference_file;
    case FileKind::measurements:
      return describe_measurement_file;
    case FileKind::residuals:
      return describe_residual_file;
    case FileKind::hugging_face:
      break;
  }
  return nullptr;
}

/// What is wrong with a platform file stands where the document names it.
void load_platform_of(const Node& root, ClusterSpec& cluster) {
  try {
    load_platform(cluster, {});
  } catch (const InputError& error) {
    std::vector<Diagnostic> all = error.diagnostics();
    for (Diagnostic& d : all) d.place = place_of(root, d.path);
    throw InputError(std::move(all));
  }
}

/// A cluster file that names neither a device nor itself is a part of others.
std::string check_cluster_file(const std::string& path, const SearchPath& search) {
  const Node root = load_document(path, search);
  const Node* device = root.find("device");
  const bool named = device != nullptr && device->find("name") != nullptr;
  if (named || root.find("name") != nullptr) {
    ClusterSpec cluster = read_cluster(path, {}, search);
    load_platform_of(root, cluster);
    return "";
  }
  check_cluster_part(path, search);
  return " as a part that cluster files extend: it names no device";
}

/// A key of a scenario in a plan may have a list of values.
std::string wrong_plan_value(const std::string& path, const Node& value) {
  if (path.starts_with("plan.")) return wrong_assignment(describe_plan_file, path, value);
  std::string wrong = wrong_scenario_value(path, value);
  if (wrong.empty() || value.kind != Node::Kind::list) return wrong;
  for (const Node& item : value.items)
    if (std::string one = wrong_scenario_value(path, item); !one.empty()) return one;
  return {};
}

}  // namespace

FileKind kind_of(const std::string& text, const std::string& path, const SearchPath& search) {
  std::vector<Diagnostic> repeated;  // the reader itself reports them
  try {
    return file_kind(load_document_text(text, path, search, &repeated))
        .value_or(FileKind::scenario);
  } catch (const InputError&) {  // not all JSON is YAML
    return path.ends_with(".json") ? FileKind::hugging_face : FileKind::scenario;
  }
}

/// Of one key, without those inside its value.
static std::string wrong_alone(FileKind kind, const std::string& path, const Node& value) {
  // Presets are merged before a key is read.
  if (path == "extends" || path.ends_with(".extends")) return {};
  if (kind == FileKind::scenario || kind == FileKind::check)
    return wrong_scenario_value(path, value);
  if (kind == FileKind::plan) return wrong_plan_value(path, value);
  const Describe body = description_of(kind);
  return body == nullptr ? std::string() : wrong_assignment(body, path, value);
}

std::string wrong_value(FileKind kind, const std::string& path, const Node& value) {
  std::string wrong = wrong_alone(kind, path, value);
  if (!wrong.empty()) return wrong;
  for (const Node::Entry& entry : value.entries) {
    wrong = wrong_value(kind, path + "." + entry.key, entry.value);
    // Words of a key may be a mapping, too, whose entries are no keys.
    if (wrong.starts_with("is ") || wrong.starts_with("has "))
      return "has " + entry.key + ", which " + wrong;
  }
  return {};
}

std::string schema_of(FileKind kind) {
  const std::string name{info(kind).name};
  const Describe body = description_of(kind);
  if (body == nullptr) throw InputError("KIND: " + name + " has no schema of ours");
  SchemaHead head{schema_space + name, "Stepcast " + name};
  if (kind == FileKind::check) head.required = {"expect"};
  return json_schema(head, body);
}

std::string check_file(FileKind kind, const std::string& path,
                       const std::vector<std::string>& overrides, const SearchPath& search) {
  const bool takes_overrides =
      kind == FileKind::scenario || kind == FileKind::check || kind == FileKind::plan;
  if (!overrides.empty() && !takes_overrides)
    refuse_input({path}, {},
                 "is " + std::string(info(kind).noun) + ", --set is for scenarios and plans");
  switch (kind) {
    case FileKind::scenario:
    case FileKind::check:
      prepare_scenario(path, overrides, search);
      break;
    case FileKind::cluster:
      return check_cluster_file(path, search);
    case FileKind::model:
      read_model(path, search);
      break;
    case FileKind::framework:
      check_framework_file(path, search);
      break;
    case FileKind::sweep:
      read_sweep(path, search);
      break;
    case FileKind::plan:
      read_plan(path, overrides, {}, search);
      break;
    case FileKind::orders:
      read_order_table(path, search);
      break;
    case FileKind::ratios:
      read_ratios(path, search);
      break;
    case FileKind::gallery:
      read_gallery(path, search);
      break;
    case FileKind::labels:
      read_label_file(path, search);
      break;
    case FileKind::differs:
      read_differences(path, search);
      break;
    case FileKind::measurements:
      read_measurements(path, search);
      break;
    case FileKind::residuals:
      read_residuals(path, search);
      break;
    case FileKind::hugging_face:
      read_hugging_face(path);
      break;
  }
  return "";
}

}  // namespace stepcast::cli
