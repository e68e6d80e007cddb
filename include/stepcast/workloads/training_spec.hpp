#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/topology/kernel_efficiency.hpp"
#include "stepcast/workloads/collectives.hpp"

namespace stepcast {

/// The keys of `training.adapters:` say what is trained beside weights that stay as they are
/// (docs/models/adapters.md).
struct AdapterSpec {
  /// Products that may have one, in the order of the forward pass: those of query, key and value
  /// are one, and so are gate and up in front of a gated activation.
  enum class Target { query, key, value, attention_out, gate, up, down };
  enum class Targets { all, modules };
  enum class Products { joined, apart };
  enum class Split { both, one };
  enum class Frozen { bf16, int8, nf4 };
  std::int64_t rank = 0;  ///< 0: there are none, and all weights are trained
  Targets targets = Targets::all;
  std::uint32_t modules = 0;             ///< bit i: Target i, of `modules`
  Products products = Products::joined;  ///< one of what is one product, or one of each part
  Split split = Split::both;             ///< over tensor ranks: both matrices, or the wide side's
  bool dropout = false;                  ///< of what they read
  Frozen frozen = Frozen::bf16;          ///< weights of products that they stand beside

  bool any() const { return rank > 0; }
  bool at(Target target) const {
    return any() &&
           (targets == Targets::all || (modules >> static_cast<unsigned>(target) & 1U) != 0);
  }
};
/// Names of AdapterSpec::Target.
inline constexpr std::array<std::string_view, 7> adapter_targets{
    "query", "key", "value", "attention_out", "gate", "up", "down"};

/// `training:`
struct TrainingSpec {
  enum class Precision { bf16, fp16, fp8_mixed };
  /// How numbers are scaled into FP8 (docs/models/fp8.md).
  enum class Fp8Recipe { delayed, tensorwise, rowwise, blockwise, mxfp8, deepseek };
  enum class Recompute { none, selective, full, table, modules };
  /// Parts of a layer that `modules` names; `selective` is the first alone.
  enum class Module {
    core_attn,
    mla_up_proj,
    layernorm,
    mlp,
    moe,
    moe_act,
    shared_experts,
    mlp_act
  };
  enum class Attention {
    fused,
    flash_1,
    flash_2,
    flash_3,
    cudnn,
    flash_triton,
    cudnn_mxfp8,
    unfused
  };
  enum class CrossEntropy { unfused, fused, one_hot, transformers };
  /// Of a layer that runs again: all that it holds, or what its backward pass reads.
  enum class Rebuild { layer, needed };
  enum class UpdateMemory { in_place, tensor, flat };
  enum class MasterWeights { full, remainder, fp16, stored, none };
  enum class Moment { fp32, bf16, fp16, fp8 };
  enum class OffloadUpdate { device, host };
  enum class OffloadStore { memory, storage };
  std::int64_t sequence = 0;      ///< tokens
  std::int64_t global_batch = 0;  ///< sequences per step
  std::int64_t micro_batch = 1;   ///< sequences
  Precision precision = Precision::bf16;
  Fp8Recipe fp8_recipe = Fp8Recipe::delayed;  ///< of `fp8_mixed`
  bool fp8_head = false;                      ///< the output head multiplies in FP8, too
  Recompute recompute = Recompute::none;
  Table recompute_layers;               ///< [chunk][stage] fully recomputed layers, of `table`
  std::uint32_t recompute_modules = 0;  ///< bit i: Module i, of `modules`
  /// Part of the layers' activations that waits on the host; nothing: all of their attention.
  std::optional<double> offload_activations = 0;
  bool offload_optimizer = false;     ///< master weights and moments live on the host
  double offload_optimizer_part = 1;  ///< of the parameters whose states do
  bool offload_experts = false;       ///< weights, master weights and moments of routed experts do
  /// Part of a rank's experts that work in a step, of those; nothing: active_experts().
  std::optional<double> active_experts = 1;
  OffloadUpdate offload_update = OffloadUpdate::device;  ///< of states that live on the host
  OffloadStore offload_store = OffloadStore::memory;     ///< of the host, where those states live
  CrossEntropy cross_entropy =
      CrossEntropy::unfused;               ///< a pass over fp32 logits per operator, or one
  Rebuild rebuild = Rebuild::layer;        ///< of `full` and `table`
  std::int64_t logit_metrics = 0;          ///< cross entropies measured beside the loss
  Attention attention = Attention::fused;  ///< one kernel, or products, softmax and dropout apart
  bool dropout = false;  ///< of what joins the residual stream and of the embedding
  UpdateMemory update_memory = UpdateMemory::in_place;  ///< what the optimizer's update allocates
  MasterWeights master_weights = MasterWeights::full;   ///< beside the half-precision weights
  Moment first_moment = Moment::fp32, second_moment = Moment::fp32;  ///< of Adam, as kept
  /// Heads of latent attention are padded to this size for a kernel that takes one size only.
  std::optional<std::int64_t> attention_head;
  AdapterSpec adapters;

  bool offloads_activations() const { return !offload_activations || *offload_activations > 0; }
  /// Whether every layer runs this part again in its backward pass.
  bool recomputes(Module module) const {
    if (recompute == Recompute::selective) return module == Module::core_attn;
    return recompute == Recompute::modules &&
           (recompute_modules >> static_cast<unsigned>(module) & 1U) != 0;
  }
};
/// Names of the modules: those of Megatron-LM's --recompute-modules, and MindSpeed's activation of
/// dense feed-forward parts.
inline constexpr std::array<std::string_view, 8> recompute_modules{
    "core_attn", "mla_up_proj", "layernorm", "mlp", "moe", "moe_act", "shared_experts", "mlp_act"};
void describe(Visitor& visitor, TrainingSpec& spec);
/// Its word in a scenario: none, selective, full, table, modules.
const char* name(TrainingSpec::Recompute recompute);
/// The generation of the fused kernel of `training.attention`, which is not `unfused`.
AttentionGeneration generation_of(TrainingSpec::Attention attention);

/// The keys of `moe.routing:` say how many tokens each expert gets.
struct RoutingSpec {
  enum class Distribution { uniform, zipf, random, file };
  enum class Layers { shared, own };
  Distribution distribution = Distribution::uniform;
  double exponent = 1;    ///< of zipf
  std::int64_t seed = 1;  ///< of zipf: which expert is how popular; of random: the draws
  /// Steps in which the order of popularity of zipf becomes another; nothing: it stays.
  std::optional<std::int64_t> lifetime;
  std::string file;  ///< as written
  /// Of `file`, by step, by layer where layers have their own, and by expert; read by the scenario
  /// reader.
  std::vector<double> counts;
  Layers layers = Layers::shared;  ///< whether all layers have one popularity
  std::int64_t step = 0;           ///< the step whose loads these are
  /// Experts stand in groups, one per domain of the data, and a step has tokens of some of them.
  std::int64_t domains = 1, step_domains = 1;
};

/// The keys of `moe.router:` say what a router computes beside its product; groups and correction
/// bias stand with the model.
struct RouterSpec {
  enum class Score { softmax, sigmoid };
  enum class Precision { bf16, fp32 };
  Score score = Score::softmax;
  bool aux_loss = false, z_loss = false;
  Precision precision = Precision::bf16;  ///< of its weights
};

/// The keys of `moe.relocation:` say when experts, and copies of them, are placed anew.
struct RelocationSpec {
  std::optional<std::int64_t> every;  ///< steps; nothing: never
  std::int64_t history = 1;           ///< steps before it whose mean loads decide
};

/// The keys of `moe:` say how experts are reached; the model file says what they are.
struct MoeSpec {
  enum class Dispatch { flat, two_hop, two_hop_dedup, hierarchical_allgather, allgather };
  enum class Inner { automatic, node, super_node };
  enum class Overlap { none, shared_expert, chunks, fb_pair, tiles };
  enum class Placement { contiguous, balanced };
  enum class Wire { bf16, fp8 };
  enum class Permutation { fused, indexed };
  enum class Products { grouped, multi_stream, sequential, batched, fused };
  /// Frameworks and the first version of their dispatcher.
  enum class Dispatcher {
    standard,
    megatron_0_6,
    megatron_0_8,
    megatron_0_9,
    megatron_0_10,
    megatron_0_12,
    megatron_0_14,
    mindspeed_1_0,
    mindspeed_2_0,
    mindspeed_2_3,
    mindspeed_2_3_seq,
    mindformers_1_3,
    deepep,
    hybridep
  };
  Dispatch dispatch = Dispatch::flat;
  Inner inner = Inner::automatic;  ///< part of the fabric inside which the second hop stays
  Overlap overlap = Overlap::none;
  std::int64_t pieces = 1;  ///< of chunks(n), tiles(n)
  Dispatcher dispatcher = Dispatcher::standard;
  RouterSpec router;
  RoutingSpec routing;
  std::optional<double> capacity_factor;
  /// Whether rows of an expert are copied to a number that FP8 products take, and cut again.
  bool pads_rows = false;
  bool capacity_pad = false;  ///< experts compute as many rows as their capacity, padding included
  /// Tensor ranks that share experts exchange a part of the rows each and gather them; otherwise
  /// each exchanges all rows of its tensor group's tokens.
  bool group_wise_a2a = true;
  Placement placement = Placement::contiguous;
  std::int64_t spare_experts = 0;  ///< places of a rank for copies of popular experts
  RelocationSpec relocation;
  Wire wire = Wire::bf16;                        ///< of rows on their way to the experts
  Wire combine = Wire::bf16;                     ///< and on their way back
  Permutation permutation = Permutation::fused;  ///< rows of tokens, into their places and back
  Products products = Products::grouped;         ///< of the experts of a rank

  /// Says whether expert groups are cut into parts of the fabric.
  bool cuts_groups() const {
    return dispatch == Dispatch::two_hop || dispatch == Dispatch::two_hop_dedup ||
           dispatch == Dispatch::hierarchical_allgather;
  }
  bool in_pieces() const { return overlap == Overlap::chunks || overlap == Overlap::tiles; }
};
void describe(Visitor& visitor, MoeSpec& spec);

/// `communication:`
struct CommunicationSpec {
  enum class GradientPrecision { fp32, bf16 };
  /// all_to_all: FP32 gradients travel in BF16 to their owner, who adds them up in FP32.
  enum class GradientExchange { reduce, all_to_all };
  enum class Accumulation { fused, separate, flat };
  enum class Kept { accumulated, both };
  enum class ReduceCopy { none, bf16 };
  enum class StandIns { none, shapes };
  enum class GatherPrecision { bf16, fp8 };
  /// Of the gradient of a column-parallel product's input: beside the product for the weights, or
  /// waited for before it.
  enum class TensorBackward { overlapped, serial };
  /// What replicas hand each other of sharded parameters: one buffer, in which every rank has a
  /// part of everything; each matrix as a list of parts; the whole tensors of each owner.
  enum class Exchange { buffer, lists, broadcast };
  GradientPrecision gradient_precision = GradientPrecision::fp32;
  GradientExchange gradient_exchange = GradientExchange::reduce;
  /// Over micro-batches: by the product itself, behind it, or by the shards of what is joined into
  /// one flat tensor behind each backward pass.
  Accumulation accumulation = Accumulation::fused;
  Kept gradients_kept = Kept::accumulated;    ///< both: and those of the last micro-batch
  ReduceCopy reduce_copy = ReduceCopy::none;  ///< of all FP32 gradients, which is reduced for them
  StandIns stand_ins = StandIns::none;        ///< of gradients that the product has added already
  bool gradient_overlap = true;               ///< reduce buckets while the backward pass still runs
  bool gather_overlap = true;                 ///< and gather buckets of parameters ahead, beside it
  GatherPrecision gather_precision = GatherPrecision::bf16;  ///< of weights of FP8 products
  Exchange exchange = Exchange::buffer;
  std::optional<std::int64_t> bucket;  ///< elements per gradient bucket; nothing for `auto`
  /// A matrix product overlaps its tensor-parallel collective in this many pieces; with 1 they do
  /// not overlap.
  std::int64_t tensor_chunks = 1;
  TensorBackward tensor_backward = TensorBackward::overlapped;
  /// Tensor ranks pass a part each of what all of them hold to the next stage, which gathers it.
  bool scatter_gather = false;
  CollectiveChoice algorithms;
};
void describe(Visitor& visitor, CommunicationSpec& spec);

/// The keys of `runtime.kernels:` say what a layer launches as one kernel
/// (docs/models/operators.md).
struct KernelSpec {
  /// fp32: the library's kernel, or statements, in FP32 between casts.
  enum class Norm { fused, unfused, persistent, fp32 };
  /// sliced: the kernel between slices of its input and a join behind it.
  enum class Rope { fused, unfused, fp32, sliced };
  enum class Activation { fused, unfused, formula, clamped, apart };
  enum class Router { fused, statements };
  /// Kernels that bring the scales of MXFP8 operands into the order of the products' library.
  enum class Scales { joined, apart, zeroed };
  /// Products of attention and feed-forward that read, or add to, the same (ModelSpec::Block).
  enum class Block { apart, joined };
  /// Of attention that is not one kernel: over all scores, or over those below the diagonal.
  enum class Softmax { whole, causal };
  /// Of queries, keys, values and context around fused attention: as projections have them, or
  /// brought into the order of heads and back.
  enum class Heads { joined, transposed };
  /// Of outputs of ring attention, where a block has come round.
  enum class Ring { fused, statements };
  Norm norm = Norm::fused;
  Rope rope = Rope::fused;
  Activation activation = Activation::fused;
  Router router = Router::fused;
  Scales scales = Scales::joined;
  Block block = Block::apart;
  Softmax softmax = Softmax::whole;
  Heads heads = Heads::joined;
  Ring ring = Ring::fused;

  /// Whether no row is replaced by its statements; a router makes them itself.
  bool all_fused() const {
    return norm != Norm::unfused && norm != Norm::fp32 && rope == Rope::fused &&
           activation == Activation::fused && heads == Heads::joined;
  }
};

/// The keys of `runtime.barriers:` say where all ranks wait for the last one, once per step
/// (docs/models/barriers.md).
struct BarrierSpec {
  bool gradients = false;  ///< before gradients that are left are reduced
  bool optimizer = false;  ///< before the optimizer
  bool step_end = false;   ///< when all is done: loss, timers, checkpoint hooks

  bool any() const { return gradients || optimizer || step_end; }
};

/// Parts of a layer that a captured graph can hold; all but the fifth are Megatron-LM's
/// --cuda-graph-scope.
enum class GraphScope { attn, mlp, moe_router, moe_preprocess, shared_experts, moe };
inline constexpr std::array<std::string_view, 6> graph_scopes{
    "attn", "mlp", "moe_router", "moe_preprocess", "shared_experts", "moe"};

/// Passes over gradients and weights that a framework launches beside the kernel of the update, in
/// their order (docs/models/data_parallel.md).
enum class UpdatePass {
  flatten,
  divide,
  unflatten,
  check,
  join,
  cast,
  join_fp32,
  unscale,
  square,
  clip,
  copy,
  zero
};
inline constexpr std::array<std::string_view, 12> update_passes{
    "flatten",   "divide",  "unflatten", "check", "join", "cast",
    "join_fp32", "unscale", "square",    "clip",  "copy", "zero"};

/// `runtime:`
struct RuntimeSpec {
  enum class Dispatch { eager, task_queue, graph_sink };
  enum class Fusion { none, pattern, dvm };
  /// as_issued: one work queue for all streams (docs/models/replay.md, "Order of starts").
  enum class StartOrder { by_stream, as_issued };
  /// overlapped: operators of a layer stand where they hide exchanges (docs/models/layer_order.md).
  enum class LayerOrder { plain, overlapped };
  Dispatch dispatch = Dispatch::eager;
  StartOrder start_order = StartOrder::by_stream;
  LayerOrder layer_order = LayerOrder::plain;
  Fusion fusion = Fusion::none;
  KernelSpec kernels;
  enum class OptimizerKernels { fused, elementwise, per_tensor };
  OptimizerKernels optimizer = OptimizerKernels::fused;
  std::uint32_t update = 0;   ///< bit i: UpdatePass i runs too
  std::uint32_t graphs = 0;   ///< bit i: GraphScope i is launched as a graph
  double compile_misses = 0;  ///< part of the routed operators whose shape is new
  /// Statements without a launch that a part of a layer takes more where it is recomputed.
  std::int64_t recompute_statements = 0;
  double host_speed = 1;  ///< all host times are divided by it
  BarrierSpec barriers;

  bool passes(UpdatePass pass) const { return (update >> static_cast<unsigned>(pass) & 1U) != 0; }
};
void describe(Visitor& visitor, RuntimeSpec& spec);

}  // namespace stepcast
