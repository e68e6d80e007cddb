#include "forms.hpp"

// Which program of the Trainer's kind a text is one of, or launches.
namespace stepcast::launch {
namespace {

bool holds_part(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

std::string_view trainer_yaml_form(const std::string& text) {
  const auto line = [&](const std::string& words) {
    return text.starts_with(words) || holds_part(text, "\n" + words);
  };
  if (line("compute_environment:") && line("distributed_type:")) return "accelerate";
  if (line("base_model:") && (line("sequence_len:") || line("micro_batch_size:"))) return "axolotl";
  const bool named = line("model_name_or_path:");
  if (line("finetuning_type:") || (named && (line("cutoff_len:") || line("template:"))))
    return "llama-factory";
  const bool other = line("with_tracking:") || line("use_slow_tokenizer:");  // open-instruct
  return named && !other && line("per_device_train_batch_size:") ? "trainer" : std::string_view();
}

std::string_view trainer_shell_form(const std::string& path, const std::string& text) {
  const auto refuse = [&](const std::string& what) { refuse_input({path}, {}, what); };
  if (holds_part(text, "swift sft") || holds_part(text, "swift pt") ||
      holds_part(text, "swift/cli/sft.py")) {
    if (!holds_part(text, "--model") && holds_part(text, ".yaml"))
      refuse("launches ms-swift with a YAML file, which is not read; give a script of its flags");
    return "ms-swift";
  }
  constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"swift rlhf",
       "trains by preferences or rewards, with models beside the one, which no key has"},
      {"megatron rlhf",
       "trains by preferences or rewards, with models beside the one, which no key has"},
      {"swift infer", "generates text: no training step is in it"},
      {"swift sample", "generates text: no training step is in it"},
      {"swift rollout", "generates text: no training step is in it"},
      {"swift deploy", "serves a model: no training step is in it"},
      {"swift app", "serves a model: no training step is in it"},
      {"swift eval", "evaluates a model: no training step is in it"},
      {"swift export", "exports a model: no training step is in it"},
      {"megatron export", "exports a model: no training step is in it"},
      {"swift merge-lora", "exports a model: no training step is in it"}};
  for (const auto& [command, what] : others)
    if (holds_part(text, command) && !holds_part(text, "megatron sft") &&
        !holds_part(text, "megatron pt"))
      refuse("launches " + std::string(command) + ", which " + std::string(what));
  const bool factory = holds_part(text, "llamafactory-cli train") ||
                       (holds_part(text, "src/train.py") && holds_part(text, ".yaml"));
  if (factory && !holds_part(text, "--per_device_train_batch_size"))
    refuse("launches LLaMA-Factory with a YAML file that says everything; give that file");
  if (holds_part(text, "--config") && holds_part(text, ".yaml") &&
      !holds_part(text, "--model_name_or_path") &&
      (holds_part(text, "trl sft") || holds_part(text, "/sft.py")))
    refuse("launches TRL with a YAML file that says everything; give that file");
  if (holds_part(text, "axolotl train") || holds_part(text, "axolotl.cli.train"))
    refuse("launches axolotl with a YAML file that says everything; give that file");
  if (holds_part(text, "megatron sft") || holds_part(text, "megatron pt"))
    refuse(
        "launches Megatron-LM by ms-swift, whose model is a name; give the arguments that its "
        "run prints (--arguments LOG)");
  const bool named = holds_part(text, "--model_name_or_path") &&
                     (holds_part(text, "accelerate launch") || holds_part(text, "--output_dir"));
  return named || holds_part(text, "--per_device_train_batch_size") ? "trainer"
                                                                    : std::string_view();
}

}  // namespace stepcast::launch
