#pragma once
#include <cstdint>

#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/topology/parallel_plan.hpp"
#include "stepcast/workloads/model_spec.hpp"
#include "stepcast/workloads/training_spec.hpp"

/// Which sizes can go together at all: the rules that the reader of a scenario and the search of a
/// plan share. Each is one function, whose result says in short what does not fit; nullptr: it may
/// run. The reader says the same with numbers and with what is allowed, at the place of the key.
namespace stepcast {

using Misfit = const char*;

/// tp, cp and pp against the devices.
Misfit devices_misfit(std::int64_t devices, const ParallelPlan& plan);
/// tp against the heads of attention, and against those of keys and values.
Misfit heads_misfit(const ModelSpec& model, const ParallelPlan& plan);
Misfit key_value_misfit(const ModelSpec& model, const ParallelPlan& plan);
/// tp against the hidden width of a dense layer.
Misfit width_misfit(const ModelSpec& model, const ParallelPlan& plan);
/// Chunks of one pipeline against the layers, where layers are not written out in a table.
Misfit chunks_misfit(const ModelSpec& model, const ChunkMap& chunks);

/// cp against the tokens of a sequence: in the order of a ring each rank has two slices.
Misfit context_misfit(const TrainingSpec& training, const ParallelPlan& plan);
/// Parts of a sequence that each rank of a context group has.
std::int64_t parts_per_context_rank(const ParallelPlan& plan);
/// cp and tp against them, with sequence parallelism.
Misfit sequence_parallel_misfit(const TrainingSpec& training, const ParallelPlan& plan);
/// Slices against the context group, which attention that sees earlier slices does not know.
Misfit sliced_context_misfit(std::int64_t slices, const ParallelPlan& plan);
/// Equal slices against the tokens of a sequence.
Misfit slices_misfit(std::int64_t slices, const TrainingSpec& training, const ParallelPlan& plan);
/// micro_batch and dp against the global batch.
Misfit batch_misfit(const TrainingSpec& training, const ParallelPlan& plan);

/// ep and etp against a model without experts.
Misfit no_experts_misfit(const ParallelPlan& plan);
/// ep against the experts.
Misfit experts_misfit(const ExpertSpec& experts, const ParallelPlan& plan);
/// etp against the hidden width of an expert.
Misfit expert_width_misfit(const ExpertSpec& experts, const ParallelPlan& plan);
/// etp and ep against the ranks of a stage.
Misfit expert_ranks_misfit(const ParallelPlan& plan);
/// Whether a dispatch that cuts expert groups cuts them into equal parts.
Misfit expert_parts_misfit(const ParallelPlan& plan);

/// `moe.group_wise_a2a` against tp, etp and ep.
Misfit whole_rows_misfit(const MoeSpec& moe, const ParallelPlan& plan);

/// `moe.overlap` against etp, ep and zero.
Misfit tiles_misfit(const MoeSpec& moe, const ParallelPlan& plan);
Misfit paired_exchange_misfit(const MoeSpec& moe, const ParallelPlan& plan);
Misfit paired_gradients_misfit(const MoeSpec& moe, const ParallelPlan& plan);

/// `communication.parameter` against zero, which says whether parameters are gathered, and when.
Misfit idle_gather_overlap_misfit(const CommunicationSpec& spec, const ParallelPlan& plan);
Misfit idle_gather_precision_misfit(const CommunicationSpec& spec, const ParallelPlan& plan);
Misfit wrong_exchange_misfit(const CommunicationSpec& spec, const ParallelPlan& plan);
/// Its precision against the sizes of the groups that share parameters out.
Misfit lone_gather_misfit(const CommunicationSpec& spec, const ModelSpec& model,
                          const ParallelPlan& plan);

/// Keys of `moe:` about tokens on their way, which change nothing where ep is 1: all experts are on
/// the token's own rank. Ranks that share experts (etp) still gather their tokens.
Misfit idle_dispatch_misfit(const MoeSpec& moe, const ParallelPlan& plan);
Misfit idle_overlap_misfit(const MoeSpec& moe, const ParallelPlan& plan);
Misfit idle_placement_misfit(const MoeSpec& moe, const ParallelPlan& plan);
Misfit idle_wire_misfit(const MoeSpec& moe, const ParallelPlan& plan);
/// `moe.combine_precision` where nothing travels, or where what travels back is added up on its
/// way.
Misfit combine_misfit(const MoeSpec& moe, const ParallelPlan& plan);
/// `runtime.layer_order` where layers exchange nothing, and beside another way to hide exchanges.
Misfit idle_layer_order_misfit(const RuntimeSpec& runtime, const ParallelPlan& plan);
Misfit layer_order_misfit(const RuntimeSpec& runtime, const MoeSpec& moe);
/// `communication.gradient.exchange` against zero and the groups that share states out.
Misfit gradient_exchange_misfit(const CommunicationSpec& spec, const ParallelPlan& plan);
/// `communication.tensor.overlap` where tp is 1: there is no collective to hide.
Misfit idle_tensor_overlap_misfit(const CommunicationSpec& communication, const ParallelPlan& plan);

}  // namespace stepcast
