#include "stepcast/sim/scenario/feasibility.hpp"

#include "stepcast/topology/placement.hpp"

namespace stepcast {
namespace {

Misfit unless(bool fits, Misfit reason) { return fits ? nullptr : reason; }

// With expert-tensor ranks tokens travel, too, where the dispatch gathers them.
bool tokens_travel(const MoeSpec& moe, const ParallelPlan& plan) {
  return plan.ep > 1 || (plan.etp > 1 && moe.dispatch == MoeSpec::Dispatch::allgather);
}

bool gathers_in_fp8(const CommunicationSpec& spec) {
  return spec.gather_precision == CommunicationSpec::GatherPrecision::fp8;
}

}  // namespace

Misfit devices_misfit(std::int64_t devices, const ParallelPlan& plan) {
  return unless(devices % (plan.tp * plan.cp * plan.pp) == 0,
                "tp*cp*pp does not divide the devices");
}

Misfit heads_misfit(const ModelSpec& model, const ParallelPlan& plan) {
  const std::int64_t heads = std::visit([](const auto& a) { return a.heads; }, model.attention);
  return unless(heads % plan.tp == 0, "tp does not divide the attention heads");
}

Misfit key_value_misfit(const ModelSpec& model, const ParallelPlan& plan) {
  const auto* gqa = std::get_if<GroupedQueryAttention>(&model.attention);
  if (gqa == nullptr) return nullptr;
  // more ranks than heads hold copies, as many of each
  return unless(gqa->kv_heads % plan.tp == 0 || plan.tp % gqa->kv_heads == 0,
                "tp does not fit the key and value heads");
}

Misfit width_misfit(const ModelSpec& model, const ParallelPlan& plan) {
  return unless(model.ffn.hidden % plan.tp == 0, "tp does not divide the hidden width");
}

Misfit chunks_misfit(const ModelSpec& model, const ChunkMap& chunks) {
  if (chunks.stages > model.layers) return "more stages than layers";
  return unless(chunks.virtual_stages() <= model.layers, "more chunks than layers");
}

std::int64_t parts_per_context_rank(const ParallelPlan& plan) {
  switch (plan.context_algorithm) {
    case ParallelPlan::ContextAlgorithm::ring:
    case ParallelPlan::ContextAlgorithm::hybrid:
      return plan.cp > 1 ? 2 : 1;  // an early and a late one, so that all ranks see as many keys
    case ParallelPlan::ContextAlgorithm::ulysses:
    case ParallelPlan::ContextAlgorithm::allgather:
      break;
  }
  return 1;
}

Misfit context_misfit(const TrainingSpec& training, const ParallelPlan& plan) {
  if (training.sequence % plan.cp != 0) return "cp does not divide the sequence";
  return unless(training.sequence % (parts_per_context_rank(plan) * plan.cp) == 0,
                "2*cp does not divide the sequence");
}

Misfit sequence_parallel_misfit(const TrainingSpec& training, const ParallelPlan& plan) {
  return unless(!plan.sequence_parallel || training.sequence % (plan.cp * plan.tp) == 0,
                "cp*tp does not divide the sequence");
}

Misfit sliced_context_misfit(std::int64_t slices, const ParallelPlan& plan) {
  return unless(slices == 1 || plan.cp == 1, "slices go with cp 1");
}

Misfit slices_misfit(std::int64_t slices, const TrainingSpec& training, const ParallelPlan& plan) {
  const std::int64_t parts = slices * (plan.sequence_parallel ? plan.tp : 1);
  return unless(slices == 1 || training.sequence % parts == 0,
                "the slices do not divide the sequence");
}

Misfit batch_misfit(const TrainingSpec& training, const ParallelPlan& plan) {
  return unless(training.global_batch % (training.micro_batch * plan.dp) == 0,
                "micro_batch*dp does not divide the global batch");
}

Misfit no_experts_misfit(const ParallelPlan& plan) {
  return unless(plan.ep == 1 && plan.etp == 1, "the model has no experts");
}

Misfit experts_misfit(const ExpertSpec& experts, const ParallelPlan& plan) {
  return unless(experts.experts % plan.ep == 0, "ep does not divide the experts");
}

Misfit expert_width_misfit(const ExpertSpec& experts, const ParallelPlan& plan) {
  return unless(experts.expert_hidden % plan.etp == 0,
                "etp does not divide the hidden width of an expert");
}

Misfit expert_ranks_misfit(const ParallelPlan& plan) {
  return unless(plan.stage_ranks() % (plan.etp * plan.ep) == 0,
                "etp*ep does not divide the ranks of a stage");
}

Misfit expert_parts_misfit(const ParallelPlan& plan) {
  return unless(plan.expert_part == 0 || Placement(plan).cuts_experts_evenly(),
                "the dispatch cuts the expert groups unevenly");
}

Misfit tiles_misfit(const MoeSpec& moe, const ParallelPlan& plan) {
  return unless(moe.overlap != MoeSpec::Overlap::tiles || plan.etp == 1,
                "tiles hold whole experts: etp 1");
}

Misfit whole_rows_misfit(const MoeSpec& moe, const ParallelPlan& plan) {
  return unless(moe.group_wise_a2a || (plan.ep > 1 && plan.tp > 1 && plan.etp == plan.tp),
                "no tensor ranks share the experts of an exchange: etp = tp above 1, ep > 1");
}

Misfit paired_exchange_misfit(const MoeSpec& moe, const ParallelPlan& plan) {
  return unless(moe.overlap != MoeSpec::Overlap::fb_pair || plan.ep > 1,
                "fb_pair hides an exchange: ep > 1");
}

Misfit paired_gradients_misfit(const MoeSpec& moe, const ParallelPlan& plan) {
  return unless(moe.overlap != MoeSpec::Overlap::fb_pair || plan.zero <= 1,
                "fb_pair keeps whole gradients");
}

Misfit idle_gather_overlap_misfit(const CommunicationSpec& spec, const ParallelPlan& plan) {
  // Without overlap of gradients nothing runs ahead, which false says as well.
  const bool ahead = !spec.gradient_overlap || plan.zero == 1 || plan.zero == 2;
  return unless(spec.gather_overlap || ahead, "no gather could run ahead: zero 1 or 2");
}

Misfit wrong_exchange_misfit(const CommunicationSpec& spec, const ParallelPlan& plan) {
  using enum CommunicationSpec::Exchange;
  // The exchange that is asked for has to be one that something sends: lists come from gathers of
  // zero 3, broadcasts from owners of zero 1.
  switch (spec.exchange) {
    case buffer:
      break;
    case lists:
      return unless(plan.zero == 3 && plan.dense_shards() > 1, "lists are gathered with zero 3");
    case broadcast:
      return unless(plan.zero == 1 && plan.dense_shards() > 1, "owners broadcast with zero 1");
  }
  return nullptr;
}

Misfit idle_gather_precision_misfit(const CommunicationSpec& spec, const ParallelPlan& plan) {
  return unless(!gathers_in_fp8(spec) || plan.zero > 0, "nothing is gathered: zero 1 to 3");
}

Misfit lone_gather_misfit(const CommunicationSpec& spec, const ModelSpec& model,
                          const ParallelPlan& plan) {
  const bool shared = plan.dense_shards() > 1 || (model.moe && plan.expert_shards() > 1);
  return unless(!gathers_in_fp8(spec) || plan.zero == 0 || shared,
                "nothing is gathered: every group that shares parameters out is one rank");
}

Misfit idle_dispatch_misfit(const MoeSpec& moe, const ParallelPlan& plan) {
  return unless(moe.dispatch == MoeSpec::Dispatch::flat || tokens_travel(moe, plan),
                "the dispatch moves no token: ep > 1");
}

Misfit idle_overlap_misfit(const MoeSpec& moe, const ParallelPlan& plan) {
  const bool hides = moe.in_pieces() || moe.overlap == MoeSpec::Overlap::shared_expert;
  return unless(!hides || plan.ep > 1, "the overlap hides no exchange: ep > 1");
}

Misfit idle_placement_misfit(const MoeSpec& moe, const ParallelPlan& plan) {
  return unless(moe.placement == MoeSpec::Placement::contiguous || plan.ep > 1,
                "one rank holds all experts: ep > 1");
}

Misfit idle_wire_misfit(const MoeSpec& moe, const ParallelPlan& plan) {
  return unless(moe.wire == MoeSpec::Wire::bf16 || tokens_travel(moe, plan),
                "no token is on a wire: ep > 1");
}

Misfit combine_misfit(const MoeSpec& moe, const ParallelPlan& plan) {
  if (moe.combine == MoeSpec::Wire::bf16) return nullptr;
  using enum MoeSpec::Dispatch;
  if (moe.dispatch == allgather || moe.dispatch == hierarchical_allgather)
    return "fp8 rows are not added up on their way: dispatch flat, two_hop or two_hop_dedup";
  return unless(plan.ep > 1, "no row is on its way back: ep > 1");
}

Misfit idle_layer_order_misfit(const RuntimeSpec& runtime, const ParallelPlan& plan) {
  const bool plain = runtime.layer_order == RuntimeSpec::LayerOrder::plain;
  return unless(plain || plan.tp > 1 || plan.cp > 1 || plan.ep > 1 || plan.etp > 1,
                "no layer exchanges anything: tp, cp or ep > 1");
}

Misfit layer_order_misfit(const RuntimeSpec& runtime, const MoeSpec& moe) {
  using enum MoeSpec::Overlap;
  const bool plain = runtime.layer_order == RuntimeSpec::LayerOrder::plain;
  return unless(plain || (moe.overlap != shared_expert && moe.overlap != fb_pair),
                "the order of a layer places shared experts and exchanges itself");
}

Misfit gradient_exchange_misfit(const CommunicationSpec& spec, const ParallelPlan& plan) {
  if (spec.gradient_exchange == CommunicationSpec::GradientExchange::reduce) return nullptr;
  if (plan.zero != 1)
    return "parallel.zero is not 1, by which one rank updates with a gradient, once in a step";
  if (plan.dp_replicate > 1) return "gradients have one owner: dp_replicate 1";
  return unless(plan.dense_shards() > 1, "no replica sends gradients");
}

Misfit idle_tensor_overlap_misfit(const CommunicationSpec& communication,
                                  const ParallelPlan& plan) {
  return unless(communication.tensor_chunks == 1 || plan.tp > 1,
                "tensor.overlap hides no collective: tp > 1");
}

}  // namespace stepcast
