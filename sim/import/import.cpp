#include "stepcast/sim/import/import.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "forms.hpp"
#include "printed.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/known_keys.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"

namespace stepcast {
namespace {

using launch::Draft, launch::Entry, launch::Identity, launch::LaunchForm;

/// Names in lower case, of the characters that the format allows.
std::string name_of(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper) c = static_cast<char>(c - 'A' + 'a');
    const bool allowed =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    if (!allowed) c = '-';
  }
  // `-` is standard input, and means something else in YAML.
  if (name.find_first_not_of("-.") == std::string::npos) return "imported";
  return name[0] == '.' ? "imported" + name : name;
}

/// The preset as the scenario names it: by its path below a search path, or where it stands.
/// `kind` is cluster or model.
std::string preset_name(const std::string& kind, const std::string& given,
                        const SearchPath& search) {
  const std::string folder = kind + "s/";
  const std::vector<std::string> names{given, folder + given, folder + given + ".yaml"};
  for (const std::string& name : names)
    for (const auto& directory : search.directories)
      if (is_file(directory / name)) return name;
  const std::filesystem::path here = std::filesystem::absolute(given);
  if (is_file(here)) return here.lexically_normal().string();
  std::vector<std::string> known;
  for (const auto& directory : search.directories)
    for (const auto& file : files_in(directory / folder, ".yaml"))
      known.push_back(file.stem().string());
  std::ranges::sort(known);  // a folder has no order
  const std::string near =
      did_you_mean(std::filesystem::path(given).stem().string(), known, folder, ".yaml");
  refuse_input(
      {}, "--" + kind,
      "names '" + given + "', which does not exist" +
          (!near.empty() ? near : ", allowed: a " + kind + " file or the name of a preset"));
}

void set_cluster(const ImportOptions& options, std::optional<std::int64_t> devices,
                 const SearchPath& search, Draft& draft) {
  if (!options.cluster.empty()) {
    draft.set("cluster.extends", "'" + preset_name("cluster", options.cluster, search) + "'", {},
              "--cluster");
  } else if (!draft.given("cluster.extends") && !draft.given("cluster.device")) {
    draft.wrong({}, "--cluster",
                "is missing: launch files name no hardware; give --cluster PRESET, such as "
                "clusters/dgx-h100.yaml, or a scenario with launch: {file: FILE, cluster: PRESET}");
  }
  if (devices)
    draft.set("cluster.devices", *devices, {},
              options.devices ? "--devices" : "nodes x devices per node of the launcher");
}

/// Every value gets the place of its flag; values of presets keep theirs.
void place_all(Node& node, const std::string& written, const Place& place) {
  if (node.place.file == written) node.place = place;
  for (Node& item : node.items) place_all(item, written, place);
  for (Node::Entry& entry : node.entries) {
    if (entry.place.file == written) entry.place = place;
    place_all(entry.value, written, place);
  }
}

/// The key at a path, with its value; nullptr: it is not there.
Node::Entry* entry_at(Node& root, std::string_view path) {
  Node* node = &root;
  for (;;) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const auto found = std::ranges::find(node->entries, path.substr(0, dot), &Node::Entry::key);
    if (found == node->entries.end()) return nullptr;
    if (dot == path.size()) return &*found;
    node = &found->value;
    path.remove_prefix(dot + 1);
  }
}

ScenarioDocument document_of(const std::string& text, const std::string& file, const Draft& draft,
                             const SearchPath& search) {
  const std::string written = file + " as imported";
  ScenarioDocument document{load_document_text(text, written, search), file, question_of(text)};
  for (const Entry& entry : draft.entries()) {
    Node::Entry* key = entry_at(document.root, entry.path);
    if (key == nullptr || entry.place.file.empty()) continue;
    key->place = entry.place;
    place_all(key->value, written, entry.place);
  }
  place_all(document.root, written, Place{file});
  return document;
}

/// What is wrong between keys, with the flags behind them.
std::vector<Diagnostic> with_flags(std::vector<Diagnostic> all, const Draft& draft) {
  for (Diagnostic& d : all) {
    const auto entry = std::ranges::find(draft.entries(), d.path, &Entry::path);
    if (entry != draft.entries().end() && !entry->comment.empty() && entry->comment != "--set")
      d.message += " (" + entry->comment + ")";
  }
  return all;
}

/// The preset that --framework or --set framework names; empty: none does. It is taken out of the
/// settings, as flags are the file's and no recipe's.
std::string chosen_framework(std::vector<std::string>& overrides) {
  constexpr std::string_view key = "framework=";
  std::string chosen;
  std::erase_if(overrides, [&](const std::string& text) {
    if (!text.starts_with(key) || text.find_first_of("{[&*") != std::string::npos) return false;
    chosen = text.substr(key.size());
    return true;
  });
  return chosen;
}

/// Which version is taken, and why.
void note_framework(Draft& draft, const std::string& chosen, const std::string& path) {
  const Identity& runs = draft.runs();
  if (!chosen.empty() || runs.file.empty() || draft.given("framework")) return;
  const std::string other = "; --framework NAME says another (stepcast list frameworks)";
  if (runs.version.empty())
    draft.note({{path}, "framework", "is assumed to be " + runs.file + ", the newest" + other});
  else
    draft.note({{path}, "framework", "is " + runs.file + ", by " + runs.words + other});
}

/// A misspelt setting may be what is said to be missing.
void name_unknown_keys(const std::vector<std::string>& overrides, Draft& draft) {
  for (const std::string& text : overrides) {
    const std::string path = text.substr(0, text.find('='));
    const Node value{.kind = Node::Kind::scalar, .text = text.substr(text.find('=') + 1)};
    const std::string wrong = wrong_assignment(describe_scenario_file, path, value);
    if (wrong.starts_with("is not a known key") && !path.ends_with(".extends"))
      draft.wrong().push_back({{"--set " + text}, path, wrong});
  }
}

void throw_if_wrong(Draft& draft, const std::string& file) {
  if (draft.wrong().empty()) return;
  // One word for each cause: what follows at the same place from it says nothing new.
  std::set<std::string> said;
  std::erase_if(draft.wrong(), [&](const Diagnostic& d) {
    if (d.place.line == 0) return false;
    return !said.insert(d.place.file + ":" + std::to_string(d.place.line) + ":" +
                        std::to_string(d.place.column) + d.path)
                .second;
  });
  for (Diagnostic& d : draft.wrong())
    if (d.place.file.empty()) d.place.file = file;
  throw InputError(draft.wrong());
}

/// The file of a folder of a Hugging Face model, or the file itself.
std::string file_of(const std::string& path) {
  namespace fs = std::filesystem;
  if (!is_folder(path)) return path;
  const fs::path file = fs::path(path) / "config.json";
  if (!is_file(file))
    refuse_input({path}, {}, "is a folder without a config.json, allowed: that of a model");
  return file.string();
}

/// Whether the cluster that is named, if any, has devices of Huawei.
bool is_ascend(const ImportOptions& options, const SearchPath& search) {
  constexpr std::string_view key = "cluster.extends=";
  std::string cluster = options.cluster;
  for (const std::string& text : options.overrides)
    if (text.starts_with(key)) cluster = text.substr(key.size());
  if (cluster.empty()) return false;
  const std::string name = preset_name("cluster", cluster, search);
  const Node root =
      load_document_text(read_document_text(name, search, "a cluster file"), name, search);
  const Node* device = root.find("device");
  const Node* vendor = device == nullptr ? nullptr : device->find("vendor");
  return vendor != nullptr && vendor->text == "huawei";
}

/// Megatron-LM runs on NPUs by MindSpeed alone, which takes its scripts as they are.
const LaunchForm& form_for(const std::string& path, const ImportOptions& options,
                           const SearchPath& search) {
  const LaunchForm& form = launch::form_of(path, options.from, search);
  const bool on_npus =
      options.from.empty() && form.name == "megatron" && is_ascend(options, search);
  return on_npus ? launch::form_of(path, "mindspeed", search) : form;
}

}  // namespace

ImportedScenario import_launch(const std::string& given, const ImportOptions& options,
                               const SearchPath& search) {
  const std::string path = file_of(given);
  std::vector<std::string> overrides = options.overrides;
  for (std::string& text : overrides)
    for (const std::string kind : {"cluster", "model"})
      if (const std::string key = kind + ".extends="; text.starts_with(key))
        text.replace(key.size(), std::string::npos,
                     "'" + preset_name(kind, text.substr(key.size()), search) + "'");
  const std::string chosen = chosen_framework(overrides);
  Draft draft{overrides};
  const LaunchForm& form = form_for(path, options, search);
  const std::string text = form.name == "arguments" && path != "-"
                               ? launch::read_printed(path, search)
                               : read_document_text(path, search, "a launch file");
  const std::string_view runs = options.deepspeed.empty() || form.name != "huggingface"
                                    ? form.name
                                    : std::string_view("deepspeed");
  draft.run_by(launch::identify(runs, text, chosen, search));
  if (!options.deepspeed.empty() && form.name != "huggingface" &&
      form.name != "megatron-deepspeed" && form.name != "trainer" && form.name != "llama-factory" &&
      form.name != "axolotl" && form.name != "ms-swift")
    refuse_input({}, "--deepspeed",
                 "does not go with a file of " + std::string(form.title) +
                     ", allowed: beside a config.json or a script of Megatron-DeepSpeed");
  draft.set("stepcast", 1, {}, "version of the format");
  draft.set("name", name_of(given), {}, "imported from " + path);
  launch::set_framework(draft, chosen);
  const std::optional<std::int64_t> devices = form.import(path, text, options, draft);
  if (!devices)
    draft.wrong({}, "--devices",
                "is missing: the file does not say how many there are; give --devices N");
  set_cluster(options, devices, search, draft);
  if (!draft.wrong().empty()) name_unknown_keys(overrides, draft);
  throw_if_wrong(draft, path);

  note_framework(draft, chosen, path);
  ImportedScenario result;
  result.document = document_of(draft.yaml(), path, draft, search);
  launch::leave_to_framework(result.document.root, search, draft);
  for (;;) {
    try {
      (void)read_scenario(result.document, search);
      break;
    } catch (const InputError& error) {
      if (!launch::leave_out_idle(error, result.document.root, draft))
        throw InputError(with_flags(error.diagnostics(), draft));
    }
  }
  result.text = "# question: how long is one step of " + name_of(given) + "?\n# Imported from " +
                path + " (" + std::string(form.title) +
                "). Each comment names what the key comes from.\n" + draft.yaml();
  result.document.question = question_of(result.text);
  draft.settle();
  for (const Diagnostic& note : draft.notes()) result.warnings.push_back(note.text());
  return result;
}

}  // namespace stepcast
