#include <algorithm>
#include <filesystem>

#include "deepspeed.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/foreign_document.hpp"
#include "unknown_names.hpp"

// Megatron-DeepSpeed: Megatron-LM's flags, some under other names, and the JSON beside them.
namespace stepcast::launch {
namespace {

/// The flags of Megatron-LM that mean the same.
struct FlagTranslation {
  const Arguments& args;
  std::vector<Setting> settings;

  const Setting* find(std::string_view name) const { return args.find(name); }
  void add(const Setting& from, std::string name, std::vector<std::string> words = {}) {
    std::string written = from.name;
    settings.push_back({std::move(name), std::move(words), from.place, false, std::move(written)});
  }
  /// A default of this framework that is another one than Megatron-LM's.
  void add_default(std::string name, std::vector<std::string> words = {}) {
    settings.push_back({std::move(name), std::move(words), {}, false, "default of the framework"});
  }
};

void translate_experts(FlagTranslation& all, Arguments& args) {
  const Setting* experts = all.find("--num-experts");
  if (experts == nullptr || args.count_or("--num-experts", 1) == 1) return;
  if (experts->words.size() > 1)
    return args.fail(*experts,
                     "differs by layer, which no value of model.moe.experts says, allowed: one");
  all.add(*experts, "--num-experts", experts->words);
  const Setting* size = all.find("--moe-expert-parallel-size");
  if (size != nullptr) all.add(*size, "--expert-model-parallel-size", size->words);
  const Setting* cut = all.find("--enable-expert-tensor-parallelism");
  // DeepSpeed keeps experts whole unless asked; Megatron-LM would split them as dense layers.
  if (cut == nullptr) all.add_default("--expert-tensor-parallel-size", {"1"});
  const Setting* chosen = all.find("--topk");
  chosen != nullptr ? all.add(*chosen, "--moe-router-topk", chosen->words)
                    : all.add_default("--moe-router-topk", {"1"});
  const Setting* interval = all.find("--expert-interval");
  // Defaults below are those of Megatron-DeepSpeed's arguments.py, where they differ from
  // Megatron-LM's.
  const std::int64_t every = args.count_or("--expert-interval", 2);
  const Setting* layers = all.find("--num-layers");
  if (layers == nullptr) return;  // Megatron's reader says that it is missing
  const std::int64_t count = args.count_or("--num-layers", 1);
  if (every < 1 || count % every != 0)
    return args.fail(interval != nullptr ? *interval : *layers,
                     "leaves layers behind the last one with experts, which no value of "
                     "model.moe.period says, allowed: a divisor of --num-layers");
  const std::vector<std::string> pattern{"([0]*" + std::to_string(every - 1) + "+[1]*1)*" +
                                         std::to_string(count / every)};
  interval != nullptr ? all.add(*interval, "--moe-layer-freq", pattern)
                      : all.add_default("--moe-layer-freq", pattern);
  // DeepSpeed's gate drops by default and pads to its capacity.
  if (all.find("--disable-moe-token-dropping") == nullptr) {
    const Setting* capacity = all.find("--moe-train-capacity-factor");
    if (capacity != nullptr && args.number(capacity->name).value_or(1) <= 0)
      args.fail(*capacity, "allows no tokens, allowed: a number above 0");
    capacity != nullptr ? all.add(*capacity, "--moe-expert-capacity-factor", capacity->words)
                        : all.add_default("--moe-expert-capacity-factor", {"1.0"});
    all.add_default("--moe-pad-expert-input-to-capacity");
  }
  all.add_default("--moe-token-dispatcher-type", {"alltoall"});
}

/// How layers are dealt out: by the names of those that count.
void translate_cut(FlagTranslation& all, Arguments& args, Draft& draft) {
  const Setting* method = all.find("--pp-partition-method");
  if (method == nullptr || draft.given("parallel.layers_per_chunk")) return;
  draft.use(*method);
  const std::string name = args.text(method->name);
  if (name == "type:transformer|embedding") {
    all.add(*method, "--account-for-embedding-in-pipeline-split");
    all.add(*method, "--account-for-loss-in-pipeline-split");
  } else if (name != "type:transformer") {
    args.fail(*method, "is '" + name +
                           "', allowed: type:transformer, type:transformer|embedding, or --set "
                           "parallel.layers_per_chunk=..");
  }
}

/// Names that Megatron-LM has under other ones.
void translate_names(FlagTranslation& all, Arguments& args) {
  if (const Setting* rebuilt = all.find("--checkpoint-activations")) {
    all.add(*rebuilt, "--recompute-granularity", {"full"});
    all.add(*rebuilt, "--recompute-method", {"uniform"});
    if (const Setting* each = all.find("--checkpoint-num-layers"))
      all.add(*each, "--recompute-num-layers", each->words);
  }
  if (const Setting* heads = all.find("--num-key-value-heads")) {
    all.add(*heads, "--group-query-attention");
    all.add(*heads, "--num-query-groups", heads->words);
  }
  // The last one counts.
  for (const char* name : {"--use-flash-attn-v1", "--use-flash-attn-v2", "--use-flash-attn-builder",
                           "--use-flash-attn-triton"})
    if (const Setting* flash = all.find(name)) all.add(*flash, "--use-flash-attn");
  if (const Setting* ulysses = all.find("--ds-sequence-parallel-size")) {
    all.add(*ulysses, "--context-parallel-size", ulysses->words);
    if (args.count_or(ulysses->name, 1) > 1) all.add(*ulysses, "--cp-comm-type", {"a2a"});
  }
  if (const Setting* norm = all.find("--normalization"))
    all.add(*norm, "--normalization",
            {args.text("--normalization") == "rmsnorm" ? "RMSNorm" : "LayerNorm"});
  if (all.find("--transformer-impl") == nullptr) all.add_default("--transformer-impl", {"local"});
}

/// Inputs of rebuilt layers on the host, which DeepSpeed's own rebuild alone holds there.
void import_host_inputs(const Arguments& args, Draft& draft) {
  const Setting* host = args.find("--checkpoint-in-cpu");
  const Setting* own = args.find("--deepspeed-activation-checkpointing");
  if (own != nullptr) draft.use(*own);
  if (host == nullptr) return;
  if (own == nullptr || args.find("--checkpoint-activations") == nullptr)
    return draft.note(*host,
                      "counts only with --checkpoint-activations and "
                      "--deepspeed-activation-checkpointing");
  draft.set("training.offload.activations", 1, {host});
}

/// Whether Megatron-LM's importer must not see a flag as it stands.
bool is_own(const Setting& setting) {
  const auto& flags = flag_table(Framework::megatron_deepspeed).flags;
  return setting.name == "--normalization" ||
         std::ranges::find(flags, setting.name, &Flag::name) != flags.end();
}

/// The JSON: written by a here-document of the script, or beside it.
std::optional<Node> find_json(const std::string& script, const Launch& launch,
                              const ImportOptions& options, const Setting* config, Draft& draft) {
  namespace fs = std::filesystem;
  if (!options.deepspeed.empty())
    return parse_foreign_document(
        read_document_text(options.deepspeed, SearchPath{}, "a JSON file"), options.deepspeed);
  if (config == nullptr || config->words.empty()) {
    draft.wrong({}, "--deepspeed_config",
                "is missing: DeepSpeed's JSON says batches, precision and sharding; give "
                "--deepspeed FILE");
    return {};
  }
  const std::string name = fs::path(config->words.front()).filename().string();
  if (const auto written = launch.files.find(name); written != launch.files.end())
    return parse_foreign_document(written->second, script + " (" + name + ")");
  const fs::path beside = fs::path(script).parent_path() / name;
  if (is_file(beside))
    return parse_foreign_document(read_document_text(beside.string(), SearchPath{}, "a JSON file"),
                                  beside.string());
  draft.wrong(*config, "names " + name + ", which is not beside the script; give --deepspeed FILE");
  return {};
}

}  // namespace

std::optional<std::int64_t> import_megatron_deepspeed(const std::string& path,
                                                      const std::string& text,
                                                      const ImportOptions& options, Draft& draft) {
  return import_megatron_deepspeed_launch(path, read_shell(path, text, inputs_of(options)), options,
                                          draft);
}

std::optional<std::int64_t> import_megatron_deepspeed_launch(const std::string& path, Launch launch,
                                                             const ImportOptions& options,
                                                             Draft& draft) {
  refuse_other_programs(launch);
  refuse_other_steps(Framework::megatron, launch.settings);
  check_settings(Framework::megatron_deepspeed, launch.settings, options.ignore_unknown, draft,
                 launch.program);
  const std::vector<Setting> settings = launch.settings;
  Arguments args{settings, draft.wrong()};
  FlagTranslation all{args, {}};
  translate_names(all, args);
  translate_experts(all, args);
  translate_cut(all, args, draft);
  // Stage 3 and --no-pipeline-parallel: stages of one.
  if (const Setting* single = args.find("--no-pipeline-parallel"))
    all.add(*single, "--pipeline-model-parallel-size", {"1"});
  const Setting* config = args.find({"--deepspeed_config", "--deepspeed-config", "--deepspeed"});
  for (const char* name : {"--deepspeed", "--deepspeed_config", "--deepspeed-config",
                           "--enable-expert-tensor-parallelism"})
    if (const Setting* said = args.find(name)) draft.use(*said);
  import_host_inputs(args, draft);
  const auto stage = args.count("--zero-stage");
  const auto json = find_json(path, launch, options, config, draft);
  std::erase_if(launch.settings, is_own);
  std::erase_if(launch.settings, [&](const Setting& s) {
    return !find_flag(Framework::megatron, s.name) ||
           (s.name == "--pipeline-model-parallel-size" && args.find("--no-pipeline-parallel"));
  });
  launch.settings.insert(launch.settings.end(), all.settings.begin(), all.settings.end());
  // Precision and sharding are the JSON's.
  if (json && args.find({"--bf16", "--fp16"}) == nullptr)
    launch.settings.push_back({"--bf16", {}, {}, false, "of the JSON"});
  const auto devices = import_flags(Framework::megatron, std::move(launch), options, draft);
  if (!json) return devices;
  const auto size = [&](const char* key) {
    return std::max<std::int64_t>(draft.count(key).value_or(1), 1);
  };
  apply_deepspeed(*json,
                  {devices, size("parallel.tp") * size("parallel.pp") * size("parallel.cp"), stage},
                  options, draft);
  return devices;
}

}  // namespace stepcast::launch
