#include <algorithm>
#include <array>
#include <filesystem>

#include "python_calls.hpp"
#include "stepcast/base/text.hpp"
#include "structured.hpp"

// torchtitan's configurations of 2026: functions that return Trainer.Config. Their keyword
// arguments become the keys of its TOML.
namespace stepcast::launch {
namespace {

using python::Value;

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

/// A value as a setting's words; nothing where it is not known, or None.
std::optional<std::vector<std::string>> words_of(const Value& value) {
  if (value.kind == Value::Kind::scalar && value.text != "None")
    return std::vector<std::string>{value.text == "True"    ? "true"
                                    : value.text == "False" ? "false"
                                                            : value.text};
  if (value.kind != Value::Kind::list) return {};
  std::vector<std::string> words;
  for (const Value& item : value.items) {
    if (item.kind != Value::Kind::scalar) return {};
    words.push_back(item.text);
  }
  return words;
}

struct Renamed {
  std::string_view from, to;
};
/// Keys of Python under those of the TOML.
constexpr std::array<Renamed, 2> renamed{
    {{"training.max_context_length", "training.seq_len"},
     {"compile.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"}}};

class Collector {
 public:
  Collector(const std::string& path, Draft& draft) : path_{path}, draft_{draft} {}

  void add(const Value& root) {
    for (const auto& [key, value] : root.keywords) {
      if (key == "model_spec")
        add_model(value);
      else if (key == "activation_checkpoint")
        add_rebuild(value);
      else if (key == "optimizer")
        add_optimizer(value);
      else if (key == "loss")
        add_loss(value);
      else
        add_section(key, value);
    }
    settle_batches();
  }
  std::vector<Setting> settings;

 private:
  void put(const std::string& name, std::vector<std::string> words, const Place& place,
           const std::string& written = {}) {
    settings.push_back({name, std::move(words), place, false, written});
  }
  /// A section that has an effect is one of those that the table knows.
  void add_section(const std::string& section, const Value& value) {
    if (value.kind != Value::Kind::call) return put(section, {}, value.place);
    for (const auto& [key, field] : value.keywords) {
      const std::string name = section + "." + key;
      const auto words = words_of(field);
      const auto other = std::ranges::find(renamed, std::string_view(name), &Renamed::from);
      const std::string toml(other == renamed.end() ? std::string_view(name) : other->to);
      const bool none = field.kind == Value::Kind::scalar && field.text == "None";
      const auto flag = find_flag(Framework::torchtitan, toml);
      if (words)
        put(toml, *words, field.place, toml == name ? "" : name);
      else if (!none && (!flag || flag->treatment != Treatment::ignored))
        draft_.wrong(field.place, name, "is no number, text or list, allowed: one");
    }
  }
  /// `model_registry("70B", converters=[Float8LinearConverter.Config(..)])`.
  void add_model(const Value& value) {
    if (value.kind != Value::Kind::call || value.items.empty() ||
        value.items.front().kind != Value::Kind::scalar)
      return draft_.wrong(value.place, "model_spec", "is no call of model_registry with a name");
    const std::string& flavor = value.items.front().text;
    put("model.flavor", {flavor}, value.place, "model_spec");
    put("model.name", {model_of(flavor)}, value.place, "model_spec");
    for (const auto& [key, field] : value.keywords) {
      if (key == "converters")
        add_converters(field);
      else if (key == "moe_comm_backend")
        put("parallelism.expert_parallel_comm_backend", {field.text}, field.place, key);
      else if (key == "num_mtp_layers" && field.text != "0")
        draft_.wrong(field.place, key,
                     "asks for what the dimensions of torchtitan do not have, allowed: 0");
    }
  }
  /// The folder of the registry, its imports, or the one model that has such a flavor.
  std::string model_of(const std::string& flavor) {
    const std::string folder = std::filesystem::absolute(path_).parent_path().filename().string();
    const std::string models = torchtitan_models_of(flavor);
    if ((" " + models + " ").find(" " + folder + " ") != std::string::npos) return folder;
    return models.empty() || models.find(' ') != std::string::npos ? folder : models;
  }
  void add_converters(const Value& list) {
    Setting names{"model.converters", {}, list.place, true, "converters"};
    for (const Value& item : list.items) {
      const std::string kind = item.callee.substr(0, item.callee.find('.'));
      if (kind == "Float8LinearConverter")
        names.words.emplace_back("float8");
      else if (kind == "MXFP8LinearConverter")
        names.words.emplace_back("mx");
      else
        draft_.wrong(list.place, "converters",
                     "has " + (kind.empty() ? "what is not followed" : kind) +
                         ", which no value of training.precision says, allowed: "
                         "Float8LinearConverter, MXFP8LinearConverter");
      if (const Value* recipe = item.find("recipe_name"))
        put(names.words.empty() || names.words.back() == "mx" ? "mx.recipe_name"
                                                              : "float8.recipe_name",
            {recipe->text}, recipe->place);
    }
    if (!names.words.empty()) settings.push_back(std::move(names));
  }
  void add_rebuild(const Value& value) {
    const std::string kind = value.callee.substr(0, value.callee.find('.'));
    if (kind == "FullAC")
      return put("activation_checkpoint.mode", {"full"}, value.place, "activation_checkpoint");
    if (kind == "SelectiveAC") {
      put("activation_checkpoint.mode", {"selective"}, value.place, "activation_checkpoint");
      return put("activation_checkpoint.selective_ac_option", {"op"}, value.place,
                 "activation_checkpoint");
    }
    if (value.kind == Value::Kind::scalar && value.text == "None")
      return put("activation_checkpoint.mode", {"none"}, value.place, "activation_checkpoint");
    if (kind == "MemoryBudgetAC")
      return put("activation_checkpoint.mode", {"memory_budget"}, value.place,
                 "activation_checkpoint");
    add_section("activation_checkpoint", value);
  }
  void add_optimizer(const Value& value) {
    if (value.callee == "default_adamw") return;
    if (value.callee.ends_with("Config")) return add_section("optimizer", value);
    put("optimizer.name", {value.callee}, value.place, "optimizer");
  }
  void add_loss(const Value& value) {
    if (value.callee.starts_with("Chunked"))
      draft_.note(
          {value.place, "loss", "is not modelled: logits in chunks, less memory at the head"});
  }
  const Setting* find(std::string_view name) const {
    const auto found = std::ranges::find(settings, name, &Setting::name);
    return found == settings.end() ? nullptr : &*found;
  }
  std::optional<std::int64_t> count(std::string_view name) const {
    const Setting* setting = find(name);
    const auto value = setting == nullptr ? std::nullopt : parse_count(setting->words.front());
    if (!value) return {};
    return static_cast<std::int64_t>(*value);
  }
  /// Tokens of a forward and of a step become sequences.
  void settle_batches() {
    const std::string_view forward = "training.num_tokens_per_microbatch_per_dp_rank";
    const std::string_view step = "training.num_tokens_per_train_step";
    const Setting* tokens = find(forward);
    if (tokens == nullptr) return;
    constexpr std::int64_t missing = 2048;  // max_context_length
    const std::int64_t length =
        std::max<std::int64_t>(count("training.seq_len").value_or(missing), 1);
    const auto of_forward = count(forward), of_step = count(step);
    const Place place = tokens->place;
    if (!of_forward || *of_forward < 1 || *of_forward % length != 0)
      return draft_.wrong(place, std::string(forward),
                          "is no multiple of training.max_context_length, " +
                              std::to_string(length) + ", allowed: one");
    const std::int64_t stages = count("parallelism.pipeline_parallel_degree").value_or(1);
    const std::int64_t pieces =
        stages > 1 ? count("parallelism.num_pp_microbatches").value_or(1) : 1;
    put("training.local_batch_size", {std::to_string(*of_forward / length * pieces)}, place,
        std::string(forward));
    if (stages > 1)
      put("parallelism.pipeline_parallel_microbatch_size", {std::to_string(*of_forward / length)},
          place, std::string(forward));
    if (of_step && *of_step > 0) {
      if (*of_step % length != 0)
        return draft_.wrong(place, std::string(step), "is no multiple of the length, allowed: one");
      put("training.global_batch_size", {std::to_string(*of_step / length)}, place,
          std::string(step));
    }
    const Setting* off = find("training.disable_cuda_graphs");
    if (stages == 1 && (off == nullptr || off->words.front() != "true"))
      draft_.note({place, "training.disable_cuda_graphs",
                   "is off: one graph holds the forward and the backward; say it by "
                   "--set runtime.dispatch=graph_sink"});
  }

  std::string path_;
  Draft& draft_;
};

/// The function that is meant: the only one, or that behind `--`.
std::string function_of(const std::string& path, const std::string& text,
                        const ImportOptions& options) {
  const std::vector<std::string> all = python::configurations(text);
  if (!options.arguments.empty()) {
    if (std::ranges::find(all, options.arguments.front()) != all.end())
      return options.arguments.front();
    refuse_input({path}, {},
                 "has no configuration " + options.arguments.front() + ", allowed: " + joined(all));
  }
  if (all.size() == 1) return all.front();
  if (all.empty()) refuse_input({path}, {}, "has no function that returns Trainer.Config");
  refuse_input({path}, {},
               "has " + std::to_string(all.size()) +
                   " configurations; name one behind --, allowed: " + joined(all));
}

}  // namespace

std::optional<std::int64_t> import_torchtitan_python(const std::string& path,
                                                     const std::string& text,
                                                     const ImportOptions& options, Draft& draft) {
  const Value root = python::configuration(path, text, function_of(path, text, options));
  if (last_part(root.callee) != "Config" || !root.callee.starts_with("Trainer"))
    refuse_input(root.place, {}, "is no call of Trainer.Config, allowed: one");
  Collector collector{path, draft};
  collector.add(root);
  return import_torchtitan_settings(
      checked(Framework::torchtitan, collector.settings, options, draft), options, draft);
}

}  // namespace stepcast::launch
