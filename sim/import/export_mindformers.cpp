#include <algorithm>

#include "draft.hpp"
#include "export_flags.hpp"
#include "stepcast/base/text.hpp"

// A scenario as the YAML of MindFormers; each field has the key that it says as its comment.
namespace stepcast {
namespace {

/// The file in the making, and what its fields count beside.
struct Recipe {
  launch::Draft draft{{}};
  const Scenario& scenario;
  bool legacy = false;  ///< experts are cut as the dense layers, and count their capacity

  void put(const std::string& field, const std::string& value, const std::string& key) {
    expects(launch::find_flag(launch::Framework::mindformers, field).has_value(),
            "an exported field is in the table");
    draft.set(field, value, {}, key);
  }
  void put(const std::string& field, std::int64_t value, const std::string& key) {
    put(field, std::to_string(value), key);
  }
  void flag(const std::string& field, bool value, const std::string& key) {
    put(field, value ? "True" : "False", key);
  }
  void model(const std::string& field, std::int64_t value, const std::string& key) {
    put("model.model_config." + field, value, "model." + key);
  }
};

/// A table by chunk and stage; of one chunk a row.
std::string rows_text(const ChunkLayers& table) {
  std::string text;
  for (const auto& row : table) {
    text += text.empty() ? "[" : ", [";
    for (std::size_t s = 0; s < row.size(); ++s)
      text += (s > 0 ? ", " : "") + std::to_string(row[s]);
    text += "]";
  }
  return table.size() == 1 ? text : "[" + text + "]";
}

/// Layers against the even share; modules of MTP count as layers where experts are legacy ones.
std::string offset_text(const Recipe& r) {
  const ModelSpec& model = r.scenario.workload.model;
  const std::int64_t modules = r.legacy ? model.mtp_layers : 0;
  ChunkLayers table = chunk_layers(r.scenario);
  table.back().back() += modules;
  const std::int64_t chunks = r.scenario.workload.plan.chunk_map().virtual_stages();
  const std::int64_t base = (model.layers + modules) / chunks;
  bool even = true;
  for (auto& row : table)
    for (std::int64_t& count : row) {
      count -= base;
      even = even && count == 0;
    }
  return even ? "0" : rows_text(table);
}

void put_attention(Recipe& r) {
  const ModelSpec& model = r.scenario.workload.model;
  if (const auto* a = std::get_if<GroupedQueryAttention>(&model.attention)) {
    r.model("num_attention_heads", a->heads, "attention.heads");
    r.model("num_key_value_heads", a->kv_heads, "attention.kv_heads");
    r.model("head_dim", a->head_dim, "attention.head_dim");
    if (model.qk_norm == ModelSpec::QkNorm::head)
      r.flag("model.model_config.qk_layernorm", true, "model.qk_norm");
    return;
  }
  const auto& a = std::get<LatentAttention>(model.attention);
  r.model("num_attention_heads", a.heads, "attention.heads");
  r.model("q_lora_rank", a.q_lora_rank, "attention.q_lora_rank");
  r.model("kv_lora_rank", a.kv_lora_rank, "attention.kv_lora_rank");
  r.model("qk_nope_head_dim", a.nope_dim, "attention.nope_dim");
  r.model("qk_rope_head_dim", a.rope_dim, "attention.rope_dim");
  r.model("v_head_dim", a.v_dim, "attention.v_dim");
}

void put_model(Recipe& r) {
  const ModelSpec& model = r.scenario.workload.model;
  // Layer norms are what GPT-2's configuration has; all else is read as Llama's.
  const bool gpt2 = model.norm == ModelSpec::Norm::layer;
  r.put("model.model_config.type", gpt2 ? "GPT2Config" : "LlamaConfig", "model.norm");
  r.model("num_hidden_layers", model.layers, "layers");
  r.model("hidden_size", model.hidden, "hidden");
  r.model("vocab_size", model.vocabulary, "vocabulary");
  if (model.ffn.hidden > 0) r.model("intermediate_size", model.ffn.hidden, "ffn.hidden");
  put_attention(r);
  if (gpt2) {
    r.model("max_position_embeddings", std::max<std::int64_t>(model.positions, 1), "position");
    r.put("model.model_config.hidden_dropout_rate",
          r.scenario.workload.training.dropout ? "0.1" : "0.0", "training.dropout");
  } else {
    r.flag("model.model_config.tie_word_embeddings", model.tied_embeddings,
           "model.tied_embeddings");
    r.flag("model.model_config.attention_bias", model.bias == ModelSpec::Bias::qkv, "model.bias");
    if (model.norm == ModelSpec::Norm::sandwich)
      r.flag("model.model_config.sandwich_norm", true, "model.norm");
  }
  if (model.mtp_layers > 0) r.model("num_nextn_predict_layers", model.mtp_layers, "mtp_layers");
}

void put_experts(Recipe& r) {
  const ModelSpec& model = r.scenario.workload.model;
  if (!model.moe) return;
  const ExpertSpec& moe = *model.moe;
  const MoeSpec& how = r.scenario.workload.moe;
  r.put("moe_config.expert_num", moe.experts, "model.moe.experts");
  r.put("moe_config.num_experts_chosen", moe.top_k, "model.moe.top_k");
  r.put("moe_config.moe_intermediate_size", moe.expert_hidden, "model.moe.expert_hidden");
  r.put("moe_config.shared_expert_num", moe.shared_experts, "model.moe.shared_experts");
  r.put("moe_config.first_k_dense_replace", moe.first_dense, "model.moe.first_dense");
  r.put("moe_config.n_group", moe.groups, "model.moe.groups");
  r.put("moe_config.topk_group", moe.top_groups, "model.moe.top_groups");
  r.flag("moe_config.balance_via_topk_bias", moe.correction_bias, "model.moe.correction_bias");
  if (how.router.aux_loss) r.flag("moe_config.use_moe_auxloss", true, "moe.router.aux_loss");
  if (how.router.z_loss) r.put("moe_config.z_loss_factor", "0.001", "moe.router.z_loss");
  if (how.router.score == RouterSpec::Score::sigmoid)
    r.flag("moe_config.use_gating_sigmoid", true, "moe.router.score");
  const bool once = how.dispatch == MoeSpec::Dispatch::two_hop_dedup;
  r.put("model.model_config.moe_token_dispatcher_type", once ? "alltoall_deredundency" : "alltoall",
        "moe.dispatch");
  if (how.overlap == MoeSpec::Overlap::chunks) {
    r.flag("moe_config.comp_comm_parallel", true, "moe.overlap");
    r.put("moe_config.comp_comm_parallel_degree", how.pieces, "moe.overlap");
  }
  // What follows only the older MoE layer knows.
  if (!r.legacy) return;
  r.flag("moe_config.use_gmm", !how.capacity_factor, "moe.capacity_factor");
  if (how.capacity_factor)
    r.put("moe_config.capacity_factor", shortest(*how.capacity_factor), "moe.capacity_factor");
  const ParallelPlan& plan = r.scenario.workload.plan;
  if (how.capacity_factor && plan.tp > 1 && plan.ep > 1)
    r.flag("moe_config.group_wise_a2a", how.group_wise_a2a, "moe.group_wise_a2a");
}

void put_plan(Recipe& r) {
  const ParallelPlan& plan = r.scenario.workload.plan;
  r.put("parallel_config.data_parallel", plan.dp, "parallel.dp");
  r.put("parallel_config.model_parallel", plan.tp, "parallel.tp");
  r.put("parallel_config.pipeline_stage", plan.pp, "parallel.pp");
  r.put("parallel_config.context_parallel", plan.cp, "parallel.cp");
  r.put("parallel_config.expert_parallel", plan.ep, "parallel.ep");
  r.flag("parallel_config.use_seq_parallel", plan.sequence_parallel, "parallel.sequence_parallel");
  // MindFormers would otherwise keep the embedding whole on each data rank.
  r.flag("parallel_config.vocab_emb_dp", false, "the embedding is cut, too");
  if (plan.cp > 1) {
    using Algorithm = ParallelPlan::ContextAlgorithm;
    const bool hybrid = plan.context_algorithm == Algorithm::hybrid;
    r.put("parallel_config.context_parallel_algo",
          hybrid                                         ? "hybrid_cp"
          : plan.context_algorithm == Algorithm::ulysses ? "ulysses_cp"
                                                         : "colossalai_cp",
          "parallel.context_algorithm");
    if (hybrid)
      r.put("parallel_config.ulysses_degree_in_cp", plan.ulysses_degree,
            "parallel.context_algorithm");
    if (plan.context_algorithm == Algorithm::ring)
      r.flag("model.model_config.use_ring_attention", true, "parallel.context_algorithm");
  }
  r.flag("parallel.enable_parallel_optimizer", plan.zero > 0, "parallel.zero");
  const std::string config = "parallel.parallel_optimizer_config.";
  if (plan.zero > 1) r.flag(config + "gradient_accumulation_shard", true, "parallel.zero");
  // Shards include context ranks, which hold the same weights.
  if (plan.dp_replicate > 1)
    r.put(config + "optimizer_weight_shard_size", plan.dp * plan.cp / plan.dp_replicate,
          "parallel.dp_replicate");
}

/// MindSpore's name of a schedule; its zero_bubble_v has the phases of dualpipe_v
/// (docs/models/pipeline.md). A name that it lacks stays, so that reading back refuses it.
std::string scheduler_name(const std::string& name) {
  if (name == "interleaved_1f1b") return "1f1b";
  return name == "dualpipe_v" ? "zero_bubble_v" : name;
}

void put_schedule(Recipe& r) {
  const ParallelPlan& plan = r.scenario.workload.plan;
  const ScheduleSpec& schedule = r.scenario.schedule;
  r.put("parallel.pipeline_config.pipeline_scheduler", scheduler_name(schedule.pipeline),
        "schedule.pipeline");
  r.flag("parallel.pipeline_config.pipeline_interleave", plan.vpp > 1, "parallel.vpp");
  r.put("model.model_config.pp_interleave_num", plan.vpp, "parallel.vpp");
  r.put("model.model_config.offset", offset_text(r), "parallel.layers_per_chunk");
  if (schedule.slices > 1)
    r.put("parallel_config.seq_split_num", schedule.slices, "schedule.slices");
}

std::string recompute_text(const TrainingSpec& training) {
  if (training.recompute == TrainingSpec::Recompute::full) return "True";
  if (training.recompute != TrainingSpec::Recompute::table) return "False";
  return rows_text(training.recompute_layers);
}

void put_training(Recipe& r) {
  const TrainingSpec& training = r.scenario.workload.training;
  const bool staged = r.scenario.workload.plan.pp > 1;
  r.put("runner_config.batch_size", training.micro_batch, "training.micro_batch");
  r.put(staged ? "parallel_config.micro_batch_num" : "runner_config.gradient_accumulation_steps",
        r.scenario.micro_batches(), "training.global_batch");
  r.put("model.model_config.seq_length", training.sequence, "training.sequence");
  const bool half = training.precision == TrainingSpec::Precision::fp16;
  const bool stored = training.master_weights == TrainingSpec::MasterWeights::stored;
  r.put("model.model_config.compute_dtype", half ? "float16" : "bfloat16", "training.precision");
  // Gradients are of its type; without stages FP32 is that of stored weights alone.
  using Gradient = CommunicationSpec::GradientPrecision;
  const bool wide =
      r.scenario.workload.communication.gradient_precision == Gradient::fp32 && !stored;
  if (!wide || staged)
    r.put(r.legacy ? "model.model_config.param_init_type" : "model.model_config.params_dtype",
          stored || wide ? "float32"
          : half         ? "float16"
                         : "bfloat16",
          "training.master_weights");
  r.flag("model.model_config.use_flash_attention",
         training.attention != TrainingSpec::Attention::unfused, "training.attention");
  r.put("recompute_config.recompute", recompute_text(training), "training.recompute");
  r.flag("optimizer.swap", training.offload_optimizer, "training.offload.optimizer");
}

void put_runtime(Recipe& r) {
  const RuntimeSpec& runtime = r.scenario.workload.runtime;
  const CommunicationSpec& communication = r.scenario.workload.communication;
  using Dispatch = RuntimeSpec::Dispatch;
  // The compiler joins operators only in graph mode: eager with fusion is a graph of level O1, a
  // sunk graph O2.
  const bool joins = runtime.fusion == RuntimeSpec::Fusion::dvm;
  const bool eager = runtime.dispatch == Dispatch::eager;
  r.put("context.mode", std::int64_t{eager && !joins ? 1 : 0}, "runtime.dispatch");
  r.put("context.jit_config.jit_level",
        runtime.dispatch == Dispatch::graph_sink ? "O2"
        : eager && joins                         ? "O1"
                                                 : "O0",
        "runtime.dispatch");
  if (communication.accumulation == CommunicationSpec::Accumulation::fused)
    r.put("context.graph_kernel_flags",
          "\"--enable_pass=matmul_assignadd_fusion,grouped_matmul_assignadd_fusion\"",
          "communication.gradient.accumulation");
  r.flag("optimizer.use_fused", runtime.optimizer == RuntimeSpec::OptimizerKernels::fused,
         "runtime.optimizer");
  if (communication.tensor_chunks > 1)
    r.put("model.model_config.fine_grain_interleave", communication.tensor_chunks,
          "communication.tensor.overlap");
}

}  // namespace

std::string mindformers_yaml(const Scenario& scenario) {
  Recipe recipe{.scenario = scenario};
  const ParallelPlan& plan = scenario.workload.plan;
  const bool moe = scenario.workload.model.moe.has_value();
  // The newer layer neither splits experts over tensor ranks nor drops tokens.
  recipe.legacy =
      moe && ((plan.tp > 1 && plan.etp == plan.tp) || scenario.workload.moe.capacity_factor);
  if (moe) recipe.flag("use_legacy", recipe.legacy, "parallel.etp");
  put_plan(recipe);
  put_schedule(recipe);
  put_training(recipe);
  put_model(recipe);
  put_experts(recipe);
  put_runtime(recipe);
  return recipe.draft.yaml();
}

}  // namespace stepcast
