#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "stepcast/base/ids.hpp"
#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/topology/parallel_plan.hpp"
#include "stepcast/workloads/collectives.hpp"
#include "stepcast/workloads/layer_split.hpp"
#include "stepcast/workloads/model_spec.hpp"
#include "stepcast/workloads/segment.hpp"
#include "stepcast/workloads/training_spec.hpp"

/// A rank executes programs, which are templates: one set per stage, instantiated by micro-batch
/// index at replay.
namespace stepcast {

/// Streams that work in order beside the compute stream. Pipeline transfers have channels of their
/// own. `expert_outer` takes, of expert groups cut into parts, what crosses between the parts.
enum class Stream { tensor, expert, data, context, expert_outer, to_host, from_host };
inline constexpr std::size_t streams = 7;

/// Says why a rank waits for a communication, as the report splits it.
enum class ExposedKind { tensor, expert, pipeline, data, context, offload };
inline constexpr std::size_t exposed_kinds = 6;
const char* name(ExposedKind kind);

/// Runs segment `segment` of the stage on the compute stream.
struct Compute {
  std::uint32_t segment;
};
/// Issues collective `call` of the stage (index into StageProgram::calls) on its stream. It
/// may start when the host has issued it, its stream is free, every member has arrived and, when
/// `after_compute`, the compute stream has reached this point. `slot` names its completion for
/// Wait.
struct Communicate {
  std::uint32_t call;
  std::uint32_t slot;
  bool after_compute;
};
/// The compute stream waits for the last Communicate with this slot.
struct Wait {
  std::uint32_t slot;
};
/// A copy to the host stands behind what the compute stream has so far; a later HostSync may wait
/// for that alone.
struct HostCopy {};
/// The host waits for the compute stream, or for no more than its last HostCopy.
struct HostSync {
  bool of_copy = false;
};
using Instruction = std::variant<Compute, Communicate, Wait, HostSync, HostCopy>;
using Instructions = std::vector<Instruction>;

/// One collective as a stage calls it.
struct StageCall {
  std::string name;
  GroupKind group;
  /// The factors of a skew are by expert rank (Coordinates::ep) instead of by member. In an
  /// expert_tensor group, whose ranks hold the same experts, the factor scales the bytes.
  CollectiveCall call;
  Stream stream;
  ExposedKind kind;
  OperatorCost issue;          ///< host main and worker time of issuing it; no device time
  std::string algorithm = {};  ///< where the layer fixes it; empty: the scenario's choice
  /// Above 0 this is no collective but a transfer of that length over the device's own host link;
  /// group and kind of collective mean nothing then.
  Seconds host_link{0};
  bool over_host_link() const { return host_link > Seconds{0}; }
  bool in_kernel = false;  ///< a kernel that runs already starts it: no launch
  ExchangeKernel kernel = ExchangeKernel::library;

  /// What members with these expert ranks send: the factors of a skew by member.
  CollectiveCall among(std::span<const std::uint32_t> expert_ranks) const;
};

/// One chunk of the model on one stage, for one slice of the sequence.
struct ChunkProgram {
  Instructions forward;
  Instructions first_forward;  ///< of the step: also waits for this chunk's gathered parameters
  /// backward_input and backward_weight together; with sharded gradients (zero 2, 3) also
  /// their reductions.
  Instructions backward;
  /// The last one of the step that makes gradients: it also starts their reductions, bucket
  /// by bucket.
  Instructions last_backward;
  Instructions backward_input;        ///< what a neighbour waits for, and what is computed again
  Instructions backward_weight;       ///< the rest of `backward`, with its reductions
  Instructions last_backward_weight;  ///< as last_backward
  /// [chunk] This is the forward of this chunk and a backward of that one as one; empty: they run
  /// one after the other.
  std::vector<Instructions> paired;
  Bytes send_forward{0};   ///< activation to the next virtual stage; 0 for the last
  Bytes send_backward{0};  ///< gradient to the previous virtual stage; 0 for the first
};

/// Says how a segment that is one attention operator takes less time on shorter documents.
struct AttentionScaling {
  double fixed = 0;  ///< launch and ramp [s]
  double work = 0;   ///< compute time over whole sequences [s]
  double floor = 0;  ///< memory time or a single tile, whatever the documents are [s]
  /// What is lost on each query over what is worked on it (attention_loss).
  double half = 0;

  bool scales() const { return work > 0; }
  /// The factor on device time when the visible pairs and the tokens are these shares of
  /// the whole.
  double factor(double pairs, double tokens) const;
};

/// All that the ranks of one stage execute in a step, as templates that the order of units repeats.
struct StageProgram {
  std::vector<Segment> segments;
  /// [segment] With documents, attention operators are segments of their own. It is empty where
  /// nothing scales.
  std::vector<AttentionScaling> attention;
  /// [variant - 1] These are the same segments on ranks that have other amounts of expert work
  /// (ExpertLoads::variant_of); variant 0 is `segments`.
  std::vector<std::vector<Segment>> variants;
  std::vector<std::string> operator_names;  ///< each once
  /// [segment] This names each operator; it is empty where operators have no names.
  std::vector<std::vector<std::uint32_t>> segment_names;
  std::vector<StageCall> calls;
  std::uint32_t slots = 0;
  std::vector<ChunkProgram> chunks;  ///< [chunk * slices + slice]
  std::uint32_t slices = 1;          ///< of the sequence of a micro-batch
  Instructions prologue;             ///< before the first unit: parameter gathers
  Instructions epilogue;    ///< after the last unit: reductions, gradient norm, optimizer, gathers
  OperatorCost send_issue;  ///< host cost of issuing one pipeline send or receive
  double model_flops = 0;   ///< per rank and step, without recompute
  double executed_flops = 0;  ///< with recompute and update; mean over the expert ranks
  double update_flops = 0;    ///< those of gradient norm and optimizer
  double executed_attention_flops =
      0;  ///< of the executed, those of attention over whole sequences

  const Segment& segment(std::uint32_t index, std::uint32_t variant) const {
    return variant == 0 ? segments[index] : variants[variant - 1][index];
  }

  std::uint32_t chunk_count() const { return static_cast<std::uint32_t>(chunks.size()) / slices; }
  const ChunkProgram& of(Chunk chunk, SequenceSlice slice) const {
    return chunks[chunk.value * slices + slice.value];
  }
};

/// Whether some call of a job uses groups of the kind over its network.
bool uses_group(const std::vector<StageProgram>& programs, GroupKind kind);

/// [chunk][stage] The table says which layers (ascending, counted over the model; MTP modules
/// follow) each chunk holds.
struct LayerTable {
  struct Slice {
    std::int64_t first = 0, count = 0;
    bool embedding = false, head = false;
    std::int64_t mtp = 0;
  };
  std::vector<std::vector<Slice>> slices;  ///< [chunk][stage]
};

/// The spec has all that lowering needs; every member is checked. Expert loads follow from model,
/// plan, training and moe: expert_loads().
struct WorkloadSpec {
  ModelSpec model;
  ParallelPlan plan;
  TrainingSpec training;
  MoeSpec moe;
  CommunicationSpec communication;
  RuntimeSpec runtime;
  bool documents = false;  ///< attention depends on the micro-batch (`schedule.data.documents`)
  bool pairs = false;      ///< some forwards run as one with a backward; set by the scenario reader
  /// The gradient norm is not exchanged between stages (`schedule.post_validation`).
  bool post_validation = false;
};

/// Spreads the layers over virtual stages (chunk * pp + stage, ascending): by the given table,
/// evenly, or by what layers, embedding, head and MTP modules take device and host
/// (balanced_ends(); a forecast times several splits of a loop: layers_of() of its scenario).
/// Throws InputError never: tables are checked by the scenario reader.
LayerTable assign_layers(const WorkloadSpec& spec, const ClusterSpec& cluster);

/// The times that a balanced split looks at.
LayerTimes layer_times(const WorkloadSpec& spec, const ClusterSpec& cluster);
/// The layers up to each end on the virtual stages of the plan.
LayerTable layer_table(const WorkloadSpec& spec, const std::vector<std::size_t>& ends);

/// Builds the program of one stage. Formulas: docs/models/operators.md,
/// docs/models/data_parallel.md.
StageProgram lower_stage(const WorkloadSpec& spec, const LayerTable& layers,
                         const ClusterSpec& cluster, Stage stage);

/// A program whose one chunk is the routed experts of one MoE layer, from dispatch to
/// combine (expert_module()), on the fullest rank; it needs a model with experts.
StageProgram lower_expert_module(const WorkloadSpec& spec, const ClusterSpec& cluster);

/// The FLOPs of the model for one whole step over all ranks (training_flops_per_token x
/// tokens).
double model_flops_per_step(const WorkloadSpec& spec);
/// Those of them that grow with the square of the sequence: attention, causal.
double model_attention_flops_per_step(const WorkloadSpec& spec);
/// Those of them that routed experts make when they drop no token; 0 without experts.
double model_expert_flops_per_step(const WorkloadSpec& spec);

/// Given times of one virtual stage [s], in place of those of a model.
struct SyntheticChunk {
  Seconds forward{0}, backward_input{0}, backward_weight{0};
};
struct SyntheticSpec {
  std::vector<SyntheticChunk>
      chunks;         ///< one for all, or one per (chunk, stage): chunk * pp + stage
  Bytes boundary{0};  ///< bytes of one pipeline transfer
  Seconds boundary_latency{0};
  bool boundary_latency_given = false;  ///< replaces the network for that transfer
};
void describe(Visitor& visitor, SyntheticSpec& spec);
StageProgram lower_synthetic(const SyntheticSpec& spec, const ParallelPlan& plan, Stage stage);

}  // namespace stepcast
