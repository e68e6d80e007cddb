#include <string>

#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/feasibility.hpp"

// Keys about FP8 operands and captured graphs: one that changes nothing is refused.
namespace stepcast {
namespace {

/// Of the device at `path`, which multiplies operands in MXFP8.
void check_mxfp8(const DeviceSpec& device, const std::string& path, Checks& checks) {
  checks.require(device.mxfp8 || !checks.good({path}), "training.fp8_recipe",
                 "is mxfp8 but the products of the device take no scales of 32 numbers (" + path +
                     ".mxfp8), allowed: delayed, tensorwise, rowwise, blockwise, deepseek");
}

void check_fp8(const Scenario& scenario, Checks& checks) {
  const WorkloadSpec& workload = scenario.workload;
  using Recipe = TrainingSpec::Fp8Recipe;
  using Scales = KernelSpec::Scales;
  const TrainingSpec& training = workload.training;
  const Scales scales = workload.runtime.kernels.scales;
  // Recipe, head and scales are ways to multiply in FP8: without it nothing reads them.
  const bool fp8 = training.precision == TrainingSpec::Precision::fp8_mixed;
  checks.require_use(fp8 || training.fp8_recipe == Recipe::delayed, "training.fp8_recipe",
                     "is set but training.precision is not fp8_mixed, allowed: delayed");
  checks.require_use(fp8 || !training.fp8_head, "training.fp8_head",
                     "is true but training.precision is not fp8_mixed, allowed: false");
  const bool in_mxfp8 = fp8 && training.fp8_recipe == Recipe::mxfp8;
  checks.require(
      in_mxfp8 || training.attention != TrainingSpec::Attention::cudnn_mxfp8, "training.attention",
      "is cudnn_mxfp8 but training.fp8_recipe is not mxfp8 of fp8_mixed, allowed: fused");
  if (fp8 && training.fp8_recipe == Recipe::mxfp8) {
    check_mxfp8(scenario.cluster.device, "cluster.device", checks);
    // In a cluster of several kinds each one multiplies, so that each must be able to.
    const std::vector<NodeKind>& kinds = scenario.cluster.kinds;
    for (std::size_t k = 0; k < kinds.size(); ++k)
      check_mxfp8(kinds[k].device, "cluster.kinds." + std::to_string(k) + ".device", checks);
  }
  checks.require_use(scales == Scales::joined || (fp8 && training.fp8_recipe == Recipe::mxfp8),
                     "runtime.kernels.scales",
                     "is set but training.fp8_recipe is not mxfp8, allowed: joined");
  if (!checks.good({"model", "moe"})) return;
  // Scales are padded for each expert only where each has a product of its own.
  const bool each =
      workload.model.moe.has_value() && workload.moe.products == MoeSpec::Products::multi_stream;
  checks.require_use(scales != Scales::apart || each, "runtime.kernels.scales",
                     "is apart but no kernel works for several experts (moe.experts multi_stream), "
                     "allowed: joined, zeroed");
  checks.require_use(!workload.moe.pads_rows || fp8 || !workload.model.moe, "moe.row_padding",
                     "is copies but no expert multiplies in FP8 (training.precision fp8_mixed), "
                     "allowed: none");
}

void check_graph_scopes(const WorkloadSpec& workload, Checks& checks) {
  const ModelSpec& model = workload.model;
  const MoeSpec& moe = workload.moe;
  // A captured graph replays fixed kernels of fixed sizes. A part that the model does not have, or
  // whose sizes change from step to step, cannot be captured.
  const auto require = [&](GraphScope scope, bool holds, const char* what) {
    if ((workload.runtime.graphs >> static_cast<unsigned>(scope) & 1U) != 0)
      checks.require(holds, "runtime.graphs", what);
  };
  const auto has = [&](GraphScope scope) {
    return (workload.runtime.graphs >> static_cast<unsigned>(scope) & 1U) != 0;
  };
  require(GraphScope::mlp, has_dense_layers(model),
          "names mlp but every layer of the model has experts, allowed: without mlp");
  for (const GraphScope scope : {GraphScope::moe_router, GraphScope::moe_preprocess,
                                 GraphScope::shared_experts, GraphScope::moe})
    require(scope, model.moe.has_value(),
            "names parts of experts but the model has none, allowed: attn, mlp");
  if (!model.moe) return;
  require(GraphScope::shared_experts,
          model.moe->shared_experts > 0 && moe.overlap != MoeSpec::Overlap::shared_expert,
          "names shared_experts, which the model does not have or moe.overlap shared_expert takes "
          "apart, allowed: without them");
  // Both would capture the same kernels twice.
  const bool parts = has(GraphScope::moe_router) || has(GraphScope::moe_preprocess) ||
                     has(GraphScope::shared_experts);
  require(GraphScope::moe, !parts, "names moe and its parts, allowed: moe alone, or its parts");
  require(GraphScope::moe, moe.capacity_pad,
          "names moe, but a graph knows the sizes of what it holds (moe.capacity_pad), allowed: "
          "moe_router, moe_preprocess, shared_experts");
}

/// Products of attention and feed-forward that are one, and graphs that hold both.
void check_block(const WorkloadSpec& workload, Checks& checks) {
  using Block = ModelSpec::Block;
  const bool joined = workload.runtime.kernels.block == KernelSpec::Block::joined;
  if (!checks.good({"model.block"})) return;
  checks.require_use(!joined || workload.model.block == Block::parallel, "runtime.kernels.block",
                     "is joined but the parts of a layer do not read the same norm (model.block "
                     "parallel), allowed: apart");
  // A joined product computes attention's and the feed-forward's rows at once: rebuilding one of
  // them would run both.
  checks.require(!joined || !workload.training.recomputes(TrainingSpec::Module::mlp),
                 "runtime.kernels.block",
                 "is joined but training.recompute names mlp, which is no part by itself then, "
                 "allowed: apart");
  const auto has = [&](GraphScope scope) {
    return (workload.runtime.graphs >> static_cast<unsigned>(scope) & 1U) != 0;
  };
  checks.require(
      // In a parallel block the two parts are launched in turns, so that a graph holds both or
      // none.
      workload.model.block == Block::serial || has(GraphScope::attn) == has(GraphScope::mlp),
      "runtime.graphs",
      "names one of attn and mlp, which a layer with model.block parallel or parallel_norms runs "
      "as one, allowed: none, or both");
}

void check_gated_statements(const WorkloadSpec& workload, Checks& checks) {
  using Activation = KernelSpec::Activation;
  const Activation activation = workload.runtime.kernels.activation;
  const bool clamped = activation == Activation::clamped;
  if (!clamped && activation != Activation::apart) return;
  checks.require_use(
      workload.model.ffn.kind == FeedForwardSpec::Kind::swiglu || !checks.good({"model.ffn"}),
      "runtime.kernels.activation",
      std::string(clamped ? "is clamped" : "is apart") +
          " but model.ffn.kind is not gated, allowed: fused, unfused, formula");
  // A clamped activation reads its limit on the host, which ends every graph that a fuser could
  // build.
  const RuntimeSpec::Fusion fusion = workload.runtime.fusion;
  checks.require(
      fusion == RuntimeSpec::Fusion::none || (!clamped && fusion == RuntimeSpec::Fusion::dvm),
      "runtime.fusion",
      clamped ? "is set, but a host that waits inside the activation "
                "(runtime.kernels.activation clamped) has no fuser, allowed: none"
              : "is pattern, which has none for silu and product of two projections "
                "(runtime.kernels.activation apart), allowed: none, dvm");
}

/// Weights that are FP32 themselves: gradients of their casts are FP32, and what moves or casts
/// half-precision weights elsewhere has none.
void check_stored_weights(const WorkloadSpec& workload, Checks& checks) {
  const TrainingSpec& training = workload.training;
  if (training.master_weights != TrainingSpec::MasterWeights::stored) return;
  const auto require = [&](bool held, const char* why) {
    checks.require(held, "training.master_weights",
                   std::string("is stored but ") + why + ", allowed: full");
  };
  require(training.precision != TrainingSpec::Precision::fp8_mixed,
          "training.precision fp8_mixed casts weights of its own");
  require(workload.communication.gradient_precision == CommunicationSpec::GradientPrecision::fp32,
          "communication.gradient.precision is not fp32, in which gradients of casts are");
  require(workload.plan.zero < 3, "parallel.zero 3 gathers half-precision weights");
  require(!training.offload_optimizer && !training.offload_experts,
          "training.offload moves half-precision weights");
}

void check_start_order(const WorkloadSpec& workload, Checks& checks) {
  // The order of issue counts where the host is the one who issues, and where two streams wait at a
  // time.
  if (workload.runtime.start_order == RuntimeSpec::StartOrder::by_stream) return;
  checks.require_use(workload.runtime.dispatch == RuntimeSpec::Dispatch::eager,
                     "runtime.start_order",
                     "is as_issued but runtime.dispatch is not eager, allowed: by_stream");
  checks.require_use(workload.communication.gradient_overlap, "runtime.start_order",
                     "is as_issued but communication.gradient.overlap is false: nothing is issued "
                     "beside a running collective, allowed: by_stream");
}

void check_layer_order(const Scenario& scenario, Checks& checks) {
  const WorkloadSpec& workload = scenario.workload;
  if (workload.runtime.layer_order == RuntimeSpec::LayerOrder::plain) return;
  const auto require = [&](bool held, const char* why) {
    checks.require(held, "runtime.layer_order",
                   std::string("is overlapped but ") + why + ", allowed: plain");
  };
  // An order that nothing follows would change no time and is refused.
  if (checks.good({"parallel.tp", "parallel.cp", "parallel.ep", "parallel.etp"}))
    checks.require_use(!idle_layer_order_misfit(workload.runtime, workload.plan),
                       "runtime.layer_order",
                       "is overlapped but tp, cp, ep and etp are 1: no layer exchanges anything, "
                       "allowed: plain");
  require(!layer_order_misfit(workload.runtime, workload.moe),
          "moe.overlap shared_expert and fb_pair place the work of a layer themselves");
  require(scenario.cluster.kinds.empty(),
          "cluster.kinds has nodes of other speed, whose order would be another");
  require(workload.runtime.graphs == 0,
          "runtime.graphs holds parts of a layer as they were written");
}

/// Statements of what the plan or the model does not have.
void check_idle_statements(const WorkloadSpec& workload, Checks& checks) {
  const KernelSpec& kernels = workload.runtime.kernels;
  checks.require_use(kernels.rope == KernelSpec::Rope::fused ||
                         workload.model.position == ModelSpec::Position::rope ||
                         !checks.good({"model.position"}),
                     "runtime.kernels.rope",
                     "is given but the model rotates nothing (model.position), allowed: fused");
  checks.require_use(
      kernels.router == KernelSpec::Router::fused || workload.model.moe || !checks.good({"model"}),
      "runtime.kernels.router", "is statements but the model has no experts, allowed: fused");
  using Algorithm = ParallelPlan::ContextAlgorithm;
  const ParallelPlan& plan = workload.plan;
  const bool rings = plan.cp > 1 && (plan.context_algorithm == Algorithm::ring ||
                                     plan.context_algorithm == Algorithm::hybrid);
  checks.require_use(kernels.ring == KernelSpec::Ring::fused || rings ||
                         !checks.good({"parallel.cp", "parallel.context_algorithm"}),
                     "runtime.kernels.ring",
                     "is statements but no block goes round (parallel.cp, "
                     "parallel.context_algorithm), allowed: fused");
  if (kernels.heads == KernelSpec::Heads::joined || !checks.good({"model", "training.attention"}))
    return;
  // With linear attention in every layer no fused kernel of heads is left.
  const auto& linear = workload.model.linear;
  checks.require_use(
      std::holds_alternative<GroupedQueryAttention>(workload.model.attention) &&
          !(linear && linear->full_every == 0) &&
          workload.training.attention != TrainingSpec::Attention::unfused,
      "runtime.kernels.heads",
      "is transposed but attention is no fused kernel of heads that a projection wrote "
      "(model.attention.kind gqa, training.attention), allowed: joined");
}

}  // namespace

void check_kernels(const Scenario& scenario, Checks& checks) {
  const WorkloadSpec& workload = scenario.workload;
  check_idle_statements(workload, checks);
  check_fp8(scenario, checks);
  check_gated_statements(workload, checks);
  check_stored_weights(workload, checks);
  check_start_order(workload, checks);
  check_block(workload, checks);
  check_layer_order(scenario, checks);
  // The rest is about captured graphs.
  if (workload.runtime.graphs == 0) return;
  checks.require_use(workload.runtime.dispatch == RuntimeSpec::Dispatch::eager, "runtime.graphs",
                     "is set but runtime.dispatch is not eager, allowed: none");
  if (checks.good({"model", "moe"})) check_graph_scopes(workload, checks);
}

}  // namespace stepcast
