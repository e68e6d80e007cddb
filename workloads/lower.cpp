#include "data_parallel.hpp"
#include "model_flops.hpp"
#include "program_builder.hpp"
#include "stage_pieces.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {

namespace {

/// Bytes of the activation that a rank passes to its peer on the neighbouring stage.
Bytes boundary_bytes(const WorkloadSpec& spec) {
  const TrainingSpec& training = spec.training;
  const double bf16 = 2;
  const double tokens = static_cast<double>(training.micro_batch) *
                        static_cast<double>(training.sequence) / static_cast<double>(spec.plan.cp);
  const double shards = spec.plan.sequence_parallel ? static_cast<double>(spec.plan.tp) : 1;
  return Bytes{bf16 * tokens * static_cast<double>(spec.model.hidden) / shards};
}

double executed_flops(const Pieces& pieces) {
  double sum = 0;
  for (const PlacedPiece& placed : pieces)
    sum += placed.piece->forward_flops + placed.piece->backward_flops +
           (placed.recomputed ? placed.piece->recompute_flops : 0);
  return sum;
}

double executed_attention(const Pieces& pieces) {
  double sum = 0;
  for (const PlacedPiece& placed : pieces)
    sum += placed.piece->attention_flops +
           (placed.recomputed ? placed.piece->recompute_attention_flops : 0);
  return sum;
}

double micro_batches(const WorkloadSpec& spec) {
  return static_cast<double>(spec.training.global_batch) /
         static_cast<double>(spec.training.micro_batch * spec.plan.dp);
}

/// Tokens of the step over the ranks of a stage.
double tokens_per_rank(const WorkloadSpec& spec) {
  return static_cast<double>(spec.training.global_batch) *
         static_cast<double>(spec.training.sequence) / static_cast<double>(spec.plan.stage_ranks());
}

/// First and last stage hold the embedding twice: tied with the head, or for the MTP modules.
bool holds_embedding_copy(const WorkloadSpec& spec, const LayerTable& layers, Stage stage) {
  if (spec.plan.pp == 1 || (!spec.model.tied_embeddings && spec.model.mtp_layers == 0))
    return false;
  for (const auto& row : layers.slices)
    if (row[stage.value].embedding || row[stage.value].head) return true;
  return false;
}

}  // namespace

StageProgram lower_stage(const WorkloadSpec& spec, const LayerTable& layers,
                         const ClusterSpec& cluster, Stage stage) {
  expects(layers.slices.size() == static_cast<std::size_t>(spec.plan.vpp), "one row per chunk");
  const ExpertLoads loads = expert_loads(spec);
  ProgramBuilder builder{spec, cluster, loads.distinct.size()};
  PieceLibrary library{spec, loads, builder};
  DataParallel data_parallel{spec, builder};
  StageProgram& program = builder.program();
  builder.host_work("between steps", cluster.host.step_overhead, program.prologue);
  if (spec.runtime.dispatch == RuntimeSpec::Dispatch::graph_sink)
    builder.host_work("launch of the graph", cluster.host.graph_launch, program.prologue);

  std::vector<Pieces> chunks;
  for (std::size_t chunk = 0; chunk < layers.slices.size(); ++chunk) {
    const LayerTable::Slice& slice = layers.slices[chunk].at(stage.value);
    const Pieces& pieces = chunks.emplace_back(library.pieces(slice, chunk, stage));
    ChunkProgram& lowered = program.chunks.emplace_back();
    data_parallel.lower_chunk(pieces, lowered);
    lowered.send_forward = slice.head ? Bytes{0} : boundary_bytes(spec);
    lowered.send_backward = slice.embedding ? Bytes{0} : boundary_bytes(spec);
    program.model_flops +=
        slice_training_flops(spec.model, slice, spec.training.sequence) * tokens_per_rank(spec);
    program.executed_flops += executed_flops(pieces) * micro_batches(spec);
    program.executed_attention_flops += executed_attention(pieces) * micro_batches(spec);
  }
  data_parallel.lower_epilogue(chunks, holds_embedding_copy(spec, layers, stage));
  return std::move(program);
}

}  // namespace stepcast
