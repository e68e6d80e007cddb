#include <algorithm>
#include <filesystem>

#include "printed.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/foreign_document.hpp"
#include "stepcast/base/text.hpp"
#include "structured.hpp"

namespace stepcast::launch {
namespace {

namespace fs = std::filesystem;

/// Whether a line of the text begins with these words.
bool has_line(const std::string& text, const std::string& words) {
  return text.starts_with(words) || text.find("\n" + words) != std::string::npos;
}
bool has_words(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

/// A value as Python prints it.
std::string python_value(const Node& node) {
  if (node.kind == Node::Kind::null) return "None";
  if (node.kind == Node::Kind::scalar) {
    if (node.quoted) return node.text;
    if (node.text == "true") return "True";
    if (node.text == "false") return "False";
    return node.text == "null" || node.text == "~" ? "None" : node.text;
  }
  std::string all = "[";
  for (const Node& item : node.items) all += (all.size() > 1 ? ", " : "") + python_value(item);
  return all + "]";
}

/// What stands in a tree for a value that another place has.
class References {
 public:
  References(const Node& root, const ShellInputs& inputs) : root_{root}, inputs_{inputs} {}

  /// `${experiment.seed}` of the same file, `${PRIMUS_TP:1}` of the environment, also inside words.
  std::string resolved(std::string text) const {
    constexpr int most = 8;  // a name may stand for a name
    for (int i = 0; i < most; ++i) {
      const std::size_t at = text.find("${");
      const std::size_t end = at == std::string::npos ? at : text.find('}', at);
      if (end == std::string::npos) break;
      text.replace(at, end + 1 - at, value_of(text.substr(at + 2, end - at - 2)));
    }
    return text == "null" ? "None" : text == "true" ? "True" : text == "false" ? "False" : text;
  }

 private:
  std::string value_of(const std::string& words) const {
    const std::size_t colon = words.find(':');
    const std::string name = words.substr(0, colon);
    if (const auto found = inputs_.environment.find(name); found != inputs_.environment.end())
      return found->second;
    if (colon != std::string::npos) return words.substr(colon + 1);
    const Node* node = &root_;
    for (std::size_t at = 0; node != nullptr && at < name.size();) {
      const std::size_t dot = std::min(name.find('.', at), name.size());
      node = node->kind == Node::Kind::mapping ? node->find(name.substr(at, dot - at)) : nullptr;
      at = dot + 1;
    }
    return node == nullptr ? "None" : python_value(*node);
  }

  const Node& root_;
  const ShellInputs& inputs_;
};

/// Every leaf under its own name: sections are for the reader alone. The last of a name counts.
void add_leaves(const Node& node, const std::string& path, const References& references,
                std::vector<Printed>& all) {
  for (const Node::Entry& entry : node.entries) {
    const std::string full = path_below(path, entry.key);
    if (entry.value.kind == Node::Kind::mapping) {
      add_leaves(entry.value, full, references, all);
      continue;
    }
    std::string name = entry.key;
    std::ranges::replace(name, '-', '_');
    std::erase_if(all, [&](const Printed& p) { return p.name == name; });
    all.push_back(
        {std::move(name), references.resolved(python_value(entry.value)), entry.place, full});
  }
}

const Printed* find_argument(const std::vector<Printed>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Printed::name);
  return found == all.end() || found->value == "None" || found->value == "False" ? nullptr
                                                                                 : &*found;
}

Framework framework_by(const std::string& text) {
  return is_mindspeed(text) ? Framework::mindspeed : Framework::megatron;
}

Node yaml_beside(const fs::path& file) {
  return parse_foreign_document(read_document_text(file.string(), SearchPath{}, "a YAML file"),
                                file.string());
}

/// FlagScale's width of a gated layer: two thirds of four times the hidden one, made larger, then
/// rounded up (arguments.py of its Megatron-LM).
void add_flagscale_width(std::vector<Printed>& all, Draft& draft) {
  const Printed* multiple = find_argument(all, "multiple_of");
  const Printed* hidden = find_argument(all, "hidden_size");
  if (multiple == nullptr || hidden == nullptr || find_argument(all, "swiglu") == nullptr ||
      find_argument(all, "ffn_hidden_size") != nullptr)
    return;
  std::vector<Setting> settings;
  for (const Printed& p : all)
    if (p.name == "multiple_of" || p.name == "hidden_size" || p.name == "hidden_dim_multiplier")
      settings.push_back({p.name, {p.value}, p.place, false, p.shown});
  Arguments args{settings, draft.wrong()};
  const auto size = args.count("hidden_size", 1);
  const auto step = args.count("multiple_of", 1);
  const double factor = args.number("hidden_dim_multiplier").value_or(1.0);
  if (size && step && *size <= most_counted && factor > 0 && factor <= 1024)
    all.push_back({"ffn_hidden_size", std::to_string(llama_width(*size, factor, *step)),
                   multiple->place, multiple->shown});
}

/// The training file that an experiment of FlagScale names: `defaults: [{train: 32b}]`.
std::optional<fs::path> named_training(const Node& root, const std::string& path) {
  const Node* defaults = root.find("defaults");
  if (defaults == nullptr || defaults->kind != Node::Kind::list) return {};
  for (const Node& item : defaults->items) {
    const Node* name = item.kind == Node::Kind::mapping ? item.find("train") : nullptr;
    if (name != nullptr) return fs::path(path).parent_path() / "train" / (name->text + ".yaml");
  }
  return {};
}

/// `experiment.runner` says nodes and devices of each.
void read_runner(const Node& root, Launch& launch) {
  const Node* experiment = root.find("experiment");
  const Node* runner = experiment == nullptr || experiment->kind != Node::Kind::mapping
                           ? nullptr
                           : experiment->find("runner");
  if (runner == nullptr || runner->kind != Node::Kind::mapping) return;
  const auto take = [&](const char* name, std::optional<Setting>& into) {
    const Node* value = runner->find(name);
    if (value != nullptr && value->kind == Node::Kind::scalar)
      into = Setting{name, {value->text}, value->place, false};
  };
  take("nnodes", launch.nodes);
  take("nproc_per_node", launch.devices_per_node);
}

/// A file of Primus' own repository, in which an experiment stands: looked for upwards from it.
std::optional<fs::path> primus_file(const fs::path& experiment, const std::string& folder,
                                    const std::string& name) {
  constexpr int highest = 8;
  fs::path here = fs::absolute(experiment).parent_path();
  for (int i = 0; i < highest; ++i) {
    const fs::path file = here / "primus" / "configs" / folder / "megatron" / name;
    if (is_file(file)) return file;
    here = here.parent_path();
  }
  return {};
}

/// A file with those that it extends, which stand in front of it.
void add_extended(const fs::path& file, const ShellInputs& inputs, int depth,
                  std::vector<Printed>& all) {
  constexpr int deepest = 8;
  if (depth > deepest)
    refuse_input({file.string()}, "extends", "is nested too deeply, allowed: 8 files");
  Node root = yaml_beside(file);
  if (const Node* extends = root.find("extends");
      extends != nullptr && extends->kind == Node::Kind::list)
    for (const Node& item : extends->items)
      add_extended((file.parent_path() / item.text).lexically_normal(), inputs, depth + 1, all);
  std::erase_if(root.entries, [](const Node::Entry& entry) {
    return entry.key == "extends" || entry.key == "includes" || entry.key == "bases";
  });
  add_leaves(root, {}, References{root, inputs}, all);
}

/// The part of a module: a file of the repository, or that beside the experiment.
void add_named(const Node& module, const char* key, const std::string& folder,
               const std::string& path, const ShellInputs& inputs, std::vector<Printed>& all,
               Draft& draft) {
  const Node* named = module.find(key);
  if (named == nullptr) return;
  const std::string name = References{module, inputs}.resolved(named->text);
  const fs::path beside = fs::path(path).parent_path() / name;
  const auto file = is_file(beside) ? std::optional(beside) : primus_file(path, folder, name);
  if (file) return add_extended(*file, inputs, 0, all);
  draft.wrong(named->place, std::string("modules..") + key,
              "names " + name + ", a file in primus/configs/" + folder +
                  "/megatron of Primus' repository; give the experiment inside that repository, "
                  "or the arguments that its run prints (--arguments LOG)");
}

/// The module that trains.
const Node* primus_module(const Node& root) {
  const Node* modules = root.find("modules");
  if (modules == nullptr || modules->kind != Node::Kind::mapping) return nullptr;
  for (const Node::Entry& entry : modules->entries)
    if (entry.key.ends_with("trainer") && entry.value.kind == Node::Kind::mapping)
      return &entry.value;
  return nullptr;
}

}  // namespace

std::string_view argument_tree_form(const std::string& text) {
  // Told by what only that tool writes, the most particular first.
  if (has_line(text, "modules:") && has_words(text, "trainer:") && has_words(text, "framework:"))
    return "primus";
  const bool sections = has_line(text, "system:") && has_line(text, "model:");
  const bool experiment = has_line(text, "experiment:") && has_words(text, "backend: megatron");
  if ((sections && has_words(text, "num_layers:")) || experiment) return "flagscale";
  for (const char* name : {"num_layers:", "num-layers:", "language_model:"})
    if (has_line(text, name) && !has_words(text, "model_type")) return "megatron-args";
  return {};
}

std::optional<std::int64_t> import_megatron_arguments(const std::string& path,
                                                      const std::string& text,
                                                      const ImportOptions& options, Draft& draft) {
  const Node root = parse_foreign_document(text, path);
  const ShellInputs inputs = inputs_of(options);
  std::vector<Printed> all;
  add_leaves(root, {}, References{root, inputs}, all);
  // Sections hold fields of the configuration, where the number of groups counts by itself.
  const Printed* groups = find_argument(all, "num_query_groups");
  if (root.find("language_model") != nullptr && groups != nullptr)
    all.push_back({"group_query_attention", "True", groups->place, groups->shown});
  const Framework framework = framework_by(text);
  Launch launch = arranged(framework, all, path, options, draft);
  return import_flags(framework, std::move(launch), options, draft);
}

std::optional<std::int64_t> import_flagscale(const std::string& path, const std::string& text,
                                             const ImportOptions& options, Draft& draft) {
  Node root = parse_foreign_document(text, path);
  const Node experiment = root;
  const ShellInputs inputs = inputs_of(options);
  if (const auto named = named_training(root, path)) {
    if (!is_file(*named))
      refuse_input({path}, "defaults",
                   "names " + named->string() +
                       ", which is not there, allowed: the file "
                       "with the sections system, model and data");
    root = yaml_beside(*named);
  }
  std::erase_if(root.entries, [](const Node::Entry& entry) {
    return entry.key != "system" && entry.key != "model" && entry.key != "data";
  });
  std::vector<Printed> all;
  add_leaves(root, {}, References{experiment, inputs}, all);
  add_flagscale_width(all, draft);
  Launch launch = arranged(Framework::flagscale, all, path, options, draft);
  read_runner(experiment, launch);
  return import_flags(Framework::flagscale, std::move(launch), options, draft);
}

std::optional<std::int64_t> import_primus(const std::string& path, const std::string& text,
                                          const ImportOptions& options, Draft& draft) {
  const Node root = parse_foreign_document(text, path);
  const ShellInputs inputs = inputs_of(options);
  const Node* module = primus_module(root);
  if (module == nullptr)
    refuse_input({path}, "modules", "has no trainer, allowed: pre_trainer or sft_trainer");
  const Node* framework = module->find("framework");
  if (framework == nullptr || framework->text != "megatron")
    refuse_input({path}, "modules",
                 "trains with " + (framework == nullptr ? "no framework" : framework->text) +
                     ", allowed: framework: megatron");
  std::vector<Printed> all;
  add_named(*module, "config", "modules", path, inputs, all, draft);
  add_named(*module, "model", "models", path, inputs, all, draft);
  if (!draft.wrong().empty()) return options.devices;
  if (const Node* overrides = module->find("overrides");
      overrides != nullptr && overrides->kind == Node::Kind::mapping)
    add_leaves(*overrides, {}, References{root, inputs}, all);
  Launch launch = arranged(Framework::primus, all, path, options, draft);
  const auto devices = import_flags(Framework::primus, std::move(launch), options, draft);
  draft.expect_nothing();  // defaults stand in its files as well
  return devices;
}

}  // namespace stepcast::launch
