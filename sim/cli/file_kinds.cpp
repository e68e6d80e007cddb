#include "file_kinds.hpp"

#include <algorithm>

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
std::string check_cluster_file(const std::string& path, const std::vector<std::string>&,
                               const SearchPath& search) {
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

/// A format that is no spec of its own is described by one of its values.
template <class Spec>
void described(Visitor& visitor) {
  Spec spec;
  describe(visitor, spec);
}

using Overrides = std::vector<std::string>;

/// A reader that throws what is wrong and leaves nothing more to say.
template <auto read>
std::string checked(const std::string& path, const Overrides&, const SearchPath& search) {
  read(path, search);
  return "";
}

/// What a kind of file may hold, and how one is checked.
struct KindReader {  // NOLINT(clang-analyzer-optin.performance.Padding): rows end with the flag
  FileKind kind;
  void (*describe)(Visitor&);  ///< nothing for a format that is not ours
  std::string (*check)(const std::string& path, const Overrides& overrides,
                       const SearchPath& search);
  bool takes_overrides = false;
};

std::string check_scenario_file(const std::string& path, const Overrides& overrides,
                                const SearchPath& search) {
  prepare_scenario(path, overrides, search);
  return "";
}

std::string check_plan_file(const std::string& path, const Overrides& overrides,
                            const SearchPath& search) {
  read_plan(path, overrides, {}, search);
  return "";
}

constexpr KindReader readers[] = {
    {FileKind::scenario, describe_scenario_file, check_scenario_file, true},
    {FileKind::check, describe_scenario_file, check_scenario_file, true},
    {FileKind::cluster, described<ClusterSpec>, check_cluster_file},
    {FileKind::model, describe_model_file,
     checked<[](const std::string& path, const SearchPath& s) { read_model(path, s); }>},
    {FileKind::framework, describe_framework_file, checked<check_framework_file>},
    {FileKind::sweep, describe_sweep_file,
     checked<[](const std::string& path, const SearchPath& s) { read_sweep(path, s); }>},
    {FileKind::plan, describe_plan_file, check_plan_file, true},
    {FileKind::orders, describe_order_file, checked<read_order_table>},
    {FileKind::ratios, described<std::vector<Ratio>>, checked<read_ratios>},
    {FileKind::gallery, described<Gallery>, checked<read_gallery>},
    {FileKind::labels, described<SourceLabels>, checked<read_label_file>},
    {FileKind::differs, described<std::vector<Difference>>, checked<read_differences>},
    {FileKind::measurements, described<MeasurementFolder>, checked<read_measurements>},
    {FileKind::residuals, described<OperatorResiduals>, checked<read_residuals>},
    {FileKind::hugging_face, nullptr,
     checked<[](const std::string& path, const SearchPath&) { read_hugging_face(path); }>},
};

const KindReader& reader_of(FileKind kind) {
  const auto* found = std::ranges::find(readers, kind, &KindReader::kind);
  expects(found != std::end(readers), "every kind of file is in the table");
  return *found;
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
  const auto body = reader_of(kind).describe;
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
  const auto body = reader_of(kind).describe;
  if (body == nullptr) throw InputError("KIND: " + name + " has no schema of ours");
  SchemaHead head{schema_space + name, "Stepcast " + name};
  if (kind == FileKind::check) head.required = {"expect"};
  return json_schema(head, body);
}

std::string check_file(FileKind kind, const std::string& path,
                       const std::vector<std::string>& overrides, const SearchPath& search) {
  const KindReader& reader = reader_of(kind);
  if (!overrides.empty() && !reader.takes_overrides)
    refuse_input({path}, {},
                 "is " + std::string(info(kind).noun) + ", --set is for scenarios and plans");
  return reader.check(path, overrides, search);
}

}  // namespace stepcast::cli
