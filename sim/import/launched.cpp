#include "stepcast/sim/import/launched.hpp"

#include <algorithm>
#include <filesystem>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/base/written_document.hpp"
#include "stepcast/sim/import/import.hpp"
#include "stepcast/sim/scenario/launch_source.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

bool is_launch_key(const std::string& assignment) {
  return assignment.starts_with("launch.") || assignment.starts_with("launch=");
}

bool is_launch_itself(const std::string& path, const std::vector<std::string>& overrides,
                      const SearchPath& search) {
  if (path == "-") return false;
  return is_launch_file(path, search) ||
         std::ranges::any_of(
             overrides, [](const std::string& text) { return text.starts_with("launch.from="); });
}

/// Whether a text may name a launch file, itself or by what it extends: most scenarios do not, and
/// are read once.
bool may_name_launch(std::string_view text, const std::vector<std::string>& overrides) {
  if (std::ranges::any_of(overrides, is_launch_key)) return true;
  for (const std::string_view key : {"launch:", "extends:", "{", "\"launch\""})
    for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1))
      if (at == 0 || text[at - 1] == '\n' || key == "\"launch\"") return true;
  return false;
}

bool names_launch(const Node& root) {
  if (root.kind != Node::Kind::mapping) return false;
  const Node* launch = root.find("launch");
  return launch != nullptr && launch->text != "none";  // as resolved scenarios have it
}

/// The mapping of a scenario file that names a launch file, with its overrides.
std::optional<Node> naming_root(const std::string& text, const std::string& path,
                                const std::vector<std::string>& overrides,
                                const SearchPath& search) {
  if (!may_name_launch(text, overrides)) return {};
  std::vector<Diagnostic> repeated;
  Node root = load_document_text(text, path, search, &repeated);
  if (!names_launch(root)) return {};
  std::vector<Diagnostic> wrong = std::move(repeated);
  std::vector<std::string> all = overrides;
  constexpr std::string_view cluster = "cluster.extends=";
  for (std::string& assignment : all)  // --cluster, of which the launch file is told
    if (assignment.starts_with(cluster)) assignment.replace(0, cluster.size(), "launch.cluster=");
  apply_overrides(root, all, search, wrong);
  if (!wrong.empty()) throw InputError(std::move(wrong));
  return root;
}

/// A value on one line, as --set takes it.
std::string flow(const Node& node) {
  if (node.kind == Node::Kind::null) return "null";
  if (node.kind == Node::Kind::scalar) return node.quoted ? in_single_quotes(node.text) : node.text;
  const bool list = node.kind == Node::Kind::list;
  std::string all = list ? "[" : "{";
  for (const Node& item : node.items) all += (all.size() > 1 ? ", " : "") + flow(item);
  for (const Node::Entry& entry : node.entries)
    all += (all.size() > 1 ? ", " : "") + in_single_quotes(entry.key) + ": " + flow(entry.value);
  return all + (list ? "]" : "}");
}

/// The keys of a mapping as --set gives them, one for each value.
void add_assignments(const Node& node, const std::string& path, std::vector<std::string>& all) {
  if (node.kind != Node::Kind::mapping || node.entries.empty()) {
    all.push_back(path + "=" + flow(node));
    return;
  }
  for (const Node::Entry& entry : node.entries)
    add_assignments(entry.value, path + "." + entry.key, all);
}

/// The keys of a scenario that stand for what a launch file says.
std::vector<std::string> assignments_of(const Node& root) {
  std::vector<std::string> all;
  for (const Node::Entry& entry : root.entries)
    if (entry.key != "stepcast" && entry.key != "name" && entry.key != "expect" &&
        entry.key != "campaign")
      add_assignments(entry.value, entry.key, all);
  return all;
}

LaunchSource source_of(const Node& root) {
  Reading reading;
  // Read through the description of the key, so that its errors are those of any key.
  LaunchSource source;
  bool present = false;
  read_mapping(root, {}, reading, [&](Visitor& v) { describe_launch_key(v, source, present); });
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  return source;
}

/// A path that stands in a scenario file is one beside it.
std::string beside(const Node& launch, std::string_view key, const std::string& path) {
  const Node* node = launch.find(key);
  if (path.empty() || node == nullptr || fs::path(path).is_absolute() ||
      node->place.file.starts_with("--"))
    return path;
  const fs::path near = fs::path(node->place.file).parent_path() / path;
  return is_there(near) ? near.lexically_normal().string() : path;
}

ImportOptions import_options(const LaunchSource& source, std::vector<std::string> overrides) {
  ImportOptions options{.from = source.from,
                        .devices = {},
                        .cluster = source.cluster,
                        .overrides = std::move(overrides),
                        .ignore_unknown = source.ignore_unknown,
                        .deepspeed = source.deepspeed,
                        .arguments = source.arguments,
                        .environment = source.environment};
  // 0 stands for the size that the file says.
  if (source.devices > 0) options.devices = source.devices;
  constexpr std::string_view size = "cluster.devices=";
  // A size given by `--set` counts as if it were given to the importer, which needs it for the
  // batch.
  for (const std::string& text : options.overrides)
    if (const auto count = parse_count(text.starts_with(size) ? text.substr(size.size()) : "");
        count && *count >= 1)
      options.devices = static_cast<std::int64_t>(*count);
  return options;
}

void keep_warnings(ImportedScenario& imported, std::vector<std::string>* warnings) {
  if (warnings != nullptr)
    warnings->insert(warnings->end(), imported.warnings.begin(), imported.warnings.end());
}

ScenarioDocument read_launch_itself(const std::string& path,
                                    const std::vector<std::string>& overrides,
                                    const SearchPath& search, std::vector<std::string>* warnings) {
  Node root{.kind = Node::Kind::mapping, .place = {path}};
  std::vector<std::string> others, own{"launch.file=" + in_single_quotes(path)};
  for (const std::string& text : overrides) (is_launch_key(text) ? own : others).push_back(text);
  std::vector<Diagnostic> wrong;
  apply_overrides(root, own, search, wrong);
  if (!wrong.empty()) throw InputError(std::move(wrong));
  const LaunchSource source = source_of(root);
  ImportedScenario imported = import_launch(path, import_options(source, others), search);
  keep_warnings(imported, warnings);
  return std::move(imported.document);
}

ScenarioDocument read_named_launch(Node root, const std::string& text, const std::string& path,
                                   const SearchPath& search, std::vector<std::string>* warnings) {
  const auto found = std::ranges::find(root.entries, "launch", &Node::Entry::key);
  Node alone{.kind = Node::Kind::mapping, .place = root.place};
  alone.entries.push_back(*found);
  root.entries.erase(found);
  root.extended.reset();  // what it extended names the launch file, or is in it by now
  LaunchSource source = source_of(alone);
  const Node* own = root.find("cluster");
  if (own != nullptr && own->find("device") != nullptr) source.cluster.clear();
  const Node& launch = alone.entries.front().value;
  source.deepspeed = beside(launch, "deepspeed", source.deepspeed);
  source.cluster = beside(launch, "cluster", source.cluster);
  ImportedScenario imported = import_launch(beside(launch, "file", source.file),
                                            import_options(source, assignments_of(root)), search);
  keep_warnings(imported, warnings);
  ScenarioDocument document{std::move(imported.document.root), path, question_of(text)};
  merge(document.root, std::move(root));
  return document;
}

}  // namespace

bool is_launched(const std::string& path, const std::vector<std::string>& overrides,
                 const SearchPath& search) {
  if (path == "-") return false;
  if (is_launch_itself(path, overrides, search)) return true;
  std::vector<Diagnostic> repeated;
  try {
    const std::string text = read_document_text(path, search);
    if (!may_name_launch(text, {})) return false;
    const Node root = load_document_text(text, path, search, &repeated);
    return names_launch(root);
  } catch (const InputError&) {
    return false;  // the reader of scenarios says what is wrong
  }
}

std::optional<ScenarioDocument> launched_scenario(const std::string& path,
                                                  const std::vector<std::string>& overrides,
                                                  const SearchPath& search,
                                                  std::vector<std::string>* warnings) {
  if (path == "-") return {};  // is read once
  if (is_launch_itself(path, overrides, search))
    return read_launch_itself(path, overrides, search, warnings);
  const std::string text = read_document_text(path, search);
  std::optional<Node> root = naming_root(text, path, overrides, search);
  if (!root) return {};
  return read_named_launch(std::move(*root), text, path, search, warnings);
}

ScenarioDocument load_any_scenario(const std::string& path,
                                   const std::vector<std::string>& overrides,
                                   const SearchPath& search) {
  if (auto document = launched_scenario(path, overrides, search)) return std::move(*document);
  return load_scenario(path, overrides, search);
}

}  // namespace stepcast
