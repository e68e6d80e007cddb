#include "unknown_names.hpp"

#include <algorithm>

#include "stepcast/base/text.hpp"

namespace stepcast::launch {
namespace {

/// `--moe-router-topk`, `model.moe_router_topk` -> `moe_router_topk`.
std::string bare_name(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  name = name.substr(name.rfind('.') + 1);
  std::string bare(name);
  std::ranges::replace(bare, '-', '_');
  return bare;
}

/// Words that mean something else in each tree.
bool is_common_word(std::string_view bare) {
  constexpr std::string_view words =
      " name type mode enable enabled device stage swap recompute recipe_name components compile "
      "devices num_nodes batch_size steps topk ";
  return words.find(" " + std::string(bare) + " ") != std::string_view::npos;
}

struct Elsewhere {
  std::string_view title, name, key;
};

/// Another framework in which a name has an effect that a key has.
std::optional<Elsewhere> effect_elsewhere(Framework own, std::string_view name) {
  const std::string bare = bare_name(name);
  if (is_common_word(bare)) return {};
  for (const FlagTable& table : flag_tables()) {
    if (table.framework == own) continue;
    for (const Flag& flag : table.flags)
      if (flag.treatment != Treatment::ignored && flag.treatment != Treatment::unmodelled &&
          bare_name(flag.name) == bare)
        return Elsewhere{table.title, flag.name, flag.key.substr(0, flag.key.find(','))};
  }
  return {};
}

void settle_one(Framework framework, const Setting& setting, bool ignore_unknown,
                const std::vector<std::string>& known, Draft& draft) {
  const auto elsewhere = effect_elsewhere(framework, setting.name);
  const std::string key(elsewhere ? elsewhere->key : std::string_view());
  if (ignore_unknown && elsewhere && draft.given(key))
    return draft.note(setting, "is unknown and gives way to --set " + key);
  if (ignore_unknown && !elsewhere) return draft.note(setting, "is unknown and was ignored");
  const std::string title(flag_table(framework).title);
  if (ignore_unknown)
    return draft.wrong(setting, "is no known flag of " + title + ", and has an effect on " + key +
                                    " in " + std::string(elsewhere->title) +
                                    ", so that it is not passed over; give --set " + key +
                                    "=.., or a file without it");
  // Printed arguments have no dashes, and each has its value; keys of Megatron's YAML may have
  // none.
  const bool printed = flag_table(framework).prefix == "--" && !setting.name.starts_with("--") &&
                       !setting.words.empty();
  if (printed)
    return draft.wrong(setting, "is " + setting.words.front() + ", and no known argument of " +
                                    title + " (--ignore-unknown lists such arguments instead)");
  const auto near = nearest(setting.name, known);
  draft.wrong(setting, "is no known flag of " + title +
                           (near ? ", did you mean " + *near + "?" : "") +
                           " (--ignore-unknown lists such flags instead)");
}

std::string first_names(const std::vector<Setting>& settings) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, settings.size()); ++i)
    text += (i > 0 ? ", " : "") + settings[i].shown();
  return text;
}

std::string remedy() {
  return "allowed: a file of a kind that is read (--from: " + joined(import_kinds()) +
         "), the arguments that its run prints (--arguments LOG), or a scenario";
}

/// Names that make a file one of another program, or of a step that no key has: said once, instead
/// of each name beside them.
struct OtherStep {
  Framework framework;
  std::string_view name, what;
};
constexpr std::string_view of_megatron =
    "trains with Megatron-LM behind LLaMA-Factory, whose flags are not all in the file; give the "
    "arguments that its run prints (--arguments LOG)";
constexpr std::string_view of_two_stacks =
    "trains an encoder and a decoder, which no key has; allowed: a model that is a decoder alone";
constexpr std::string_view of_images =
    "trains a model that sees images, whose encoder no key has; a file without it says the "
    "language model alone";
constexpr std::string_view no_step = "no training step is in it";
constexpr std::string_view of_text = "generates text: no training step is in it";
constexpr std::string_view of_evaluation = "evaluates a model: no training step is in it";
constexpr std::string_view of_checkpoint = "converts a checkpoint: no training step is in it";
constexpr std::string_view of_export = "exports a model: no training step is in it";
constexpr std::string_view of_data = "prepares data: no training step is in it";
constexpr std::string_view of_mamba = "trains Mamba layers, which no key has";
constexpr std::string_view of_neighbours =
    "trains beside neighbours that it reads (RETRO), which no key has";
constexpr std::string_view of_rewards =
    "trains by reinforcement learning, whose generation no key has";
constexpr std::string_view of_preferences =
    "trains by preferences or rewards, with models beside the one, which no key has; without them "
    "the training of the same sizes is forecast";
constexpr OtherStep other_steps[] = {
    {Framework::llama_factory, "use_kt",
     "keeps experts on processors of the host and multiplies there (KTransformers), which no key "
     "has; allowed: a file without it"},
    {Framework::llama_factory, "tensor_model_parallel_size", of_megatron},
    {Framework::llama_factory, "pipeline_model_parallel_size", of_megatron},
    {Framework::llama_factory, "use_mca", of_megatron},
    {Framework::llama_factory, "use_megatron_bridge", of_megatron},
    {Framework::llama_factory, "use_hyper_parallel",
     "trains with another engine behind LLaMA-Factory, which is not read"},
    {Framework::llama_factory, "export_dir", of_export},
    {Framework::llama_factory, "infer_backend", "serves a model: no training step is in it"},
    {Framework::axolotl, "qat.",
     "rounds weights in the forward pass (quantization-aware training), which no key has; without "
     "its section qat the training of the same sizes is forecast"},
    {Framework::axolotl, "quantization.", "quantizes a model: no training step is in it"},
    {Framework::axolotl, "diffusion.",
     "trains a diffusion model, whose passes no key has; allowed: a file without it"},
    {Framework::axolotl, "ebft.", "generates beside its training, which no key has"},
    {Framework::axolotl, "trl.", of_preferences},
    {Framework::axolotl, "llmcompressor.", "trains sparse weights, which no key has"},
    {Framework::axolotl, "gptq",
     "trains beside weights in GPTQ's four bits, whose kernels are not known; allowed: adapter "
     "qlora"},
    {Framework::axolotl, "relora", "merges its adapters at times, which no key has"},
    {Framework::axolotl, "reward_model", "trains a model of rewards, whose head no key has"},
    {Framework::axolotl, "process_reward_model",
     "trains a model of rewards, whose head no key has"},
    {Framework::megatron, "--perform-rl-step", of_rewards},
    {Framework::megatron, "--grpo-group-size", of_rewards},
    {Framework::megatron, "--grpo-iterations", of_rewards},
    {Framework::megatron, "--langrl-env-config", of_rewards},
    {Framework::megatron, "--rl-persist-cuda-graphs", of_rewards},
    {Framework::megatron, "--model-provider", of_images},
    {Framework::megatron, "--disable-vision-class-token", of_images},
    {Framework::megatron, "--decoder-num-layers", of_two_stacks},
    {Framework::megatron, "--decoder-seq-length", of_two_stacks},
    {Framework::megatron, "--bert-no-binary-head", what_bert_is},
    {Framework::megatron, "--mask-prob", what_bert_is},
    {Framework::megatron, "--bert-head-hidden-size", what_bert_is},
    {Framework::megatron, "--img-h", of_images},
    {Framework::megatron, "--patch-dim", of_images},
    {Framework::megatron, "--retro-add-retriever", of_neighbours},
    {Framework::megatron, "--retro-workdir", of_neighbours},
    {Framework::megatron, "--hybrid-attention-ratio", of_mamba},
    {Framework::megatron, "--export-dir",
     "exports or quantizes a model: no training step is in it"},
    {Framework::megatron, "--target-tensor-model-parallel-size", of_checkpoint},
    {Framework::megatron, "--eval-only", of_evaluation},
    {Framework::megatron, "--results_path", of_evaluation},
    {Framework::megatron, "--max-tokens-to-oom", of_text},
    {Framework::megatron, "--out-seq-length", of_text},
    {Framework::nemo, "inference.", of_text},
    {Framework::nemo, "model.mm_cfg.", of_images},
    {Framework::nemo, "model.vision.", of_images},
    {Framework::nemo, "model.virtual_prompt_style",
     "trains prompts (p-tuning) or adapters between layers, which no key has"},
    {Framework::nemo, "model.encoder.", of_two_stacks},
    {Framework::nemo, "model.mcore_t5", of_two_stacks},
    {Framework::nemo, "model.vision_pretraining_type", of_images},
    {Framework::llama_factory, "do_predict", of_evaluation},
    {Framework::trainer, "--vision_tower", of_images},
    {Framework::trainer, "--mm_projector_type", of_images},
    {Framework::trainer, "--tune_mm_mlp_adapter", of_images},
    {Framework::trainer, "--num_padding_at_beginning",
     "trains a model of rewards, whose head no key has"},
    {Framework::trainer, "--use_dpo", of_preferences},
    {Framework::trainer, "--orpo_beta", of_preferences},
    {Framework::trainer, "--beta", of_preferences},
    {Framework::trainer, "--max_prompt_length", of_preferences},
    {Framework::trainer, "--num_generations", of_preferences},
    {Framework::trainer, "--reward_funcs", of_preferences},
    {Framework::trainer, "--reward_model", of_preferences},
    {Framework::mindformers, "model.model_config.boost_model_name", of_text},
    {Framework::mindformers, "model.model_config.quantization_config.", of_text},
    {Framework::primus, "num_joint_layers", "trains a diffusion model, whose layers no key has"},
    {Framework::primus, "hybrid_attention_ratio", of_mamba},
    {Framework::flagscale, "disable_vision_class_token", of_images},
    {Framework::flagscale, "freeze_ViT", of_images},
    {Framework::primus, "lora.enabled",
     "trains adapters, which are not read of Primus; give the file without lora, and --set "
     "training.adapters.rank=N"},
};

/// Programs that train no decoder, or do not train, by parts of their names.
struct OtherProgram {
  std::string_view part, what;
};
constexpr OtherProgram other_programs[] = {{"pretrain_bert", what_bert_is},
                                           {"pretrain_ict", what_bert_is},
                                           {"pretrain_t5", of_two_stacks},
                                           {"pretrain_mamba", of_mamba},
                                           {"pretrain_vision", of_images},
                                           {"pretrain_vlm", of_images},
                                           {"pretrain_retro", of_neighbours},
                                           {"text_generation", of_text},
                                           {"generate", of_text},
                                           {"inference", of_text},
                                           {"eval", of_evaluation},
                                           {"convert", of_checkpoint},
                                           {"hf2mcore", of_checkpoint},
                                           {"hf2megatron", of_checkpoint},
                                           {"merge", of_checkpoint},
                                           {"export", of_export},
                                           {"process", of_data},
                                           {"prepare", of_data},
                                           {"download", of_data}};

std::string_view name_of(std::string_view program) {
  return program.substr(program.rfind('/') + 1);
}

/// Nothing for a training of a decoder, also one that evaluates, as `train_and_eval.py` says.
const OtherProgram* other_program(std::string_view program) {
  const std::string_view name = name_of(program);
  for (const OtherProgram& other : other_programs) {
    const std::size_t at = name.find(other.part);
    if (at == 0 || (at != std::string_view::npos && !name.starts_with("train") &&
                    !name.starts_with("pretrain") && !name.starts_with("finetune")))
      return &other;
  }
  return nullptr;
}

void refuse_by_program(const Launch& launch) {
  if (launch.program.ends_with("launcher_scripts/main.py"))
    refuse_input({launch.file}, {},
                 "launches NeMo Framework Launcher with a configuration of its conf/ that "
                 "says everything; give that YAML file");
  const std::string_view name = name_of(launch.program);
  if (const OtherProgram* other = other_program(launch.program))
    refuse_input({launch.file}, {},
                 "launches " + launch.program + ", which " + std::string(other->what));
  // `vocab.txt` is a list of words as BERT has it.
  if (name.find("gpt") != std::string::npos) return;  // which reads words of BERT as well
  for (const Setting& setting : launch.settings)
    if (setting.words.size() == 1 &&
        ((setting.name == "--vocab-file" && setting.words.front().ends_with("vocab.txt")) ||
         (setting.name == "--tokenizer-type" && setting.words.front().starts_with("Bert"))))
      refuse_input(setting.place, setting.shown(), std::string(what_bert_is));
}

}  // namespace

bool trains_nothing(std::string_view program) {
  const OtherProgram* other = other_program(program);
  return other != nullptr && other->what.ends_with(no_step);
}

void settle_unknown(Framework framework, const std::vector<Setting>& unknown, std::size_t all,
                    bool ignore_unknown, const std::string& program, Draft& draft) {
  constexpr std::size_t few = 3;
  if (unknown.size() >= few && unknown.size() * 3 >= all) {
    const std::string what = program.empty()
                                 ? "is of another kind"
                                 : "launches " + program + ", which is no training that is known";
    refuse_input({unknown.front().place.file}, {},
                 what + ": " + std::to_string(unknown.size()) + " of its " + std::to_string(all) +
                     " names are not those of " + std::string(flag_table(framework).title) + " (" +
                     first_names(unknown) + " ..); " + remedy());
  }
  if (unknown.empty()) return;
  const std::vector<std::string> known =
      ignore_unknown ? std::vector<std::string>{} : flag_names(framework);
  for (const Setting& setting : unknown)
    settle_one(framework, setting, ignore_unknown, known, draft);
}

void refuse_other_steps(Framework framework, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings)
    for (const OtherStep& other : other_steps) {
      // A name that ends with a dot stands for all keys of a section.
      const bool section = other.name.ends_with('.');
      const bool named = section ? setting.name.starts_with(other.name)
                                 : setting.name == other.name || setting.shown() == other.name ||
                                       setting.shown().ends_with("." + std::string(other.name));
      if (other.framework != framework || !named) continue;
      // Switched off, the key is as good as absent.
      constexpr std::string_view nothing[] = {"false", "False", "0", "0.0", "None", "null"};
      const bool off = setting.words.size() == 1 &&
                       std::ranges::find(nothing, setting.words.front()) != std::end(nothing);
      if (!off) refuse_input(setting.place, setting.shown(), std::string(other.what));
    }
}

void refuse_without_model(const Launch& launch, const Draft& draft) {
  constexpr std::string_view sizes[] = {"--num-layers", "--encoder-num-layers", "--hidden-size",
                                        "--num-attention-heads"};
  const bool said = std::ranges::any_of(launch.settings, [&](const Setting& setting) {
    return std::ranges::find(sizes, setting.name) != std::end(sizes);
  });
  const bool set = draft.given("model.layers") || draft.given("model.extends");
  if (said || launch.program.empty() || set) return;
  const auto fail = [&](const std::string& what) {
    refuse_input({launch.file}, {}, "launches " + launch.program + what);
  };
  if (launch.program.starts_with("torchtitan"))
    fail(", which has its sizes in a configuration; give that TOML file, or the module in Python");
  fail(
      " with none of --num-layers, --hidden-size and --num-attention-heads, which is no training "
      "of Megatron-LM by itself" +
      launch.unset + "; " + remedy());
}

void refuse_other_programs(const Launch& launch) {
  refuse_by_program(launch);
  // One or two such words are overrides of any tool; a launch that consists of them is another
  // program's.
  constexpr std::size_t few = 3;
  if (launch.other_words < few || launch.other_words < launch.settings.size()) return;
  refuse_input({launch.file}, {},
               "launches " + launch.program + " with " + std::to_string(launch.other_words) +
                   " words of the form key=value, which is no training that is known; " + remedy());
}

}  // namespace stepcast::launch
