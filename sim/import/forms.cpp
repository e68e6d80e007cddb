#include "forms.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "deepspeed.hpp"
#include "megatron.hpp"
#include "model_folder.hpp"
#include "printed.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/foreign_document.hpp"
#include "stepcast/base/text.hpp"
#include "structured.hpp"
#include "unknown_names.hpp"

namespace stepcast::launch {
namespace {

std::string ending_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos || path.find('/', dot) != std::string::npos
             ? ""
             : path.substr(dot + 1);
}

/// How a text without a name is written: by its first line that says something.
std::string ending_by_text(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view first = trimmed(line);
    if (first.starts_with("#!")) return "sh";
    if (first.empty() || first.starts_with('#') || first == "---") continue;
    if (first.starts_with('{')) return "json";
    if (first.starts_with('[')) return "toml";
    const bool python = first.starts_with("from ") || first.starts_with("import ") ||
                        first.starts_with("def ") || first.starts_with(R"(""")");
    if (python) return "py";
    const std::size_t name = first.find_first_not_of(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
    if (name == std::string_view::npos || name == 0) return "sh";
    const std::string_view behind = first.substr(name);
    if (behind.starts_with(" = ")) return "toml";
    return behind == ":" || behind.starts_with(": ") ? "yaml" : "sh";
  }
  return "sh";
}

bool is_mindformers(const std::string& text) {
  return text.find("parallel_config:") != std::string::npos &&
         text.find("model_config:") != std::string::npos;
}
bool is_mindspeed_fsdp2(const std::string& text) {
  return text.find("\nparallel:") != std::string::npos &&
         text.find("fsdp_modules:") != std::string::npos;
}
bool is_nemo(const std::string& text) {
  return text.find("tensor_model_parallel_size:") != std::string::npos &&
         text.find("micro_batch_size:") != std::string::npos;
}

bool is_log(const std::string& path) {
  const std::string ending = ending_of(path);
  return ending == "log" || ending == "txt" || ending == "out";
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
bool is_deepspeed(const std::string& text) {
  return has(text, "\"zero_optimization\"") || has(text, "\"train_micro_batch_size_per_gpu\"") ||
         has(text, "\"train_batch_size\"");
}
bool is_graph(const std::string& text) { return has(text, "\"stepcast_graph\""); }
bool is_hugging_face(const std::string& text) { return has(text, "\"model_type\""); }
bool is_megatron_deepspeed(const std::string& text) {
  return has(text, "--deepspeed_config") || has(text, "--deepspeed-config") ||
         has(text, "--zero-stage");
}

/// What a file of Python is, and what to give instead.
std::string other_python(const std::string& text) {
  const std::string run = ", which is never run; give ";
  if (has(text, "megatron.bridge") || has(text, "ConfigContainer"))
    return "is a recipe of Megatron-Bridge" + run + "the run_config.yaml that its run writes";
  if (has(text, "nemo_run") || has(text, "nemo.collections"))
    return "is a recipe of NeMo" + run + "the configuration that its run writes (--arguments)";
  if (has(text, "model = dict(") && has(text, "parallel = dict("))
    return "is a configuration of InternEvo in Python, which is not read; give a scenario "
           "(stepcast new, framework: internevo-0.2)";
  return "is a program in Python" + run +
         "the script that launches it, or the arguments that it prints (--arguments LOG)";
}

/// What a tree of another program is, by a mark of its own.
std::string other_tree(const std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> marks[] = {
      {"_component_:", "torchtune"},
      {"pipe-parallel-size", "GPT-NeoX"},
      {"pipe_parallel_size", "GPT-NeoX"},
      {"activation_type:", "OLMo"},
      {"device_train_microbatch_size:", "LLM Foundry"},
      {"ici_fsdp_parallelism:", "MaxText"},
      {"base_emb_dim:", "MaxText"},
      {"base_num_decoder_layers:", "MaxText"},
      {"max_prefill_predict_length:", "MaxText"},
      {"data_parallel_size_per_replica:", "levanter"},
      {"per_device_parallelism:", "levanter"},
      {"\ntrainer:\n  tracker:", "levanter"},
      {"batch_accumulation_per_replica:", "nanotron"},
      {"_CLASS_:", "OLMo-core"},
      {"init_device: meta", "LLM Foundry"},
      {"init_device: mixed", "LLM Foundry"},
      {"hidden_dim:", "levanter"},
      {"\"tensor_parallel_degree\"", "PaddleNLP"},
      {"litgpt", "LitGPT"},
      {"\nwith_tracking:", "open-instruct"},
      {"\nuse_slow_tokenizer:", "open-instruct"},
      {"actor_rollout_ref:", "verl"},
      {"rollout_backend:", "ChatLearn"},
      {"nemo_automodel", "NeMo Automodel"}};
  for (const auto& [mark, name] : marks)
    if (has(text, mark))
      return "is a configuration of " + std::string(name) +
             ", which is not read; write a scenario (stepcast new), or give the config.json of its "
             "model";
  return {};
}

/// Settings whose switches are off count as absent.
void drop_switched_off(std::vector<Setting>& settings) {
  std::erase_if(settings, [](const Setting& s) {
    return s.words.size() == 1 &&
           (s.words.front() == "false" || s.words.front() == "False" || s.words.front() == "null");
  });
}

/// The variable that a flag without a value asks for, of those that are not set: between the flag
/// and the next one of its line.
const std::pair<std::string, Place>* asked_by(const Launch& launch, const Setting& setting) {
  const auto behind = [&](const Place& place) {
    return place.line == setting.place.line && place.file == setting.place.file &&
           place.column > setting.place.column;
  };
  for (const auto& asked : launch.missing) {
    const bool next = std::ranges::any_of(launch.settings, [&](const Setting& other) {
      return behind(other.place) && other.place.column < asked.second.column;
    });
    if (behind(asked.second) && !next) return &asked;
  }
  return nullptr;
}

/// A key that --set gives counts instead of its flag, whatever the flag's value is; a value that
/// hangs on a name that is not set is asked for by that name.
void settle_values(Framework framework, Launch& launch, Draft& draft) {
  const auto settled = [&](Setting& setting) {
    const auto flag = find_flag(framework, setting.name);
    if (flag && flag->arity == Arity::none && std::ranges::any_of(setting.words, is_unknown)) {
      const auto* asked = asked_by(launch, setting);
      draft.wrong(setting, asked == nullptr
                               ? "is followed by what a command prints, allowed: "
                                 "flags that are written out"
                               : "is followed by " + asked->first +
                                     ", which is not set; give --env " + asked->first + "=VALUE");
      setting.words.clear();
      return false;
    }
    if (!flag || flag->treatment != Treatment::taken || flag->arity != Arity::one) return false;
    const bool open =
        setting.words.empty() || std::ranges::any_of(setting.words, [](const std::string& word) {
          return is_unknown(word) || word.empty();
        });
    const std::string key(flag->key.substr(0, flag->key.find(',')));
    // Where the flag is the key itself its value is replaced, since other flags are derived from
    // it.
    if (draft.given(key)) {
      const auto count = draft.count(key);
      if (flag->direct && count) setting.words = {std::to_string(*count)};
      return open && !(flag->direct && count);
    }
    const auto* asked = open ? asked_by(launch, setting) : nullptr;
    if (asked == nullptr && setting.words.empty() && !launch.unset.empty()) {
      draft.wrong(setting, "has no value, allowed: one" + launch.unset);
      launch.unset.clear();  // said once
    }
    if (asked == nullptr) return false;
    // A number is an argument of the script, a name a variable.
    const bool number = asked->first[0] >= '0' && asked->first[0] <= '9';
    draft.wrong(setting, "has no value, as " + std::string(number ? "$" : "") + asked->first +
                             " is not set; give " +
                             (number ? std::string("the arguments of the script after --")
                                     : "--env " + asked->first + "=VALUE") +
                             (flag->direct ? ", or --set " + key + "=.." : ""));
    return false;
  };
  std::vector<Setting> kept;
  kept.reserve(launch.settings.size());
  for (Setting& setting : launch.settings)
    if (Setting copy = setting; !settled(copy)) kept.push_back(std::move(copy));
  launch.settings = std::move(kept);
}

/// Names that Megatron-LM had until 2022.
void rename_older(std::vector<Setting>& settings) {
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Setting from = settings[i];
    if (from.name == "--model-parallel-size") {
      settings[i].name = "--tensor-model-parallel-size";
      settings[i].written = from.name;
    }
    if (from.name == "--activations-checkpoint-num-layers")
      settings[i] = {"--recompute-num-layers", from.words, from.place, false, from.name};
    if (from.name == "--activations-checkpoint-method") {
      settings[i] = {"--recompute-method", from.words, from.place, false, from.name};
      settings.push_back({"--recompute-granularity", {"full"}, from.place, false, from.name});
    }
    if (from.name != "--checkpoint-activations") continue;
    settings[i] = {"--recompute-granularity", {"full"}, from.place, false, from.name};
    settings.push_back({"--recompute-method", {"uniform"}, from.place, false, from.name});
  }
}

/// Where arguments of a script are missing, each flag that hangs on one is wrong for that reason
/// alone.
void ask_for_arguments(const Launch& launch, const std::string& unset, Draft& draft) {
  if (lacks_arguments(launch.missing) && !draft.wrong().empty())
    refuse_input({launch.file}, {}, without_arguments + unset);
}

}  // namespace

ShellInputs inputs_of(const ImportOptions& options) {
  ShellInputs inputs{options.arguments, {}};
  // As `env` takes them, since that is what stands in front of a launch.
  for (const std::string& text : options.environment) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      refuse_input({}, "--env", "is '" + text + "', allowed: NAME=VALUE");
    inputs.environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return inputs;
}

std::optional<std::int64_t> import_flags(Framework framework, Launch launch,
                                         const ImportOptions& options, Draft& draft) {
  for (const Diagnostic& note : launch.notes) draft.note(note);
  if (launch.one_node && !options.devices) draft.note(*launch.one_node);
  refuse_other_programs(launch);
  rename_older(launch.settings);
  refuse_other_steps(framework, launch.settings);
  const std::string unset = launch.unset;
  settle_values(framework, launch, draft);
  ask_for_arguments(launch, unset, draft);
  check_settings(framework, launch.settings, options.ignore_unknown, draft, launch.program);
  refuse_without_model(launch, draft);
  drop_switched_off(launch.settings);
  std::erase_if(launch.settings, [&](const Setting& s) {
    const auto flag = find_flag(framework, s.name);
    return !flag || flag->treatment == Treatment::ignored;
  });
  const std::optional<std::int64_t> devices = devices_of(launch, options, draft);
  Arguments arguments{launch.settings, draft.wrong()};
  Arguments environment{launch.environment, draft.wrong()};
  MegatronLaunch megatron{framework, arguments, environment, draft, devices};
  import_megatron(megatron);
  return devices;
}

namespace {

/// A text with `${NAME}` of the environment in it; the first name that is not set goes to
/// `missing`.
std::string with_environment(std::string text, const ShellInputs& inputs, std::string& missing) {
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string::npos) break;
    const std::string name = text.substr(at + 2, end - at - 2);
    const auto found = inputs.environment.find(name);
    if (found == inputs.environment.end() && missing.empty()) missing = name;
    if (found == inputs.environment.end()) {
      at = end;
      continue;
    }
    text.replace(at, end + 1 - at, found->second);
    at += found->second.size();
  }
  return text;
}

/// `MODEL_ARGS: {--flag: value}` and `ENV_VARS` of Megatron-LM's functional tests, with variables
/// that the launcher of its models fills in.
Launch read_model_args(const std::string& path, const std::string& text,
                       const ShellInputs& inputs) {
  const Node root = parse_foreign_document(text, path);
  Launch launch{path, {}, {}, {}, {}, {}};
  const auto words_of = [&](const Node& value, std::string& missing) {
    std::vector<std::string> words;
    const std::string list = with_environment(value.text, inputs, missing);
    if (value.kind == Node::Kind::list)
      for (const Node& item : value.items) words.push_back(item.text);
    else if (list.starts_with('[') && list.ends_with(']') && list.find('*') == std::string::npos) {
      for (std::size_t at = 1; at + 1 < list.size();) {
        const std::size_t end = std::min(list.find(' ', at), list.size() - 1);
        if (end > at) words.push_back(list.substr(at, end - at));
        at = end + 1;
      }
    } else if (value.kind == Node::Kind::scalar && list != "true")
      words.push_back(list);
    return words;
  };
  const auto take = [&](const char* key, std::vector<Setting>& into) {
    const Node* part = root.find(key);
    if (part == nullptr || part->kind != Node::Kind::mapping) return;
    for (const Node::Entry& entry : part->entries) {
      std::string missing;
      std::vector<std::string> words = words_of(entry.value, missing);
      const auto flag = find_flag(Framework::megatron, entry.key);
      if (!missing.empty() && flag && flag->arity == Arity::one) {
        words.clear();
        launch.missing.emplace_back(missing, entry.value.place);
      }
      into.push_back({entry.key, std::move(words), entry.place, false});
    }
  };
  take("MODEL_ARGS", launch.settings);
  take("ENV_VARS", launch.environment);
  return launch;
}

constexpr std::array<LaunchForm, 20> forms{
    {{"megatron", "Megatron-LM", import_megatron_shell},
     {"mindspeed", "MindSpeed-LLM", import_mindspeed_shell},
     {"mindspeed-fsdp2", "MindSpeed-LLM, FSDP2", import_mindspeed_fsdp2},
     {"megatron-yaml", "Megatron-LM, functional test", import_megatron_yaml},
     {"mindformers", "MindFormers", import_mindformers},
     {"torchtitan", "torchtitan", import_torchtitan},
     {"torchtitan-python", "torchtitan, configuration in Python", import_torchtitan_python},
     {"nemo", "NeMo or Megatron-Bridge", import_nemo},
     {"megatron-deepspeed", "Megatron-DeepSpeed", import_megatron_deepspeed},
     {"deepspeed", "DeepSpeed", import_deepspeed},
     {"huggingface", "a Hugging Face model", import_hugging_face},
     {"arguments", "a run, as it printed its arguments", import_arguments},
     {"megatron-args", "Megatron-LM, arguments in YAML", import_megatron_arguments},
     {"flagscale", "FlagScale", import_flagscale},
     {"primus", "Primus", import_primus},
     {"trainer", "the Trainer of Transformers", import_trainer},
     {"llama-factory", "LLaMA-Factory", import_llama_factory},
     {"axolotl", "axolotl", import_axolotl},
     {"ms-swift", "ms-swift", import_ms_swift},
     {"graph", "a task graph", import_graph}}};

}  // namespace

std::span<const LaunchForm> launch_forms() { return forms; }

bool is_yaml(const std::string& path, const std::string& text) {
  const std::string ending = path == "-" ? ending_by_text(text) : ending_of(path);
  return ending == "yaml" || ending == "yml";
}

bool is_mindspeed(const std::string& text) {
  constexpr std::array<std::string_view, 12> marks{
      "mindspeed",          "HCCL_",
      "NPUS_PER_NODE",      "ASCEND_",
      "TASK_QUEUE_ENABLE",  "--use-fused-rmsnorm",
      "--use-fused-swiglu", "--use-fused-rotary-pos-emb",
      "--use-mc2",          "--use-ascend-coc",
      "--swap-attention",   "--reuse-fp32-param"};
  return std::ranges::any_of(
      marks, [&](std::string_view mark) { return text.find(mark) != std::string::npos; });
}

std::optional<std::int64_t> import_megatron_shell(const std::string& path, const std::string& text,
                                                  const ImportOptions& options, Draft& draft) {
  return import_flags(Framework::megatron, read_shell(path, text, inputs_of(options)), options,
                      draft);
}
std::optional<std::int64_t> import_mindspeed_shell(const std::string& path, const std::string& text,
                                                   const ImportOptions& options, Draft& draft) {
  return import_flags(Framework::mindspeed, read_shell(path, text, inputs_of(options)), options,
                      draft);
}
std::optional<std::int64_t> import_megatron_yaml(const std::string& path, const std::string& text,
                                                 const ImportOptions& options, Draft& draft) {
  return import_flags(Framework::megatron, read_model_args(path, text, inputs_of(options)), options,
                      draft);
}

const LaunchForm& form_of(const std::string& path, const std::string& from,
                          const SearchPath& search) {
  const auto named = [](std::string_view name) -> const LaunchForm& {
    return *std::ranges::find(forms, name, &LaunchForm::name);
  };
  const bool named_yaml = is_yaml(path, {});
  const bool log = is_log(path) || (from == "arguments" && !named_yaml && path != "-");
  const std::string text =
      log ? read_printed(path, search) : read_document_text(path, search, "a launch file");
  const std::string ending = path == "-" ? ending_by_text(text) : ending_of(path);
  const bool yaml = is_yaml(path, text);
  if (!from.empty()) {
    std::string name = from == "megatron" && yaml ? "megatron-yaml" : from;
    if (from == "arguments" && yaml) name = "nemo";  // which write a configuration instead
    if (std::ranges::find(forms, name, &LaunchForm::name) == forms.end())
      refuse_input({}, "--from", "is '" + from + "', allowed: " + joined(import_kinds()));
    return named(name);
  }
  if (ending == "py") {
    if (has(text, "Trainer.Config")) return named("torchtitan-python");
    refuse_input({path}, {}, other_python(text));
  }
  if (yaml && text.find("MODEL_ARGS:") != std::string::npos) return named("megatron-yaml");
  if (yaml && (has("\n" + text, "\nextends:\n") || has("\n" + text, "\nbases:\n")))
    refuse_input({path}, {},
                 "is a part that files of Primus extend, without a training; give the "
                 "experiment that names it (modules:)");
  if (ending == "toml") return named("torchtitan");
  if (const auto tree = yaml ? argument_tree_form(text) : std::string_view(); !tree.empty())
    return named(tree);
  if (const auto form = yaml ? trainer_yaml_form(text) : std::string_view(); !form.empty()) {
    if (form != "accelerate") return named(form);
    refuse_input({path}, {},
                 "is a configuration of accelerate, which says the sharding alone; give the "
                 "script that names it (accelerate launch --config_file)");
  }
  if (yaml && is_mindspeed_fsdp2(text)) return named("mindspeed-fsdp2");
  if (yaml && is_mindformers(text)) return named("mindformers");
  if (const auto other = yaml ? other_tree(text) : std::string(); !other.empty())
    refuse_input({path}, {}, other);
  if (yaml && is_nemo(text)) return named("nemo");
  if (ending == "json" && is_graph(text)) return named("graph");
  if (ending == "json" && is_deepspeed(text)) return named("deepspeed");
  if (ending == "json" && is_hugging_face(text)) return named("huggingface");
  if (const auto other = ending == "json" ? other_tree(text) : std::string(); !other.empty())
    refuse_input({path}, {}, other);
  if (yaml && has(text, "stepcast: 1"))
    refuse_input({path}, {}, "is a file of Stepcast; did you mean stepcast run " + path + "?");
  if (yaml || ending == "json")
    refuse_input({path}, {},
                 "is no launch file that is known, allowed with --from: " + joined(import_kinds()));
  if (has(text, "train_fsdp2.py") || has(text, "--parallel.fsdp_size"))
    return named("mindspeed-fsdp2");
  if (has_printed_arguments(text)) return named("arguments");
  if (const auto form = trainer_shell_form(path, text); !form.empty()) return named(form);
  if (is_megatron_deepspeed(text)) return named("megatron-deepspeed");
  return named(is_mindspeed(text) ? "mindspeed" : "megatron");
}

}  // namespace stepcast::launch

namespace stepcast {

std::vector<std::string> import_kinds() {
  std::vector<std::string> names;
  for (const launch::LaunchForm& form : launch::launch_forms()) names.emplace_back(form.name);
  return names;
}

bool is_launch_file(const std::string& path, const SearchPath& search) {
  // By the ending where that is certain; other endings are scenarios as well, and only the text
  // tells.
  const std::string ending = launch::ending_of(path);
  constexpr std::string_view scripts[] = {"sh", "bash", "slurm", "sbatch", "args", "toml", "py"};
  if (std::ranges::find(scripts, ending) != std::end(scripts)) return true;
  if (is_folder(path)) return is_file(std::filesystem::path(path) / "config.json");
  const bool json = ending == "json";
  if (ending != "yaml" && ending != "yml" && !json && !launch::is_log(path)) return false;
  try {
    // Logs have a reader of their own, which passes over all but the printed arguments.
    if (launch::is_log(path))
      return launch::has_printed_arguments(launch::read_printed(path, search));
    const std::string text = read_document_text(path, search, "a launch file");
    if (json)
      return launch::is_graph(text) || launch::is_deepspeed(text) || launch::is_hugging_face(text);
    return text.find("MODEL_ARGS:") != std::string::npos || launch::is_mindformers(text) ||
           launch::is_nemo(text) || launch::is_mindspeed_fsdp2(text) ||
           !launch::trainer_yaml_form(text).empty() || !launch::argument_tree_form(text).empty();
  } catch (const InputError&) {
    return false;  // the reader of scenarios says what is wrong
  }
}

}  // namespace stepcast
