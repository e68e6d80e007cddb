#include <algorithm>
#include <map>
#include <vector>

#include "adapters.hpp"
#include "data_parallel.hpp"
#include "expert_copies.hpp"
#include "program_builder.hpp"
#include "stage_pieces.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/lower_stages.hpp"
#include "stepcast/workloads/operator_inventory.hpp"
#include "stepcast/workloads/program.hpp"
#include "stepcast/workloads/states.hpp"

namespace stepcast {

namespace {

/// Kernels that start in the order in which they were issued (docs/models/replay.md): with one work
/// queue for all streams, what is issued behind a collective starts no earlier than the collective
/// does, and that starts behind the one before it of its group. So the compute stream waits for
/// that one. This looks at gathers and reductions of parameters only, and only at those of the list
/// itself: what earlier units have left under way is not waited for. `calls` are those of the
/// program.
void start_as_issued(const std::vector<StageCall>& calls, Instructions& instructions) {
  std::map<GroupKind, std::uint32_t> under_way;  // the slot of the last one of each group
  Instructions out;
  for (const Instruction& instruction : instructions) {
    out.push_back(instruction);
    if (const auto* wait = std::get_if<Wait>(&instruction))
      std::erase_if(under_way, [&](const auto& entry) { return entry.second == wait->slot; });
    const auto* communicate = std::get_if<Communicate>(&instruction);
    if (communicate == nullptr) continue;
    const StageCall& call = calls.at(communicate->call);
    if (call.stream != Stream::data) continue;
    // The first one of its group that is under way waits for none.
    const auto [last, first] = under_way.try_emplace(call.group, communicate->slot);
    if (first) continue;
    if (last->second != communicate->slot) out.push_back(Wait{last->second});
    last->second = communicate->slot;
  }
  instructions = std::move(out);
}

/// In all that a chunk runs.
void start_as_issued(const std::vector<StageCall>& calls, ChunkProgram& chunk) {
  for (Instructions* list :
       {&chunk.forward, &chunk.first_forward, &chunk.backward, &chunk.last_backward,
        &chunk.backward_input, &chunk.backward_weight, &chunk.last_backward_weight})
    start_as_issued(calls, *list);
  for (Instructions& pair : chunk.paired) start_as_issued(calls, pair);
}

/// Of the first `count` layers alone.
double layers_flops(ModelSpec model, std::int64_t count, std::int64_t sequence) {
  model.layers = count;
  model.vocabulary = 0;
  return training_flops_per_token(model, sequence, false);
}

double full_flops(const ModelSpec& model, const LayerTable::Slice& slice, std::int64_t sequence) {
  // Layers may differ, so that those in between are the difference of two beginnings.
  double flops = layers_flops(model, slice.first + slice.count, sequence) -
                 layers_flops(model, slice.first, sequence);
  if (slice.head) {
    ModelSpec head = model;
    head.layers = 0;
    flops += training_flops_per_token(head, sequence, false);
  }
  if (slice.mtp > 0)
    flops += training_flops_per_token(model, sequence, true) -
             training_flops_per_token(model, sequence, false);
  return flops;
}

/// Frozen products lack the gradient of their weights, a third of what tokens cost without
/// attention; adapters have all three.
double with_adapters(double full, double without_attention, double adapters, double unneeded) {
  return full - without_attention / 3 + 6 * adapters - unneeded;
}

double adapter_weights(const WorkloadSpec& spec, std::int64_t first, std::int64_t count) {
  double sum = 0;
  for (std::int64_t layer = first; layer < first + count; ++layer)
    sum +=
        adapter_parameters(spec.model, spec.training.adapters, parts_of(spec.model, layer)).sum();
  return sum;
}

double flops_per_token(const WorkloadSpec& spec, std::int64_t sequence) {
  const double full = training_flops_per_token(spec.model, sequence, true);
  const AdapterSpec& adapters = spec.training.adapters;
  if (!adapters.any()) return full;
  return with_adapters(full, training_flops_per_token(spec.model, 0, true),
                       adapter_weights(spec, 0, spec.model.layers),
                       unneeded_flops(spec.model, adapters, sequence));
}

/// The part of what training one token asks for that `slice` holds; the slices of a table add up
/// to model_flops_per_step.
double slice_training_flops(const WorkloadSpec& spec, const LayerTable::Slice& slice) {
  const std::int64_t sequence = spec.training.sequence;
  const double full = full_flops(spec.model, slice, sequence);
  const AdapterSpec& adapters = spec.training.adapters;
  // With adapters the frozen weights get no gradient: docs/models/adapters.md subtracts it, and the
  // input gradient below the first adapter with it.
  if (!adapters.any()) return full;
  const bool first = slice.first == 0 && slice.count > 0;
  return with_adapters(full, full_flops(spec.model, slice, 0),
                       adapter_weights(spec, slice.first, slice.count),
                       first ? unneeded_flops(spec.model, adapters, sequence) : 0);
}

/// Bytes of the activation of one slice that a rank passes to its peer on the neighbouring stage.
Bytes boundary_bytes(const WorkloadSpec& spec, std::int64_t slice) {
  const TrainingSpec& training = spec.training;
  const double tokens = static_cast<double>(training.micro_batch) *
                        spec.plan.slice_length(training.sequence, slice) /
                        static_cast<double>(spec.plan.cp);
  // Tensor ranks send a part each where the receivers hold parts, or gather them.
  const bool in_parts = spec.plan.sequence_parallel || spec.communication.scatter_gather;
  const double shards = in_parts ? static_cast<double>(spec.plan.tp) : 1;
  return Bytes{half_bytes * tokens * static_cast<double>(spec.model.hidden) / shards};
}

/// Of one micro-batch, what is computed again included.
double executed_flops(const Pieces& pieces) {
  double sum = 0;
  for (const PlacedPiece& placed : pieces)
    sum += placed.piece->forward_flops + placed.piece->backward_flops +
           (placed.recomputed ? placed.piece->recompute_flops : 0);
  return sum;
}

/// Of attention cores alone.
double executed_attention(const Pieces& pieces) {
  double sum = 0;
  for (const PlacedPiece& placed : pieces)
    sum += placed.piece->attention_flops +
           (placed.recomputed ? placed.piece->recompute_attention_flops : 0);
  return sum;
}

/// That a chunk sees: with two directions, half of them.
double micro_batches(const WorkloadSpec& spec) {
  const std::int64_t replicas = spec.plan.dp * spec.plan.chunk_map().copies();
  return static_cast<double>(spec.training.global_batch) /
         static_cast<double>(spec.training.micro_batch * replicas);
}

/// Tokens of the step that a chunk sees over the ranks of a stage.
double tokens_per_rank(const WorkloadSpec& spec) {
  const std::int64_t replicas = spec.plan.stage_ranks() * spec.plan.chunk_map().copies();
  return static_cast<double>(spec.training.global_batch) *
         static_cast<double>(spec.training.sequence) / static_cast<double>(replicas);
}

/// First and last stage hold the embedding twice: tied with the head, or for the MTP modules. In
/// other placements than the loop input and head are on one stage, and share it.
bool holds_embedding_copy(const WorkloadSpec& spec, const LayerTable& layers, Stage stage) {
  const bool apart = spec.plan.pp > 1 && spec.plan.chunk_placement == ChunkPlacement::loop;
  if (!apart || (!spec.model.tied_embeddings && spec.model.mtp_layers == 0)) return false;
  for (const auto& row : layers.slices)
    if (row[stage.value].embedding || row[stage.value].head) return true;
  return false;
}

/// Sharded gradients are reduced in every backward, and slices differ: their pairs run one after
/// the other.
bool runs_pairs(const WorkloadSpec& spec) {
  return spec.pairs && spec.plan.zero <= 1 && spec.plan.slices == 1;
}

/// What the stages of a job share.
struct JobRows {
  JobRows(const WorkloadSpec& spec, const ClusterSpec& cluster, const LayerLoads& its_loads)
      : loads{its_loads}, rows{spec, loads, cluster} {}

  const LayerLoads& loads;
  PieceRows rows;
};

/// FLOPs of the model that a rank of the stage makes in a step.
double model_flops(const WorkloadSpec& spec, const LayerTable& layers, Stage stage) {
  double sum = 0;
  for (const auto& chunk : layers.slices)
    sum += slice_training_flops(spec, chunk.at(stage.value)) * tokens_per_rank(spec);
  return sum;
}

StageProgram lowered(const WorkloadSpec& spec, const LayerTable& layers, const ClusterSpec& cluster,
                     Stage stage, JobRows& job, OperatorInventory* inventory) {
  expects(layers.slices.size() == static_cast<std::size_t>(spec.plan.vpp), "one row per chunk");
  const LayerLoads& loads = job.loads;
  ProgramBuilder builder{spec, cluster, loads.rank_of.size(), inventory};
  PieceLibrary library{spec, loads, job.rows, builder};
  const ExpertCopies copies{spec, loads, layers, stage};
  DataParallel data_parallel{spec, builder};
  StageProgram& program = builder.program();
  builder.host_work("between steps", cluster.host.step_overhead, program.prologue);
  if (spec.runtime.dispatch == RuntimeSpec::Dispatch::graph_sink)
    builder.host_work("launch of the graph", cluster.host.graph_launch, program.prologue);
  // Copies begin the step with what the last one made of their experts.
  copies.get_weights(builder, program.prologue);

  program.slices = static_cast<std::uint32_t>(spec.plan.slices);
  std::vector<Pieces> chunks;  // as the first slice has them
  for (std::size_t chunk = 0; chunk < layers.slices.size(); ++chunk) {
    const LayerTable::Slice& held = layers.slices[chunk].at(stage.value);
    for (std::int64_t slice = 0; slice < spec.plan.slices; ++slice) {
      const Pieces pieces = library.pieces(held, chunk, stage, slice);
      ChunkProgram& chunk_program = program.chunks.emplace_back();
      data_parallel.lower_chunk(pieces, chunk, slice == 0, chunk_program);
      chunk_program.send_forward = held.head ? Bytes{0} : boundary_bytes(spec, slice);
      chunk_program.send_backward = held.embedding ? Bytes{0} : boundary_bytes(spec, slice);
      program.executed_flops += executed_flops(pieces) * micro_batches(spec);
      program.executed_attention_flops += executed_attention(pieces) * micro_batches(spec);
      if (slice == 0) chunks.push_back(pieces);
    }
  }
  program.model_flops = model_flops(spec, layers, stage);
  if (runs_pairs(spec)) {
    // Which backward a forward of the stage meets is up to the schedule.
    for (std::size_t f = 0; f < chunks.size(); ++f)
      for (const Pieces& backward : chunks)
        program.chunks[f].paired.push_back(
            library.pair(chunks[f], backward, data_parallel.offload()));
  }
  if (spec.runtime.start_order == RuntimeSpec::StartOrder::as_issued)
    for (ChunkProgram& chunk : program.chunks) start_as_issued(program.calls, chunk);
  // Owners update with the gradients of all copies.
  copies.give_gradients(builder, program.epilogue);
  data_parallel.lower_epilogue(chunks, holds_embedding_copy(spec, layers, stage));
  return std::move(program);
}

/// All that the program of a stage depends on beside the job.
struct StageContents {
  struct Chunk {
    bool embedding, head;
    std::int64_t mtp, recomputed;
    std::vector<PieceKey> layers;
    friend bool operator==(const Chunk&, const Chunk&) = default;
  };
  std::vector<Chunk> chunks;
  bool embedding_copy;
  friend bool operator==(const StageContents&, const StageContents&) = default;
};

StageContents contents_of(const WorkloadSpec& spec, const LayerTable& layers, Stage stage) {
  StageContents contents{{}, holds_embedding_copy(spec, layers, stage)};
  // Only the kinds of layers and what stands at the ends: stages with equal contents share one
  // program, which is lowered once.
  for (std::size_t chunk = 0; chunk < layers.slices.size(); ++chunk) {
    const LayerTable::Slice& held = layers.slices[chunk].at(stage.value);
    StageContents::Chunk& has = contents.chunks.emplace_back(StageContents::Chunk{
        held.embedding, held.head, held.mtp, recomputed_layers(spec, held, chunk, stage), {}});
    for (std::int64_t i = 0; i < held.count; ++i)
      has.layers.push_back(layer_key(spec.model, held.first + i));
  }
  return contents;
}

/// Where layers have loads of their own, or copies of experts, stages differ in them, too. MTP
/// modules ask which stage reads the input.
bool may_share_program(const WorkloadSpec& spec, const LayerLoads& loads,
                       const StageContents& contents) {
  return loads.layers.size() <= 1 && spec.moe.spare_experts == 0 &&
         std::ranges::all_of(contents.chunks, [](const auto& chunk) { return chunk.mtp == 0; });
}

}  // namespace

double model_flops_per_step(const WorkloadSpec& spec) {
  const TrainingSpec& training = spec.training;
  return flops_per_token(spec, training.sequence) * static_cast<double>(training.sequence) *
         static_cast<double>(training.global_batch);
}

double model_attention_flops_per_step(const WorkloadSpec& spec) {
  const TrainingSpec& training = spec.training;
  // Attention is what a sequence without any tokens does not need.
  return (flops_per_token(spec, training.sequence) - flops_per_token(spec, 0)) *
         static_cast<double>(training.sequence) * static_cast<double>(training.global_batch);
}

double model_expert_flops_per_step(const WorkloadSpec& spec) {
  if (!spec.model.moe) return 0;
  // With no expert chosen, router and shared experts are left.
  WorkloadSpec without = spec;
  without.model.moe->top_k = 0;
  return model_flops_per_step(spec) - model_flops_per_step(without);
}

StageProgram lower_stage(const WorkloadSpec& spec, const LayerTable& layers,
                         const ClusterSpec& cluster, Stage stage) {
  const LayerLoads loads = layer_loads(spec);
  JobRows job(spec, cluster, loads);
  return lowered(spec, layers, cluster, stage, job, nullptr);
}

std::vector<StageProgram> lower_stages(const WorkloadSpec& spec, const LayerTable& layers,
                                       const ClusterSpec& cluster) {
  return lower_stages(spec, layers, cluster, layer_loads(spec));
}

std::vector<StageProgram> lower_stages(const WorkloadSpec& spec, const LayerTable& layers,
                                       const ClusterSpec& cluster, const LayerLoads& loads) {
  JobRows job(spec, cluster, loads);
  std::vector<StageProgram> programs;
  std::vector<StageContents> contents;
  programs.reserve(static_cast<std::size_t>(spec.plan.pp));
  contents.reserve(static_cast<std::size_t>(spec.plan.pp));
  for (std::uint32_t s = 0; s < spec.plan.pp; ++s) {
    contents.push_back(contents_of(spec, layers, Stage{s}));
    const auto known = std::ranges::find(contents, contents.back());
    if (known + 1 == contents.end() || !may_share_program(spec, job.loads, contents.back())) {
      programs.push_back(lowered(spec, layers, cluster, Stage{s}, job, nullptr));
      continue;
    }
    StageProgram program = programs[static_cast<std::size_t>(known - contents.begin())];
    program.model_flops = model_flops(spec, layers, Stage{s});
    programs.push_back(std::move(program));
  }
  return programs;
}

StageProgram lower_expert_module(const WorkloadSpec& spec, const ClusterSpec& cluster) {
  // Experts alone, for the comparison with measured modules: no chunk has a first or last unit of
  // its own.
  const ExpertLoads loads = expert_loads(spec);
  ProgramBuilder builder{spec, cluster};
  const Passes passes = expert_passes(spec, builder.device(), loads);
  ChunkProgram chunk;
  builder.lower({passes.forward}, chunk.forward);
  builder.lower({passes.backward}, chunk.backward);
  chunk.first_forward = chunk.forward;
  chunk.last_backward = chunk.backward;
  builder.program().chunks.push_back(std::move(chunk));
  return std::move(builder.program());
}

OperatorInventory stage_operators(const WorkloadSpec& spec, const LayerTable& layers,
                                  const ClusterSpec& cluster, Stage stage) {
  OperatorInventory inventory;
  const LayerLoads loads = layer_loads(spec);
  JobRows job(spec, cluster, loads);
  lowered(spec, layers, cluster, stage, job, &inventory);
  return inventory;
}

}  // namespace stepcast
