#include <algorithm>

#include "export_flags.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"

// A scenario as a script of Megatron-LM or MindSpeed-LLM.
namespace stepcast {
namespace {

bool is_even(const ChunkLayers& layers) {
  return std::ranges::all_of(layers, [&](const auto& row) {
    return std::ranges::all_of(row, [&](std::int64_t count) { return count == layers[0][0]; });
  });
}

/// Megatron-LM counts the tokens before the query's own.
void add_window(Flags& flags, const GroupedQueryAttention& attention) {
  if (!attention.window) return;
  if (flags.framework == launch::Framework::mindspeed) {
    if (attention.full_every == 2) flags.add("--interleave-sliding-window", *attention.window);
    return;
  }
  flags.add("--window-size", std::to_string(*attention.window - 1) + ",0");
  if (attention.full_every > 0) flags.add("--window-attn-skip-freq", attention.full_every);
}

void add_linear(Flags& flags, const LinearAttention& a) {
  // Lightning attention has no flags in either.
  if (a.kind != LinearAttention::Kind::gated_delta || a.full_every == 0) return;
  // One architecture, two sets of names.
  if (flags.framework == launch::Framework::mindspeed) {
    flags.add("--full-attention-interval", a.full_every);
    flags.add("--mamba-d-conv", a.convolution);
  } else {
    flags.add("--experimental-attention-variant", "gated_delta_net");
    flags.add("--linear-attention-freq", a.full_every);
    flags.add("--linear-conv-kernel-dim", a.convolution);
  }
  flags.add("--linear-key-head-dim", a.key_dim);
  flags.add("--linear-value-head-dim", a.value_dim);
  flags.add("--linear-num-key-heads", a.key_heads);
  flags.add("--linear-num-value-heads", a.value_heads);
}

void add_indexer(Flags& flags, const LatentAttention& a) {
  if (!a.sparse()) return;
  flags.add("--experimental-attention-variant", "dsa");
  flags.add("--dsa-indexer-n-heads", a.index_heads);
  flags.add("--dsa-indexer-head-dim", a.index_dim);
  flags.add("--dsa-indexer-topk", a.index_top_k);
}

void add_attention(Flags& flags, const ModelSpec& model) {
  if (const auto* a = std::get_if<GroupedQueryAttention>(&model.attention)) {
    flags.add("--num-attention-heads", a->heads);
    flags.add("--kv-channels", a->head_dim);
    // Without the flag Megatron-LM gives each head keys of its own, whatever the number of groups.
    if (a->kv_heads != a->heads) {
      flags.add("--group-query-attention");
      flags.add("--num-query-groups", a->kv_heads);
    }
    flags.when(model.qk_norm == ModelSpec::QkNorm::head, "--qk-layernorm");
    flags.when(a->output_gate, "--attention-output-gate");
    add_window(flags, *a);
    return;
  }
  const auto& a = std::get<LatentAttention>(model.attention);
  flags.add("--multi-latent-attention");
  flags.add("--num-attention-heads", a.heads);
  if (a.q_lora_rank > 0) flags.add("--q-lora-rank", a.q_lora_rank);
  flags.add("--kv-lora-rank", a.kv_lora_rank);
  flags.add("--qk-head-dim", a.nope_dim);
  flags.add("--qk-pos-emb-head-dim", a.rope_dim);
  flags.add("--v-head-dim", a.v_dim);
  add_indexer(flags, a);
}

void add_model(Flags& flags, const ModelSpec& model) {
  flags.add("--num-layers", model.layers);
  flags.add("--hidden-size", model.hidden);
  add_attention(flags, model);
  if (model.linear) add_linear(flags, *model.linear);
  if (model.ffn.hidden > 0) flags.add("--ffn-hidden-size", model.ffn.hidden);
  flags.when(model.ffn.kind == FeedForwardSpec::Kind::swiglu, "--swiglu");
  // Padded, so that Megatron-LM does not pad the given size again.
  flags.add("--padded-vocab-size", model.vocabulary);
  flags.add("--normalization", model.norm == ModelSpec::Norm::layer ? "LayerNorm" : "RMSNorm");
  flags.when(
      model.norm == ModelSpec::Norm::sandwich && flags.framework == launch::Framework::mindspeed,
      "--post-norm");
  flags.when(model.bias != ModelSpec::Bias::all, "--disable-bias-linear");
  flags.when(model.bias == ModelSpec::Bias::qkv, "--add-qkv-bias");
  flags.when(!model.tied_embeddings, "--untie-embeddings-and-output-weights");
  if (model.mtp_layers > 0) flags.add("--mtp-num-layers", model.mtp_layers);
  switch (model.position) {
    case ModelSpec::Position::rope:
      return flags.add("--position-embedding-type", "rope");
    case ModelSpec::Position::none:
      return flags.add("--position-embedding-type", "none");
    case ModelSpec::Position::learned:
      flags.add("--position-embedding-type", "learned_absolute");
      return flags.add("--max-position-embeddings", model.positions);
  }
}

void add_experts(Flags& flags, const Scenario& scenario) {
  const ModelSpec& model = scenario.workload.model;
  if (!model.moe) return;
  const ExpertSpec& moe = *model.moe;
  const MoeSpec& how = scenario.workload.moe;
  flags.add("--num-experts", moe.experts);
  flags.add("--moe-router-topk", moe.top_k);
  flags.add("--moe-ffn-hidden-size", moe.expert_hidden);
  std::string pattern = "[";
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    pattern += std::string(layer > 0 ? "," : "") + (model.is_moe_layer(layer) ? "1" : "0");
  flags.add("--moe-layer-freq", "'" + pattern + "]'");
  if (moe.shared_experts > 1 && flags.framework == launch::Framework::mindspeed)
    flags.add("--n-shared-experts", moe.shared_experts);
  else if (moe.shared_experts > 0)
    flags.add("--moe-shared-expert-intermediate-size", moe.shared_experts * moe.shared_hidden);
  flags.when(moe.shared_gate, "--moe-shared-expert-gate");
  if (moe.groups > 1) flags.add("--moe-router-num-groups", moe.groups);
  if (moe.groups > 1) flags.add("--moe-router-group-topk", moe.top_groups);
  flags.when(moe.correction_bias, "--moe-router-enable-expert-bias");
  using Dispatch = MoeSpec::Dispatch;
  const bool in_sequence = how.dispatcher == MoeSpec::Dispatcher::mindspeed_2_3_seq &&
                           flags.framework == launch::Framework::mindspeed;
  flags.add("--moe-token-dispatcher-type", in_sequence ? "alltoall_seq"
                                           : how.dispatch == Dispatch::two_hop_dedup ? "flex"
                                           : how.dispatch == Dispatch::allgather     ? "allgather"
                                                                                     : "alltoall");
  const bool grouped = how.products == MoeSpec::Products::grouped;
  flags.when(how.products != MoeSpec::Products::sequential, "--moe-grouped-gemm");
  // in one kernel, where newer versions have a launch for each expert
  flags.when(grouped && flags.framework == launch::Framework::megatron && scenario.framework &&
                 moe.experts > scenario.workload.plan.ep,
             "--moe-use-legacy-grouped-gemm");
  flags.when(how.permutation == MoeSpec::Permutation::fused, "--moe-permute-fusion");
  flags.when(how.overlap == MoeSpec::Overlap::shared_expert, "--moe-shared-expert-overlap");
  flags.when(how.overlap == MoeSpec::Overlap::fb_pair,
             flags.framework == launch::Framework::mindspeed
                 ? "--moe-fb-overlap"
                 : "--overlap-moe-expert-parallel-comm");
  if (how.capacity_factor)
    flags.add("--moe-expert-capacity-factor", std::to_string(*how.capacity_factor));
  flags.when(how.capacity_pad, "--moe-pad-expert-input-to-capacity");
}

/// What the router computes beside its product; MindSpeed has no kernel for it.
void add_router(Flags& flags, const Scenario& scenario) {
  if (!scenario.workload.model.moe) return;
  const RouterSpec& router = scenario.workload.moe.router;
  if (router.aux_loss) {
    flags.add("--moe-router-load-balancing-type", "aux_loss");
    flags.add("--moe-aux-loss-coeff", "0.01");
  }
  if (router.z_loss) flags.add("--moe-z-loss-coeff", "0.001");
  if (router.precision == RouterSpec::Precision::fp32) flags.add("--moe-router-dtype", "fp32");
  if (router.score == RouterSpec::Score::sigmoid)
    flags.add("--moe-router-score-function", "sigmoid");
  const bool fused = scenario.workload.runtime.kernels.router == KernelSpec::Router::fused;
  flags.when(fused && scenario.framework && flags.framework == launch::Framework::megatron,
             "--moe-router-fusion");
}

/// `E`, a `t` for each layer, `m` for MTP modules, `L`, and | between chunks.
std::string layout_text(const ChunkLayers& layers, std::int64_t mtp) {
  std::string text = "E";
  for (std::size_t c = 0; c < layers.size(); ++c)
    for (std::size_t s = 0; s < layers[c].size(); ++s) {
      if (c + s > 0) text += "|";
      text += "t*" + std::to_string(layers[c][s]);
    }
  return "'" + text + std::string(static_cast<std::size_t>(mtp), 'm') + "L'";
}

void add_context(Flags& flags, const Scenario& scenario) {
  using Algorithm = ParallelPlan::ContextAlgorithm;
  const ParallelPlan& plan = scenario.workload.plan;
  const bool hybrid = plan.context_algorithm == Algorithm::hybrid;
  flags.add("--cp-comm-type", hybrid                                           ? "a2a+p2p"
                              : plan.context_algorithm == Algorithm::ulysses   ? "a2a"
                              : plan.context_algorithm == Algorithm::allgather ? "all_gather"
                                                                               : "p2p");
  if (hybrid)
    flags.add(
        "--hierarchical-context-parallel-sizes",
        std::to_string(plan.ulysses_degree) + " " + std::to_string(plan.cp / plan.ulysses_degree));
  flags.when(flags.framework == launch::Framework::mindspeed &&
                 (hybrid || plan.context_algorithm == Algorithm::ring) &&
                 scenario.workload.runtime.kernels.ring == KernelSpec::Ring::fused,
             "--use-fused-ring-attention-update");
}

void add_plan(Flags& flags, const Scenario& scenario) {
  const ParallelPlan& plan = scenario.workload.plan;
  flags.add("--tensor-model-parallel-size", plan.tp);
  flags.add("--pipeline-model-parallel-size", plan.pp);
  flags.add("--context-parallel-size", plan.cp);
  if (scenario.workload.model.moe) {
    flags.add("--expert-model-parallel-size", plan.ep);
    flags.add("--expert-tensor-parallel-size", plan.etp);
  }
  flags.when(plan.sequence_parallel, "--sequence-parallel");
  if (plan.cp > 1) add_context(flags, scenario);
  // A layout says uneven cuts and contains the chunks; with an even one the number of chunks is
  // enough.
  const ChunkLayers layers = chunk_layers(scenario);
  const bool dual =
      scenario.schedule.pipeline == "dualpipe_v" && flags.framework == launch::Framework::mindspeed;
  if (dual) flags.add("--schedules-method", "dualpipev");
  if (!is_even(layers) && !dual)
    flags.add("--pipeline-model-parallel-layout",
              layout_text(layers, scenario.workload.model.mtp_layers));
  else if (plan.vpp > 1 && !dual)
    flags.add("--num-virtual-stages-per-pipeline-rank", plan.vpp);
  flags.when(plan.zero == 1, "--use-distributed-optimizer");
  // Megatron-LM's own sharding ends with optimizer states; more is its FSDP's.
  if (plan.zero > 1) {
    flags.add("--use-megatron-fsdp");
    flags.add("--data-parallel-sharding-strategy",
              plan.zero == 2 ? "optim_grads" : "optim_grads_params");
  }
  // FSDP overlaps by itself and refuses the flags.
  const bool overlap = scenario.workload.communication.gradient_overlap && plan.zero < 2;
  flags.when(overlap, "--overlap-grad-reduce");
  flags.when(overlap && plan.zero == 1 && scenario.workload.communication.gather_overlap,
             "--overlap-param-gather");
  if (plan.dp_replicate > 1) flags.add("--num-distributed-optimizer-instances", plan.dp_replicate);
  // Overlapped is the default with chunks, and nothing else can be.
  const bool blocking = scenario.schedule.p2p == ScheduleSpec::PointToPoint::blocking;
  flags.when(blocking && plan.vpp > 1, "--no-overlap-p2p-communication");
}

/// The command of a launcher on whole nodes, and the flags as an array of the shell.
std::string script_of(const Scenario& scenario, const Flags& flags, const std::string& above) {
  const std::int64_t devices = scenario.cluster.devices, of_node = scenario.cluster.node_devices;
  const std::int64_t each = devices % of_node == 0 ? of_node : 1;
  const bool own =
      scenario.framework &&
      scenario.framework->label.starts_with(
          flags.framework == launch::Framework::mindspeed ? "MindSpeed" : "Megatron-Core");
  const std::string runs = own ? "# for " + scenario.framework->label + "\n" : std::string();
  std::string text = "#!/bin/bash\n" + runs + above + "ARGS=(\n";
  for (const std::string& flag : flags.words) text += "  " + flag + "\n";
  return text + ")\ntorchrun --nproc_per_node " + std::to_string(each) + " --nnodes " +
         std::to_string(devices / each) + " pretrain_gpt.py \"${ARGS[@]}\"\n";
}

Flags flags_of(const Scenario& scenario, launch::Framework framework) {
  Flags flags{framework, {}};
  add_model(flags, scenario.workload.model);
  add_experts(flags, scenario);
  add_router(flags, scenario);
  add_plan(flags, scenario);
  add_training(flags, scenario);
  return flags;
}

}  // namespace

/// The environment says how many work queues the driver has.
std::string megatron_script(const Scenario& scenario) {
  const bool one = scenario.workload.runtime.start_order == RuntimeSpec::StartOrder::as_issued;
  const bool matters = one || scenario.framework;  // a version may ask for one
  return script_of(scenario, flags_of(scenario, launch::Framework::megatron),
                   !matters ? ""
                   : one    ? "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                            : "export CUDA_DEVICE_MAX_CONNECTIONS=8\n");
}

/// The queue of launches is said by the environment, which also tells this framework's scripts.
std::string mindspeed_script(const Scenario& scenario) {
  const bool eager = scenario.workload.runtime.dispatch == RuntimeSpec::Dispatch::eager;
  return script_of(scenario, flags_of(scenario, launch::Framework::mindspeed),
                   std::string("export TASK_QUEUE_ENABLE=") + (eager ? "0" : "1") + "\n");
}

}  // namespace stepcast
