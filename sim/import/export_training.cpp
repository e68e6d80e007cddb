#include <algorithm>

#include "export_flags.hpp"
#include "stepcast/base/text.hpp"

// What a training computes, in flags of Megatron-LM and MindSpeed-LLM.
namespace stepcast {
namespace {

std::string module_words(const TrainingSpec& training) {
  std::string words;
  for (std::size_t i = 0; i < recompute_modules.size(); ++i)
    if (const auto module = static_cast<TrainingSpec::Module>(i);
        training.recomputes(module) && module != TrainingSpec::Module::mlp_act)
      words += (words.empty() ? "" : " ") + std::string(recompute_modules[i]);
  return words;
}

void add_recompute(Flags& flags, const Scenario& scenario) {
  const TrainingSpec& training = scenario.workload.training;
  using Recompute = TrainingSpec::Recompute;
  switch (training.recompute) {
    case Recompute::none:
      return;
    case Recompute::selective:
      return flags.add("--recompute-granularity", "selective");
    case Recompute::modules:
      flags.when(flags.framework == launch::Framework::mindspeed &&
                     training.recomputes(TrainingSpec::Module::mlp_act),
                 "--recompute-activation-function");
      if (module_words(training).empty()) return;
      flags.add("--recompute-granularity", "selective");
      return flags.add("--recompute-modules", module_words(training));
    case Recompute::full:
      flags.add("--recompute-granularity", "full");
      flags.add("--recompute-method", "uniform");
      return flags.add("--recompute-num-layers", 1);
    case Recompute::table:
      // one number for all chunks: the most that any rebuilds
      std::int64_t most = 0;
      for (const auto& row : training.recompute_layers)
        most = std::max(most, std::ranges::max(row));
      flags.add("--recompute-granularity", "full");
      flags.add("--recompute-method", "block");
      flags.add("--recompute-num-layers", most);
  }
}

/// Precision; of a recipe that Megatron-LM lacks nothing, so that reading back names it.
void add_precision(Flags& flags, const Scenario& scenario) {
  const TrainingSpec& training = scenario.workload.training;
  flags.add(training.precision == TrainingSpec::Precision::fp16 ? "--fp16" : "--bf16");
  if (training.precision != TrainingSpec::Precision::fp8_mixed) return;
  flags.add("--fp8-format", "hybrid");
  using Recipe = TrainingSpec::Fp8Recipe;
  switch (training.fp8_recipe) {
    case Recipe::delayed:
      flags.add("--fp8-recipe", "delayed");
      break;
    case Recipe::tensorwise:
      flags.add("--fp8-recipe", "tensorwise");
      break;
    case Recipe::blockwise:
      flags.add("--fp8-recipe", "blockwise");
      break;
    case Recipe::mxfp8:
      flags.add("--fp8-recipe", "mxfp8");
      break;
    // Recipes that Megatron-LM has no name for; the export lists them as lacking.
    case Recipe::rowwise:
    case Recipe::deepseek:
      break;
  }
  flags.when(
      scenario.workload.communication.gather_precision == CommunicationSpec::GatherPrecision::fp8,
      "--fp8-param-gather");
  // Its router pads where no copies do.
  const bool padded = scenario.workload.model.moe && !scenario.workload.moe.pads_rows;
  flags.when(padded && flags.framework == launch::Framework::megatron,
             "--moe-router-padding-for-quantization");
}

/// Kernels that a switch makes or takes apart.
void add_kernels(Flags& flags, const KernelSpec& kernels) {
  const bool mindspeed = flags.framework == launch::Framework::mindspeed;
  flags.when(mindspeed && kernels.norm == KernelSpec::Norm::fused, "--use-fused-rmsnorm");
  flags.when(mindspeed && kernels.rope == KernelSpec::Rope::sliced, "--use-fused-rotary-pos-emb");
  flags.when(mindspeed && kernels.activation == KernelSpec::Activation::unfused,
             "--no-bias-gelu-fusion");
  flags.when(mindspeed && kernels.activation == KernelSpec::Activation::fused,
             "--use-fused-swiglu");
  flags.when(!mindspeed && kernels.rope == KernelSpec::Rope::unfused, "--no-rope-fusion");
  flags.when(!mindspeed && kernels.activation == KernelSpec::Activation::unfused,
             "--no-bias-swiglu-fusion");
}

/// Graphs of parts of a layer; shared experts have no word.
void add_graphs(Flags& flags, const RuntimeSpec& runtime) {
  std::string words;
  for (std::size_t i = 0; i < graph_scopes.size(); ++i)
    if ((runtime.graphs >> i & 1U) != 0 && static_cast<GraphScope>(i) != GraphScope::shared_experts)
      words += (words.empty() ? "" : " ") + std::string(graph_scopes[i]);
  if (words.empty()) return;
  flags.add("--cuda-graph-impl", "transformer_engine");
  flags.add("--cuda-graph-scope", words);
}

/// Precisions in which states of the optimizer are kept.
void add_states(Flags& flags, const TrainingSpec& training) {
  using Moment = TrainingSpec::Moment;
  static constexpr const char* names[] = {"fp32", "bf16", "fp16", "fp8"};
  const bool moments =
      training.first_moment != Moment::fp32 || training.second_moment != Moment::fp32;
  const bool master = training.master_weights == TrainingSpec::MasterWeights::fp16;
  flags.when(moments || master, "--use-precision-aware-optimizer");
  if (moments) {
    flags.add("--exp-avg-dtype", names[static_cast<std::size_t>(training.first_moment)]);
    flags.add("--exp-avg-sq-dtype", names[static_cast<std::size_t>(training.second_moment)]);
  }
  if (master) flags.add("--main-params-dtype", "fp16");
}

}  // namespace

void add_training(Flags& flags, const Scenario& scenario) {
  const TrainingSpec& training = scenario.workload.training;
  const CommunicationSpec& communication = scenario.workload.communication;
  const bool mindspeed = flags.framework == launch::Framework::mindspeed;
  flags.add("--seq-length", training.sequence);
  flags.add("--micro-batch-size", training.micro_batch);
  flags.add("--global-batch-size", training.global_batch);
  add_precision(flags, scenario);
  add_recompute(flags, scenario);
  flags.add("--hidden-dropout", training.dropout ? "0.1" : "0.0");
  const bool unfused = training.attention == TrainingSpec::Attention::unfused;
  flags.when(!unfused, "--use-flash-attn");
  if (unfused && !mindspeed) flags.add("--attention-backend", "unfused");
  const bool latent = std::holds_alternative<LatentAttention>(scenario.workload.model.attention);
  flags.when(mindspeed && latent && !training.attention_head, "--mla-fa-without-pad");
  if (mindspeed && latent && training.attention_head)
    flags.add("--padded-base-length", *training.attention_head);
  flags.when(training.cross_entropy == TrainingSpec::CrossEntropy::fused,
             "--cross-entropy-loss-fusion");
  flags.when(mindspeed && !training.offload_activations, "--swap-attention");
  flags.when(training.offload_optimizer,
             mindspeed ? "--swap-optimizer" : "--optimizer-cpu-offload");
  if (training.offload_optimizer_part < 1)
    flags.add("--optimizer-offload-fraction", shortest(training.offload_optimizer_part));
  add_states(flags, training);
  const bool shared = training.master_weights == TrainingSpec::MasterWeights::remainder;
  flags.when(shared && mindspeed, "--reuse-fp32-param");
  flags.when(communication.gradient_precision == CommunicationSpec::GradientPrecision::bf16,
             "--grad-reduce-in-bf16");
  // FP16 sums in itself unless told
  flags.when(training.precision == TrainingSpec::Precision::fp16 &&
                 communication.gradient_precision == CommunicationSpec::GradientPrecision::fp32,
             "--accumulate-allreduce-grads-in-fp32");
  flags.when(communication.accumulation == CommunicationSpec::Accumulation::separate,
             "--no-gradient-accumulation-fusion");
  flags.when(communication.accumulation == CommunicationSpec::Accumulation::fused &&
                 flags.framework == launch::Framework::mindspeed,
             "--gemm-gradient-accumulation-fusion");
  if (communication.bucket) flags.add("--ddp-bucket-size", *communication.bucket);
  flags.when(communication.tensor_chunks > 1 && !mindspeed, "--tp-comm-overlap");
  if (communication.tensor_chunks > 1 && mindspeed) {
    flags.add("--use-ascend-coc");
    flags.add("--coc-parallel-num", communication.tensor_chunks);
  }
  add_kernels(flags, scenario.workload.runtime.kernels);
  add_graphs(flags, scenario.workload.runtime);
}

}  // namespace stepcast
