#include <algorithm>

#include "deepspeed.hpp"
#include "forms.hpp"
#include "imported_adapters.hpp"
#include "model_folder.hpp"
#include "stepcast/base/foreign_document.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/workloads/model_spec.hpp"

// One reader for all of them: what a name says is the key of its row, so that a form is a table.
namespace stepcast::launch {
namespace {

/// What is so where a form says nothing.
struct TrainerDefaults {
  Framework framework;
  std::int64_t micro;
  std::int64_t sequence;  ///< 0: the file must say it
  bool rebuilds;          ///< gradient_checkpointing is on
  bool casts;             ///< weights without sharding are FP32, cast for each product
};
constexpr TrainerDefaults trainer_form{Framework::trainer, 8, 0, false, false};
constexpr TrainerDefaults llama_factory_form{Framework::llama_factory, 8, 2048, true, true};
constexpr TrainerDefaults axolotl_form{Framework::axolotl, 1, 512, false, false};
constexpr TrainerDefaults ms_swift_form{Framework::ms_swift, 1, 0, true, false};

bool is_negative(const std::string& word) {
  return word == "false" || word == "False" || word == "no" || word == "none" || word == "None" ||
         word == "null" || word == "0" || word.empty();
}
bool is_said(const Setting* setting) {
  return setting != nullptr && (setting->words.empty() || !is_negative(setting->words.front()));
}
std::string first_word(const Setting* setting) {
  return setting == nullptr || setting->words.empty() ? std::string() : setting->words.front();
}
bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct TrainerJob {
  const TrainerDefaults& form;
  std::string path;
  const ImportOptions& options;
  Arguments& args;
  Draft& draft;
  std::vector<Setting> settings;
  std::optional<std::int64_t> devices = {};
  std::int64_t tp = 1, cp = 1;
  std::string precision = {};
  bool adapts = false;  ///< adapters alone are trained

  /// The last setting whose row has this key.
  const Setting* role(std::string_view key, std::string_view part = {}) const {
    const Setting* found = nullptr;
    for (const Setting& setting : settings) {
      const auto flag = find_flag(form.framework, setting.name);
      if (flag && flag->treatment == Treatment::taken && flag->key == key &&
          holds(setting.name, part))
        found = &setting;
    }
    return found;
  }
  std::int64_t count(const Setting* setting, std::int64_t missing) {
    return setting == nullptr ? missing : args.count_in(setting->name, missing, 1, most_counted);
  }
};

void import_trainer_batch(TrainerJob& job) {
  Draft& draft = job.draft;
  const Setting* micro = job.role("training.micro_batch");
  const Setting* steps = job.role("training.global_batch");
  const std::int64_t of_rank = job.count(micro, job.form.micro), count = job.count(steps, 1);
  draft.set("training.micro_batch", of_rank, {micro});
  if (job.devices)
    draft.set("training.global_batch",
              of_rank * count * std::max<std::int64_t>(*job.devices / job.tp / job.cp, 1),
              {micro, steps}, "micro x accumulation x DP");
  const Setting* length = job.role("training.sequence");
  if (length == nullptr && job.form.sequence == 0 && !draft.given("training.sequence"))
    draft.wrong({job.path}, "training.sequence",
                "is not said by the file; give --set training.sequence=N");
  else if (length != nullptr || job.form.sequence > 0)
    draft.set("training.sequence", job.count(length, job.form.sequence), {length});
  const Setting* packed = job.role("schedule.data.documents");
  if (!is_said(packed))
    draft.note({length == nullptr ? Place{job.path} : length->place, "training.sequence",
                "is the longest sample: without packing most are shorter, which the file does not "
                "say; the forecast is that of full sequences"});
  else
    draft.note(*packed, "is taken as full sequences whose samples see each other");
}

/// The type in which a model was published; nothing where its file does not say.
std::string published_type(const std::string& config) {
  if (config.empty()) return {};
  try {
    const Node root =
        parse_foreign_document(read_document_text(config, SearchPath{}, "a config.json"), config);
    for (const char* key : {"torch_dtype", "dtype"})
      if (const Node* type = root.find(key)) return type->text;
  } catch (const InputError&) {
    // reading the scenario says what is wrong with it
  }
  return {};
}

void import_trainer_precision(TrainerJob& job, const std::string& config) {
  Draft& draft = job.draft;
  const Setting* brain = job.role("training.precision", "bf");
  // ms-swift takes the type that the model was published in.
  const bool published = job.form.framework == Framework::ms_swift;
  if (const Setting* pure = job.args.find("pure_bf16"); is_said(pure)) brain = pure;
  const Setting* half = job.role("training.precision", "fp16");
  const Setting* type = job.role("training.precision", "dtype");
  if (type == nullptr) type = job.role("training.precision", "mixed_precision");
  const bool from_model = published && type == nullptr && !is_said(brain) && !is_said(half);
  // DeepSpeed-Chat runs in the type of --dtype, and in FP16 without it.
  const bool chat = job.args.find("--zero_stage") != nullptr;
  if (chat) type = job.args.find("--dtype");
  const std::string name = from_model                ? published_type(config)
                           : chat && type == nullptr ? "fp16"
                                                     : first_word(type);
  const bool bf16 = is_said(brain) || name == "bfloat16" || name == "bf16" || name == "auto";
  const bool fp16 = !bf16 && (is_said(half) || name == "float16" || name == "fp16");
  job.precision = fp16 ? "fp16" : bf16 ? "bf16" : "";
  if (job.precision.empty() && !draft.given("training.precision"))
    return draft.wrong({job.path}, "training.precision",
                       "would be FP32, as the file asks for neither BF16 nor FP16, which no value "
                       "stands for; give --set training.precision=bf16");
  if (job.precision.empty()) job.precision = "bf16";
  draft.set("training.precision", job.precision,
            {is_said(half) && fp16 ? half
             : is_said(brain)      ? brain
                                   : type},
            from_model ? "the type that the model was published in" : "");
}

/// Inputs of rebuilt layers that wait on the host.
void import_inputs_away(TrainerJob& job, const Setting* rebuild, bool on) {
  const std::string word = first_word(rebuild);
  if (holds(word, "disk") && !job.draft.given("training.offload"))
    return job.args.fail(*rebuild, "is '" + word + "', allowed: true, false, offload");
  const Setting* unsloth = job.args.find("use_unsloth_gc");
  const Setting* away = word == "offload" ? rebuild : is_said(unsloth) ? unsloth : nullptr;
  if (away != nullptr && on) job.draft.set("training.offload.activations", 1, {away});
}

/// Statement by statement but for attention, and what Liger has in one kernel each.
void import_trainer_kernels(TrainerJob& job, const std::string& config) {
  Draft& draft = job.draft;
  const Setting* rebuild = job.role("training.recompute");
  if (!is_said(rebuild))  // FSDP rebuilds by a switch of its own
    if (const Setting* own = job.role("training.recompute", "activation_checkpointing"))
      rebuild = own;
  const bool turned = rebuild != nullptr && holds(rebuild->name, "disable");
  bool on = rebuild == nullptr ? job.form.rebuilds : is_said(rebuild) != turned;
  // LLaMA-Factory rebuilds by itself; behind it the Trainer does where it is told to.
  const Setting* asked = job.args.find("gradient_checkpointing");
  if (job.form.framework == Framework::llama_factory && asked != nullptr) {
    on = is_said(asked) || !is_said(job.args.find("disable_gradient_checkpointing"));
    rebuild = asked;
  }
  draft.set("training.recompute", on ? "full" : "none", {rebuild});
  import_inputs_away(job, rebuild, on);
  const Setting* kind = job.role("training.attention");
  const std::string name = first_word(kind);
  const bool eager = kind != nullptr && kind->name == "eager_attention" && is_said(kind);
  draft.set("training.attention",
            name == "eager" || name == "disabled" || eager ? "unfused" : "fused", {kind});
  draft.set("training.dropout", false, {}, "models of the last years");
  draft.set("communication.gradient.accumulation", "separate", {}, "autograd");
  const Setting* all = job.role("runtime.kernels");
  draft.set("training.cross_entropy", is_said(all) ? "fused" : "unfused", {all});
  for (const char* kernel : written_out(config)) {
    const std::string key = "runtime.kernels." + std::string(kernel);
    const Setting* own = job.role(key);
    draft.set(key, is_said(all) || is_said(own) ? "fused" : "unfused", {own, all});
  }
  const Setting* compiled = job.role("runtime.fusion");
  draft.set("runtime.fusion", is_said(compiled) ? "pattern" : "none", {compiled});
}

/// Adam of bitsandbytes: one kernel for each tensor, and states of one byte but for those of
/// embeddings, which the Trainer leaves in FP32. Pages leave the device only where it is full.
void import_small_adam(TrainerJob& job, const Setting& optimizer, const std::string& optim) {
  if (holds(optim, "8bit") && !job.adapts && !job.draft.given("training.first_moment"))
    return job.args.fail(optimizer,
                         "is '" + optim +
                             "', whose states are bytes but for those of the embedding, which no "
                             "value of training.first_moment says; give --set "
                             "training.first_moment=fp8 --set training.second_moment=fp8, which "
                             "counts the embedding's as bytes too, or adamw_torch");
  job.draft.set("runtime.optimizer", "fused", {&optimizer}, "one kernel for a tensor");
  if (!holds(optim, "8bit")) return;
  for (const char* key : {"training.first_moment", "training.second_moment"})
    job.draft.set(key, "fp8", {&optimizer}, "bytes; their scales are not counted");
}

void import_trainer_optimizer(TrainerJob& job) {
  Draft& draft = job.draft;
  const Setting* optimizer = job.role("runtime.optimizer");
  const std::string optim = first_word(optimizer);
  for (const char* small :
       {"adamw_bnb_8bit", "adamw_8bit", "paged_adamw_8bit", "paged_adamw", "paged_adamw_32bit"})
    if (optim == small) return import_small_adam(job, *optimizer, optim);
  const bool known = optim.empty() || optim == "adamw_torch" || optim == "adamw_torch_fused" ||
                     optim == "adamw_hf" || optim == "adamw_apex_fused";
  if (!known && !draft.given("runtime.optimizer"))
    return job.args.fail(*optimizer, "is '" + optim +
                                         "', allowed: adamw_torch, adamw_torch_fused, "
                                         "paged_adamw_32bit, and with adapters adamw_bnb_8bit, "
                                         "paged_adamw_8bit");
  draft.set("runtime.optimizer", holds(optim, "fused") || optim.empty() ? "fused" : "elementwise",
            {optimizer}, optim.empty() ? "adamw_torch_fused" : "");
}

/// The configurations that ms-swift has under these names: swift/config/*.json. Without overlap the
/// sizes of their buckets do not count.
std::optional<std::string> built_in(const std::string& name) {
  if (!name.starts_with("zero") || name.size() < 5 || name[4] < '0' || name[4] > '3') return {};
  const std::string host =
      holds(name, "offload") ? ",\"offload_optimizer\":{\"device\":\"cpu\"}" : "";
  return "{\"bf16\":{\"enabled\":\"auto\"},\"fp16\":{\"enabled\":\"auto\"},\"zero_optimization\":"
         "{\"stage\":" +
         std::string(1, name[4]) + ",\"overlap_comm\":false" + host + "}}";
}

/// What accelerate and DeepSpeed-Chat (dschat/utils/ds_utils.py, which overlaps) make of a stage
/// alone.
std::string of_stage(const std::string& stage, bool overlaps = false) {
  return R"({"bf16":{"enabled":"auto"},"fp16":{"enabled":"auto"},"zero_optimization":{"stage":)" +
         stage + (overlaps ? R"(,"overlap_comm":true)" : "") + "}}";
}

/// The JSON that the launch names; nothing where it is not here, which is said.
std::optional<Node> deepspeed_of(TrainerJob& job, const Setting* named) {
  if (!job.options.deepspeed.empty())
    return parse_foreign_document(
        read_document_text(job.options.deepspeed, SearchPath{}, "a JSON file"),
        job.options.deepspeed);
  const std::string name = first_word(named);
  job.draft.use(*named);
  if (named->name == "--zero_stage") {
    const std::int64_t stage = job.args.count_in(named->name, 0, 0, 3);
    return parse_foreign_document(of_stage(std::to_string(stage), true), job.path);
  }
  if (job.form.framework == Framework::ms_swift)
    if (const auto text = built_in(name)) return parse_foreign_document(*text, job.path);
  if (name.starts_with("stage ")) return parse_foreign_document(of_stage(name.substr(6)), job.path);
  if (const auto file = file_beside(job.path, name))
    return parse_foreign_document(read_document_text(*file, SearchPath{}, "a JSON file"), *file);
  job.draft.wrong(*named, "names " + name + ", which is not here; give --deepspeed FILE");
  return {};
}

/// `full_shard auto_wrap`, `FULL_SHARD`, `fsdp2`.
void import_trainer_fsdp(TrainerJob& job, const Setting* words, const Setting* strategy) {
  Draft& draft = job.draft;
  std::string all;
  for (const Setting* setting : {words, strategy})
    if (setting != nullptr)
      for (const std::string& word : setting->words) all += word + " ";
  all = lower_case(std::move(all));
  const Setting& said = words != nullptr ? *words : *strategy;
  if (holds(all, "offload")) return job.args.fail(said, "holds parameters on the host: no key");
  if (holds(all, "hybrid") && !draft.given("parallel.dp_replicate"))
    return job.args.fail(said, "shards inside a node; give --set parallel.dp_replicate=NODES");
  const Setting* reshard = job.role("parallel.zero", "reshard_after_forward");
  const bool keeps = holds(all, "shard_grad_op") || (reshard != nullptr && !is_said(reshard));
  draft.set("parallel.zero", keeps ? 2 : 3, {words, strategy, reshard});
  draft.set("communication.gradient.overlap", true, {&said});
  draft.set("communication.gradient.precision", "bf16", {},
            "two bytes: accelerate reduces in the type of the products");
  draft.keep("communication.gradient.precision");
}

bool is_gated(const std::string& config) {
  if (config.empty()) return true;  // nearly all that people train are
  try {
    return read_hugging_face(config).ffn.kind == FeedForwardSpec::Kind::swiglu;
  } catch (const InputError&) {
    return true;  // reading the scenario says what is wrong with it
  }
}

/// Adapters of peft: modules are those of the library, each with its own. False: there are none.
bool import_trainer_adapters(TrainerJob& job, const std::string& config) {
  const Setting* kind = job.role("training.adapters");
  if (kind != nullptr) job.draft.use(*kind);
  const Setting* packed = job.role("training.adapters.frozen");
  const bool absent =
      job.form.framework == Framework::ms_swift || job.form.framework == Framework::llama_factory;
  const std::string name = kind == nullptr ? (absent ? "lora" : "full") : first_word(kind);
  if (name == "full" || (name != "lora" && !is_said(kind))) return false;
  const bool known = name == "lora" || name == "qlora" || kind->name.starts_with("--use_") ||
                     kind->name == "--lora_enable";
  if (!known) {
    job.args.fail(*kind, "is '" + name + "', which training.adapters lacks, allowed: full, lora");
    return true;
  }
  if (packed != nullptr && is_said(packed) && holds(packed->name, "bit") &&
      !holds(packed->name, "4bit") && first_word(packed) != "4")
    job.args.fail(*packed, "is " + first_word(packed) +
                               ", which no value of training.adapters.frozen says, allowed: 4");
  const Setting* linear = job.role("training.adapters.targets", "linear");
  const Setting* targets =
      is_said(linear) ? linear : job.role("training.adapters.targets", "lora_target_modules");
  if (targets == nullptr) targets = job.role("training.adapters.targets", "target");
  const std::string which = first_word(targets);
  const bool all = which == "all" || which == "all-linear" || targets == linear;
  set_adapters(
      {.rank = job.role("training.adapters.rank"),
       .targets = all ? nullptr : targets,
       .dropout = job.role("training.adapters.dropout"),
       .packed = name == "qlora"   ? kind
                 : is_said(packed) ? packed
                                   : nullptr,
       .otherwise = 8,
       .usual = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"},
       .gated = is_gated(config)},
      job.args, job.draft);
  if (job.form.framework == Framework::ms_swift && job.role("training.adapters.dropout") == nullptr)
    job.draft.set("training.adapters.dropout", true, {}, "0.05 unless given");
  if (targets == nullptr || all)
    job.draft.set("training.adapters.products", "apart", {targets}, "modules of peft");
  job.draft.keep("training.adapters.products");
  return true;
}

/// Weights, gradients and states in BF16 alone.
void import_half_weights(TrainerJob& job, const Setting* asked) {
  const std::string why = "weights are loaded in BF16";
  job.draft.set("training.master_weights", "none", {asked}, why);
  for (const char* key : {"training.first_moment", "training.second_moment"})
    if (!job.draft.says(key, "fp8")) job.draft.set(key, "bf16", {asked}, why);
  job.draft.set("communication.gradient.precision", "bf16", {asked}, why);
  constexpr std::int64_t elements = (std::int64_t{25} << 20) / 2;  // bucket_cap_mb, BF16
  job.draft.set("communication.gradient.bucket", elements, {}, "buckets of 25 MiB");
  for (const char* key : {"training.master_weights", "training.first_moment",
                          "training.second_moment", "communication.gradient.precision"})
    job.draft.keep(key);
}

void import_trainer_sharding(TrainerJob& job, const std::string& config) {
  Draft& draft = job.draft;
  const Setting* json = job.role("parallel.zero", "deepspeed");
  if (const Setting* stage = job.role("parallel.zero", "zero_stage"); stage != nullptr)
    json = stage;
  const Setting* fsdp = job.role("parallel.zero", "fsdp");
  const Setting* strategy = job.role("parallel.zero", "sharding_strategy");
  const bool chat = json != nullptr && json->name == "--zero_stage";
  if (!job.options.deepspeed.empty() || is_said(json) || chat) {
    const auto root = deepspeed_of(job, json);
    if (!root) return;
    DeepSpeedJob deepspeed{job.devices, job.tp * job.cp};
    deepspeed.hidden = hidden_of(config);
    deepspeed.precision = job.precision;
    deepspeed.trainer = true;
    return apply_deepspeed(*root, deepspeed, job.options, draft);
  }
  if (is_said(fsdp) || is_said(strategy))
    return import_trainer_fsdp(job, fsdp == strategy ? nullptr : fsdp, strategy);
  draft.set("parallel.zero", 0, {}, "DistributedDataParallel");
  draft.set("communication.gradient.overlap", true, {}, "DistributedDataParallel");
  constexpr std::int64_t elements = (std::int64_t{25} << 20) / 4;  // bucket_cap_mb, FP32
  draft.set("communication.gradient.bucket", elements, {}, "buckets of 25 MiB");
  draft.set("communication.gradient.precision", "fp32", {}, "of the weights");
  for (const char* key : {"parallel.zero", "communication.gradient.overlap",
                          "communication.gradient.bucket", "communication.gradient.precision"})
    draft.keep(key);
  const Setting* pure = job.args.find("pure_bf16");
  // ms-swift loads weights in the type of their products, and trains those.
  const bool loaded = job.form.framework == Framework::ms_swift && !job.adapts &&
                      job.precision == "bf16" && !draft.given("training.master_weights");
  if (is_said(pure) || loaded || draft.says("training.master_weights", "none"))
    return import_half_weights(job, pure);
  // What is frozen is as it was loaded; peft casts its adapters up (autocast_adapter_dtype), and
  // DeepSpeed casts all weights down again.
  if (job.adapts) {
    draft.set("training.master_weights", "stored", {}, "adapters in FP32, as of peft");
    return draft.keep("training.master_weights");
  }
  if (job.form.casts)
    draft.set("training.master_weights", "stored", {}, "weights are cast to FP32");
  else if (!draft.given("training.master_weights"))
    draft.wrong({job.path}, "training.master_weights",
                "is not said: without DeepSpeed and FSDP weights have the type in which they are "
                "loaded; give --set training.master_weights=stored for FP32, none for BF16");
}

/// Ranks that share out a model, and their replicas.
void import_trainer_groups(TrainerJob& job) {
  const Setting* groups = job.role("parallel.dp_replicate", "replicate");
  const Setting* shard = job.role("parallel.dp_replicate", "shard");
  if (!job.devices || (groups == nullptr && shard == nullptr)) return;
  const std::int64_t ranks = *job.devices / job.tp / job.cp;
  const std::int64_t shards = job.count(shard, std::max<std::int64_t>(ranks, 1));
  const std::int64_t replicas = job.count(groups, std::max<std::int64_t>(ranks / shards, 1));
  if (shard != nullptr && shards * replicas != ranks)
    return job.args.fail(*shard, "is " + std::to_string(shards) + ", which times " +
                                     std::to_string(replicas) + " replicas is not the DP of " +
                                     std::to_string(ranks));
  job.draft.set("parallel.dp_replicate", replicas, {groups, shard});
}

std::optional<std::int64_t> import_form(const TrainerDefaults& form, const std::string& path,
                                        Launch launch, const ImportOptions& options, Draft& draft) {
  const bool staged = std::ranges::any_of(launch.settings, [](const Setting& setting) {
    return setting.name == "--zero_stage" || setting.name == "--deepspeed_config";
  });
  // A switch where another flag says the JSON, or what makes it.
  if (staged)
    std::erase_if(launch.settings, [](const Setting& setting) {
      return setting.name == "--deepspeed" && setting.words.empty();
    });
  for (Setting& setting : launch.settings) {
    const auto flag = find_flag(form.framework, setting.name);
    if (setting.words.empty() && flag && flag->arity == Arity::any) setting.words = {"true"};
  }
  std::vector<Setting> settings =
      checked(form.framework, std::move(launch.settings), options, draft);
  Arguments args{settings, draft.wrong()};
  TrainerJob job{form, path, options, args, draft, settings};
  job.devices = devices_of(launch, options, draft);
  const Setting* tensor = job.role("parallel.tp");
  const Setting* context = job.role("parallel.cp");
  job.tp = job.count(tensor, 1);
  job.cp = job.count(context, 1);
  draft.set("parallel.tp", job.tp, {tensor}, "no other way");
  draft.set("parallel.pp", 1, {}, "no stages");
  draft.set("parallel.cp", job.cp, {context});
  if (job.cp > 1) draft.set("parallel.context_algorithm", "ulysses", {context});
  draft.set("parallel.layers_per_chunk", "even", {}, "no stages");
  const Setting* shape = job.role("model", "config");
  const std::string config =
      set_model_folder(shape != nullptr ? shape : job.role("model"), path, draft);
  import_trainer_batch(job);
  import_trainer_precision(job, config);
  import_trainer_kernels(job, config);
  job.adapts = import_trainer_adapters(job, config);
  import_trainer_optimizer(job);
  import_trainer_groups(job);
  import_trainer_sharding(job, config);
  return job.devices;
}

Launch launch_of_yaml(const std::string& path, const std::string& text) {
  Launch launch{path, {}, {}, {}, {}, {}};
  launch.settings = flattened(parse_foreign_document(text, path));
  return launch;
}

/// What accelerate's file asks for that no flag of the Trainer says.
void refuse_of_accelerate(const std::vector<Setting>& all, Draft& draft) {
  struct Refused {
    std::string_view name, neutral, key, what;
  };
  constexpr Refused refused[] = {
      {"mixed_precision", "bf16 fp16 no", "training.fp8_recipe", "products in FP8"},
      {"distributed_type", "FSDP DEEPSPEED MULTI_GPU MULTI_NPU NO", "parallel", "another launcher"},
      {"deepspeed_config.offload_optimizer_device", "none", "training.offload.optimizer",
       "an update on the processor of the host"},
      {"deepspeed_config.offload_param_device", "none", "training.offload",
       "parameters on the host"},
      {"parallelism_config.parallelism_config_tp_size", "1", "parallel.tp", "tensor parallelism"},
      {"parallelism_config.parallelism_config_cp_size", "1", "parallel.cp", "context parallelism"},
      {"parallelism_config.parallelism_config_dp_replicate_size", "1", "parallel.dp_replicate",
       "replicas of sharded groups"}};
  for (const Setting& setting : all) {
    const auto* found = std::ranges::find(refused, setting.name, &Refused::name);
    const std::string word = " " + first_word(&setting) + " ";
    if (found == std::end(refused) || draft.given(found->key) || !is_said(&setting) ||
        holds(" " + std::string(found->neutral) + " ", word))
      continue;
    draft.wrong(setting.place, setting.name,
                "asks for " + std::string(found->what) +
                    "; allowed: " + std::string(found->neutral) + ", or --set " +
                    std::string(found->key) + "=.. where the key can say what is meant");
  }
}

/// The file of `accelerate launch --config_file`, as flags of the Trainer, which count before it.
void add_accelerate(const std::string& path, Launch& launch, Draft& draft) {
  if (!launch.launcher_config) return;
  const std::string name = first_word(&*launch.launcher_config);
  const auto file = file_beside(path, name);
  if (!file)
    return draft.wrong(launch.launcher_config->place, "--config_file",
                       "names " + name + ", which is not here, allowed: beside the script");
  const std::vector<Setting> all = flattened(
      parse_foreign_document(read_document_text(*file, SearchPath{}, "a YAML file"), *file));
  const auto find = [&](std::string_view key) -> const Setting* {
    const auto found = std::ranges::find(all, key, &Setting::name);
    return found == all.end() ? nullptr : &*found;
  };
  const auto named = [&](std::string_view flag) {
    return std::ranges::find(launch.settings, flag, &Setting::name) != launch.settings.end();
  };
  const auto add = [&](const std::string& flag, const std::string& word, const Setting& from) {
    if (!named(flag)) launch.settings.push_back({flag, {word}, from.place, false, from.name});
  };
  if (const Setting* size = find("num_processes"); size != nullptr && !launch.devices)
    launch.devices = *size;
  const Setting* precision = find("mixed_precision");
  if (precision != nullptr && first_word(precision).ends_with("16"))
    add("--" + first_word(precision), "true", *precision);
  const std::string kind = first_word(find("distributed_type"));
  const Setting* strategy = find("fsdp_config.fsdp_sharding_strategy");
  const Setting* reshard = find("fsdp_config.fsdp_reshard_after_forward");
  const bool second = reshard != nullptr && !is_said(reshard);
  const Setting* host = find("fsdp_config.fsdp_offload_params");
  if (kind == "FSDP")
    add("--fsdp",
        is_said(host)         ? "offload"
        : second              ? "shard_grad_op"
        : strategy == nullptr ? "full_shard"
                              : first_word(strategy),
        is_said(host)         ? *host
        : strategy != nullptr ? *strategy
                              : *find("distributed_type"));
  const Setting* json = find("deepspeed_config.deepspeed_config_file");
  const Setting* stage = find("deepspeed_config.zero_stage");
  if (kind == "DEEPSPEED" && json != nullptr) add("--deepspeed", first_word(json), *json);
  if (kind == "DEEPSPEED" && json == nullptr && stage != nullptr)
    add("--deepspeed", "stage " + first_word(stage), *stage);
  if (const Setting* rebuilt = find("fsdp_config.fsdp_activation_checkpointing"); is_said(rebuilt))
    add("--gradient_checkpointing", "true", *rebuilt);
  if (const Setting* compiled = find("dynamo_config.dynamo_backend");
      is_said(compiled) && first_word(compiled) != "NO")
    add("--torch_compile", "true", *compiled);
  refuse_of_accelerate(all, draft);
}

/// `NPROC_PER_NODE=8 NNODES=2 swift sft ..`: the launcher reads the environment.
void read_environment_size(Launch& launch) {
  for (const Setting& variable : launch.environment) {
    if (variable.name == "NPROC_PER_NODE" && !launch.devices_per_node)
      launch.devices_per_node = variable;
    if (variable.name == "NNODES" && !launch.nodes) launch.nodes = variable;
  }
  if (launch.devices_per_node && !launch.nodes)
    launch.nodes = Setting{"NNODES", {"1"}, launch.devices_per_node->place, false};
}

}  // namespace

std::optional<std::int64_t> import_trainer(const std::string& path, const std::string& text,
                                           const ImportOptions& options, Draft& draft) {
  // The configurations of TRL and the alignment handbook are the same flags as keys.
  const bool yaml = is_yaml(path, text);
  Launch launch = yaml ? launch_of_yaml(path, text) : read_shell(path, text, inputs_of(options));
  if (yaml)
    for (Setting& setting : launch.settings) {
      setting.written = setting.name;
      setting.name = "--" + setting.name.substr(0, setting.name.find('.'));
    }
  add_accelerate(path, launch, draft);
  return import_form(trainer_form, path, std::move(launch), options, draft);
}
std::optional<std::int64_t> import_llama_factory(const std::string& path, const std::string& text,
                                                 const ImportOptions& options, Draft& draft) {
  return import_form(llama_factory_form, path, launch_of_yaml(path, text), options, draft);
}
std::optional<std::int64_t> import_axolotl(const std::string& path, const std::string& text,
                                           const ImportOptions& options, Draft& draft) {
  return import_form(axolotl_form, path, launch_of_yaml(path, text), options, draft);
}
std::optional<std::int64_t> import_ms_swift(const std::string& path, const std::string& text,
                                            const ImportOptions& options, Draft& draft) {
  Launch launch = read_shell(path, text, inputs_of(options));
  read_environment_size(launch);
  return import_form(ms_swift_form, path, std::move(launch), options, draft);
}

}  // namespace stepcast::launch
