#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {
namespace {

void check_attention_head(const WorkloadSpec& workload, Checks& checks) {
  if (!workload.training.attention_head) return;
  const char* const key = "training.attention_head";
  const auto* latent = std::get_if<LatentAttention>(&workload.model.attention);
  if (!checks.require_use(latent != nullptr, key,
                          "is set but the model has no latent attention, allowed: none"))
    return;
  checks.require(workload.training.attention != TrainingSpec::Attention::unfused, key,
                 "needs one fused kernel, allowed: none");
  // One kernel for queries, keys and values pads the shorter ones to the longest.
  const std::int64_t least = std::max(latent->nope_dim + latent->rope_dim, latent->v_dim);
  checks.require(*workload.training.attention_head >= least, key,
                 "is " + count_text(*workload.training.attention_head) +
                     ", less than the heads of the " + "model, allowed: none, " +
                     count_text(least) + " or more");
}

bool has_kernel(const ClusterSpec& cluster, AttentionGeneration generation) {
  const auto has = [&](const DeviceSpec& device) {
    return device.efficiency.attention.of(generation) != nullptr;
  };
  // A step waits for its slowest device: all kinds must have the kernel.
  if (cluster.kinds.empty()) return has(cluster.device);
  return std::ranges::all_of(cluster.kinds, [&](const NodeKind& kind) { return has(kind.device); });
}

/// A device that has no numbers for a kernel cannot say how long it takes.
void check_generation(const Scenario& scenario, Checks& checks) {
  constexpr std::array<std::string_view, 7> names{
      // those that a step may run
      "fused", "flash_1", "flash_2", "flash_3", "cudnn", "flash_triton", "cudnn_mxfp8"};
  const AttentionGeneration generation = generation_of(scenario.workload.training.attention);
  if (has_kernel(scenario.cluster, generation)) return;
  const bool in_mxfp8 =
      scenario.workload.training.precision == TrainingSpec::Precision::fp8_mixed &&
      scenario.workload.training.fp8_recipe == TrainingSpec::Fp8Recipe::mxfp8;
  std::vector<std::string> allowed{"unfused"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (has_kernel(scenario.cluster, static_cast<AttentionGeneration>(i)) &&
        (in_mxfp8 || names[i] != "cudnn_mxfp8"))
      allowed.emplace_back(names[i]);
  checks.fail("training.attention",
              "is " + std::string(names[static_cast<std::size_t>(generation)]) +
                  " but the cluster file has no such kernel under device.efficiency.attention, "
                  "allowed: " +
                  joined(allowed));
}

/// Not of queries and keys, nor of latent or linear attention.
bool has_only_layer_norms(const ModelSpec& model) {
  return model.qk_norm == ModelSpec::QkNorm::none && !model.linear &&
         std::holds_alternative<GroupedQueryAttention>(model.attention);
}

/// Layer norms are one kernel whatever surrounds them.
void check_norm_casts(const WorkloadSpec& workload, Checks& checks) {
  checks.require_use(workload.runtime.kernels.norm != KernelSpec::Norm::fp32 ||
                         workload.model.norm != ModelSpec::Norm::layer,
                     "runtime.kernels.norm",
                     "is fp32 but model.norm is layer, which is always one kernel, allowed: fused, "
                     "persistent");
}

/// Apex's kernel is a layer norm, of devices that have numbers for it.
void check_persistent_norm(const Scenario& scenario, Checks& checks) {
  if (scenario.workload.runtime.kernels.norm != KernelSpec::Norm::persistent) return;
  const auto require = [&](bool holds, const char* why) {
    return checks.require(holds, "runtime.kernels.norm",
                          std::string("is persistent but ") + why + ", allowed: fused, unfused");
  };
  const auto needs = [&](bool holds, const char* why) {
    return checks.require_use(
        holds, "runtime.kernels.norm",
        std::string("is persistent but ") + why + ", allowed: fused, unfused");
  };
  if (checks.good({"model"}) &&
      !needs(scenario.workload.model.norm == ModelSpec::Norm::layer, "model.norm is not layer"))
    return;
  if (checks.good({"model"}) && !needs(has_only_layer_norms(scenario.workload.model),
                                       "attention has norms of its own, which are RMS norms"))
    return;
  // Both directions, as a step runs both.
  const auto has = [](const DeviceSpec& device) {
    const MemoryEfficiency& memory = device.efficiency.memory;
    return memory.persistent_norm && memory.persistent_norm_backward;
  };
  const ClusterSpec& cluster = scenario.cluster;
  require(cluster.kinds.empty()
              ? has(cluster.device)
              : std::ranges::all_of(
                    cluster.kinds, has,
                    [](const NodeKind& kind) -> const DeviceSpec& { return kind.device; }),
          "the cluster file has no number for it under device.efficiency.memory");
}

/// A layer norm is one kernel of PyTorch: it has no statements to launch apart.
void check_unfused_norm(const Scenario& scenario, Checks& checks) {
  if (scenario.workload.runtime.kernels.norm != KernelSpec::Norm::unfused ||
      !checks.good({"model"}))
    return;
  const ModelSpec& model = scenario.workload.model;
  checks.require_use(
      model.norm != ModelSpec::Norm::layer || !has_only_layer_norms(model), "runtime.kernels.norm",
      "is unfused but all norms are layer norms, which frameworks launch as one kernel, "
      "allowed: fused, persistent");
}

/// Megatron-LM's kernel takes square matrices of scores.
void check_softmax(const Scenario& scenario, Checks& checks) {
  const WorkloadSpec& workload = scenario.workload;
  if (workload.runtime.kernels.softmax != KernelSpec::Softmax::causal) return;
  const auto require = [&](bool holds, const char* why) {
    checks.require_use(holds, "runtime.kernels.softmax",
                       std::string("is causal but ") + why + ", allowed: whole");
  };
  require(!scenario.synthetic, "the workload has no operators");
  require(scenario.synthetic.has_value() ||
              workload.training.attention == TrainingSpec::Attention::unfused,
          "training.attention is one kernel");
  require(workload.plan.slices == 1, "schedule.slices leaves a slice all keys before it");
}

/// Where a window is known: on ranks that hold whole sequences, or the keys of all of them.
void check_window(const Scenario& scenario, Checks& checks) {
  using Algorithm = ParallelPlan::ContextAlgorithm;
  const ParallelPlan& plan = scenario.workload.plan;
  if (!scenario.workload.model.has_windows()) return;
  const bool rings =
      plan.context_algorithm == Algorithm::ring || plan.context_algorithm == Algorithm::hybrid;
  checks.require(plan.cp == 1 || !rings, "parallel.context_algorithm",
                 "sends blocks round, but a window (model.attention.window) sees a few of them, "
                 "allowed: ulysses, allgather, or cp 1");
  checks.require(plan.slices == 1, "schedule.slices",
                 "is " + count_text(plan.slices) +
                     ", but a window (model.attention.window) sees no whole slices, allowed: 1");
  checks.require(!scenario.schedule.data.documents, "schedule.data.documents",
                 "are given, but a window (model.attention.window) does not grow with them, "
                 "allowed: none");
}

/// A state goes from token to token: ranks either hold whole sequences of some heads, or it would
/// have to travel, which no framework that we know does.
void check_linear(const Scenario& scenario, Checks& checks) {
  using Algorithm = ParallelPlan::ContextAlgorithm;
  const ParallelPlan& plan = scenario.workload.plan;
  const ModelSpec& model = scenario.workload.model;
  if (!model.linear) return;
  const LinearAttention& a = *model.linear;
  checks.require(plan.cp == 1 || plan.context_algorithm == Algorithm::ulysses,
                 "parallel.context_algorithm",
                 "cuts sequences, but states of linear attention (model.linear_attention) go "
                 "through whole ones, allowed: ulysses, or cp 1");
  checks.require(plan.slices == 1, "schedule.slices",
                 "is " + count_text(plan.slices) +
                     ", but states of linear attention (model.linear_attention) are not handed "
                     "from slice to slice, allowed: 1");
  checks.require(!scenario.schedule.data.documents, "schedule.data.documents",
                 "are given, but states of linear attention (model.linear_attention) end with none "
                 "of them, allowed: none");
  checks.require(a.kind != LinearAttention::Kind::lightning || plan.tp == 1, "parallel.tp",
                 "is " + count_text(plan.tp) +
                     " beside lightning attention, whose norm over all heads crosses no ranks, "
                     "allowed: 1");
  // Heads are spread over both, tensor ranks first.
  const std::int64_t ranks = plan.tp * plan.cp;
  checks.require(a.key_heads % ranks == 0, plan.cp > 1 ? "parallel.cp" : "parallel.tp",
                 "is " + count_text(plan.cp > 1 ? plan.cp : plan.tp) + ", but tp x cp = " +
                     count_text(ranks) + " must divide the " + count_text(a.key_heads) +
                     " key heads of model.linear_attention, allowed: " + divisors(a.key_heads));
}

/// Keys of softmax attention do nothing where no layer has it.
void check_without_softmax(const WorkloadSpec& workload, Checks& checks) {
  const ModelSpec& model = workload.model;
  if (!model.linear || model.linear->full_every > 0 || model.mtp_layers > 0) return;
  const TrainingSpec& training = workload.training;
  const std::string why =
      " but no layer has softmax attention (model.linear_attention.full_every 0)";
  checks.require_use(training.attention == TrainingSpec::Attention::fused, "training.attention",
                     "is not fused" + why + ", allowed: fused");
  checks.require_use(!training.attention_head, "training.attention_head",
                     "is set" + why + ", allowed: none");
  const bool selective = training.recompute == TrainingSpec::Recompute::selective;
  checks.require(!training.recomputes(TrainingSpec::Module::core_attn), "training.recompute",
                 (selective ? "is selective" : "names core_attn") + why +
                     (selective ? ", allowed: none, full, a table, modules without core_attn"
                                : ", allowed: without it"));
}

/// Each query reads tokens of its own choice.
void check_indexer(const Scenario& scenario, Checks& checks) {
  const WorkloadSpec& workload = scenario.workload;
  if (!workload.model.has_indexer()) return;
  const std::string why = ", but an indexer (model.attention.index_heads) chooses among all tokens";
  checks.require(workload.plan.cp == 1, "parallel.cp",
                 "is " + count_text(workload.plan.cp) + why + " of a sequence, allowed: 1");
  checks.require(workload.plan.slices == 1, "schedule.slices",
                 "is " + count_text(workload.plan.slices) + why + " of a sequence, allowed: 1");
  checks.require(!scenario.schedule.data.documents, "schedule.data.documents",
                 "are given" + why + " of whole sequences, allowed: none");
  checks.require(workload.training.attention != TrainingSpec::Attention::unfused,
                 "training.attention", "is unfused" + why + ", allowed: fused");
  checks.require(!workload.training.attention_head, "training.attention_head",
                 "is set" + why + " by latents, which have no heads, allowed: none");
  checks.require(!workload.training.recomputes(TrainingSpec::Module::mla_up_proj),
                 "training.recompute",
                 "names mla_up_proj, which sparse attention applies to queries and outputs, "
                 "allowed: without it");
}

}  // namespace

void check_attention_kernel(const Scenario& scenario, Checks& checks) {
  // Each check runs only where the keys that it reads did read: one typing error is one message,
  // not five.
  check_attention_head(scenario.workload, checks);
  if (checks.good({"parallel.cp", "schedule.slices"})) check_window(scenario, checks);
  if (checks.good({"parallel.tp", "parallel.cp", "schedule.slices"}) &&
      checks.good_below("model.linear_attention"))
    check_linear(scenario, checks);
  if (checks.good({"model.mtp_layers"}) && checks.good_below("model.linear_attention"))
    check_without_softmax(scenario.workload, checks);
  if (checks.good({"parallel.cp", "schedule.slices", "training.attention"}) &&
      checks.good_below("model.attention"))
    check_indexer(scenario, checks);
  if (checks.good({"training.attention", "cluster"})) check_generation(scenario, checks);
  // Given times have no norms that a kernel could be chosen for.
  if (checks.good({"runtime.kernels.norm", "model"}) && !scenario.synthetic)
    check_norm_casts(scenario.workload, checks);
  if (checks.good({"runtime.kernels.norm", "cluster"}) && !scenario.synthetic) {
    check_unfused_norm(scenario, checks);
    check_persistent_norm(scenario, checks);
  }
  if (checks.good({"runtime.kernels.softmax", "training.attention", "schedule.slices"}))
    check_softmax(scenario, checks);
}

}  // namespace stepcast
