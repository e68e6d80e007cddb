#pragma once
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/topology/host_spec.hpp"
#include "stepcast/topology/parallel_plan.hpp"
#include "stepcast/workloads/collectives.hpp"
#include "stepcast/workloads/model_spec.hpp"
#include "stepcast/workloads/training_spec.hpp"

namespace stepcast {
struct ExpertLoads;
}

/// Here stands what one layer does on one rank: operators (rows) and communications, in issue
/// order. FLOPs, bytes and volumes with their sources: docs/models/operators.md.
namespace stepcast {

/// The product is [m x k] x [k x n]; bytes are read and written once.
struct MatmulWork {
  double m, n, k;
  double pieces = 1;  ///< equal to this one that make up a product, the others beside or behind it
};
/// One kernel does `groups` products [m x k] x [k x n] (m = tokens per expert).
struct GroupedMatmulWork {
  double groups, m, n, k;
  bool aligned = true;  ///< rows of the operands are multiples of 16 bytes
  /// Equal products at equal distances, which the library of plain products runs; the others are
  /// experts.
  bool batched = false;
};
/// The fused attention core of `sequences` sequences; causal counts half. Backward runs 2.5
/// x the forward FLOPs.
struct AttentionWork {
  double sequences, query_length, key_length, heads, qk_dim, v_dim;
  bool causal, backward;
  AttentionGeneration generation = AttentionGeneration::fused;
  double window = 0;  ///< keys that a query sees at most, of a causal kernel; 0: all before it
};
/// One kernel of chunkwise linear attention, over `heads` states of key_dim x value_dim
/// (docs/models/linear_attention.md). No table measures it: its time is the roof.
struct LinearAttentionWork {
  double sequences, length, heads, key_dim, value_dim, chunk;
};
/// One kernel of attention to chosen tokens or of the indexer that chooses them: each query
/// meets `keys` on average (docs/models/sparse_attention.md). No table measures it either.
struct SparseAttentionWork {
  double sequences, query_length, keys, heads, qk_dim, v_dim;
};
/// Vector work that is bound by HBM or by the vector cores.
struct MemoryBoundWork {
  VectorKind kind = VectorKind::elementwise;
  double row = 0;  ///< elements of a row, of kinds that care
};
/// A time that is given from outside (synthetic workloads).
struct FixedWork {
  Seconds time;
};
using PlainWork = std::variant<MatmulWork, GroupedMatmulWork, AttentionWork, LinearAttentionWork,
                               SparseAttentionWork, MemoryBoundWork, FixedWork>;
/// Says what a step in `precision: fp8_mixed` does with a product: computes it in BF16 all the
/// same, casts its left operand to FP8 first, or finds both operands in FP8.
enum class Fp8 { none, casts, ready };

/// A stage of a fused kernel does what an operator of its own would do.
struct FusedStage {
  PlainWork work;
  Flops flops{0};
  Bytes bytes{0};
  Fp8 fp8 = Fp8::none;
};
/// One of `tiles` equal tiles of a kernel that takes every tile through its stages, on cube
/// and vector cores at the same time. Stages are those of all tiles together.
struct FusedWork {
  std::vector<FusedStage> stages;
  double tiles = 1;
};
using Work = std::variant<MatmulWork, GroupedMatmulWork, AttentionWork, LinearAttentionWork,
                          SparseAttentionWork, MemoryBoundWork, FixedWork, FusedWork>;

/// The class says who starts an operator and what that costs; with `in_kernel` a kernel that runs
/// already does.
enum class LaunchClass { matmul, vector, communication, in_kernel };

/// What an operator is for. Fusion, rewrites and the order of pairs go by it; names are for reports
/// alone.
enum class OperatorRole {
  other,           ///< nothing looks for it
  norm,            ///< before a part of a layer, or of a latent
  post_norm,       ///< behind a part of a layer (sandwich)
  embedding_norm,  ///< of an MTP module: of the next token's embedding,
  hidden_norm,     ///< and of the hidden state
  norm_backward,
  post_norm_backward,
  residual,
  residual_backward,
  rope,
  rope_backward,
  activation,
  activation_backward,
  top_k,
  top_k_backward,
  permute,  ///< of tokens, in front of their exchange
  permute_backward,
  unpermute,
  unpermute_backward,
  loss_maximum,
  loss_exponentials,
  loss,
  expert_weight_gradient
};

/// The kind of kernel that does an operator of this role with its bytes.
VectorKind kind_of(OperatorRole role);

/// Statements that a library has one kernel for: what a fuser may make one of.
struct StatementGroup {
  std::string name;     ///< of that kernel
  OperatorRole role;    ///< of that kernel
  double row = 0;       ///< elements of a row that is reduced; 0: no row has to stay on chip
  std::string results;  ///< values that something behind the group reads
  /// A value that an earlier pass saves: a kernel that reads its source anyway makes it again.
  struct Saved {
    char value, source;
    double source_bytes, flops;  ///< per element of the value
  };
  std::vector<Saved> saved;
  double elements = 0;  ///< of a value
  bool beside = false;  ///< it reads nothing of the group before it, which is its like
};

/// How one statement of a group moves data. It reduces where it writes a value without bytes (a
/// number per row), and spreads such a number where it reads one.
struct VectorFlow {
  struct Operand {
    char value;
    double bytes;
  };
  std::vector<Operand> reads;
  Operand written;
  std::shared_ptr<const StatementGroup> group;
  int index = 0;  ///< in the group

  bool reduces() const { return written.bytes == 0; }
};

/// How far an item may move in its pass without passing what it reads or what reads it, in places;
/// one that may not move depends on all before it. docs/models/layer_order.md.
struct Slack {
  std::uint32_t ahead = 0, behind = 0;
  std::uint32_t branch = 0;  ///< items of one branch follow each other; 0: of none
  bool last = false;         ///< nothing in the pass reads it: a weight gradient

  bool movable() const { return ahead > 0 || behind > 0 || last; }
};

/// A row of the inventory, per rank.
struct Operator {
  std::string name;
  Work work;
  Flops flops{0};  ///< executed
  Bytes bytes{0};  ///< HBM traffic, lower bound
  LaunchClass launch = LaunchClass::vector;
  bool routed = false;  ///< its shape follows from the routing of the micro-batch
  Fp8 fp8 = Fp8::none;
  double accumulated = 0;  ///< weights whose gradient it adds to what earlier micro-batches left
  double weights = 0;      ///< that a forward product reads
  OperatorRole role = OperatorRole::other;
  std::shared_ptr<const VectorFlow> flow = nullptr;  ///< of a statement that may be fused
  bool input_gradient = false;                       ///< of a product
  bool captured = false;                             ///< in a graph that the host launches as one
  /// The library's call that launched the operator before launches this one, too: a loop over
  /// experts or over pieces of a product, or the kernels of one statement
  /// (HostSpec::library_launch).
  bool in_call = false;
  bool ordered = false;       ///< operands in MXFP8 come with scales in the order of the product
  bool begins_again = false;  ///< first of a part of a layer that is recomputed
  Slack slack = {};
  std::vector<std::string> fused = {};  ///< operators and statements that it was made of
};

/// What a communication of a layer is for: the input of a column-parallel product and what is left
/// of it backward, the output of a row-parallel one, blocks of a ring, and the four exchanges of
/// tokens.
enum class CommunicationRole {
  other,  ///< nothing looks for it: the compute stream waits for it at once
  column_input,
  column_saved_input,
  column_gradient,
  row_output,
  row_gradient,
  ring,
  reordered,  ///< waited for by its first reader (runtime.layer_order)
  dispatch,
  combine,
  combine_backward,
  dispatch_backward
};

/// Which part of an exchange of tokens a communication is: `inner` and `outer` of a dispatch that
/// cuts expert groups; `tensor` over the ranks that share experts; biases and router weights travel
/// beside the rows.
enum class ExchangeLeg { whole, inner, outer, tensor, bias, bias_tensor, weights };

/// What tells the communications apart that are under way at the same time.
struct CommunicationId {
  CommunicationRole role = CommunicationRole::other;
  ExchangeLeg leg = ExchangeLeg::whole;
  std::int64_t piece = 0;  ///< of a product or an exchange in pieces
  friend auto operator<=>(const CommunicationId&, const CommunicationId&) = default;
};

/// A collective of one layer; the compute stream waits for it at once unless it is
/// `overlapped`.
struct LayerCommunication {
  std::string name;  ///< `all_gather attention in`
  GroupKind group;
  CollectiveCall call;
  bool overlapped = false;     ///< runs beside what follows, until the WaitFor with the same id
  std::string algorithm = {};  ///< where the layer fixes it; empty: the scenario's choice
  bool in_kernel = false;      ///< started by a kernel that runs already, not by the host
  CommunicationId id = {};     ///< has a role when it is `overlapped`
  Slack slack = {};
  ExchangeKernel kernel = ExchangeKernel::library;
};
struct WaitFor {
  CommunicationId id;
};
/// A copy to the host that a later HostReadback may wait for stands here.
struct CopyToHost {};
/// The host waits until the compute stream has drained (variable-length splits read back), or, with
/// `of_copy`, until it has got to the last CopyToHost: what was issued since then goes on.
struct HostReadback {
  std::string name;
  bool of_copy = false;
};

using LayerItem = std::variant<Operator, LayerCommunication, WaitFor, HostReadback, CopyToHost>;
using LayerItems = std::vector<LayerItem>;

/// The context has everything that fixes the shape of a layer on a rank.
struct LayerContext {
  const ModelSpec& model;
  const ParallelPlan& plan;
  const TrainingSpec& training;
  const MoeSpec& moe;
  double load = 1;                     ///< expert load multiplier of this rank (1 = balanced)
  double gradient_bytes = 4;           ///< of one weight's gradient where it is accumulated
  std::int64_t tensor_chunks = 1;      ///< CommunicationSpec::tensor_chunks
  const ExpertLoads* loads = nullptr;  ///< of the expert group; nothing: even
  std::int64_t slice = 0;  ///< of plan.slices: which part of the sequence, counted from 0
  KernelSpec::Router router = KernelSpec::Router::fused;
  std::int64_t window = 0;   ///< ModelSpec::window_of the layer
  bool linear = false;       ///< ModelSpec::is_linear of the layer
  std::uint32_t graphs = 0;  ///< RuntimeSpec::graphs
  KernelSpec::Block block = KernelSpec::Block::apart;
  KernelSpec::Softmax softmax = KernelSpec::Softmax::whole;
  KernelSpec::Rope rope = KernelSpec::Rope::fused;
  KernelSpec::Ring ring = KernelSpec::Ring::fused;
  /// CommunicationSpec::tensor_backward
  CommunicationSpec::TensorBackward tensor_backward = CommunicationSpec::TensorBackward::overlapped;
  bool lowest = false;  ///< no gradient flows below the first adapter of the layer

  bool captures(GraphScope scope) const {
    return (graphs >> static_cast<unsigned>(scope) & 1U) != 0;
  }
};

/// What a layer is for: its operators carry names and roles by it.
enum class LayerKind { dense, moe, mtp };

/// The three passes of one piece of the model on one rank.
struct Passes {
  LayerItems forward, backward_input, backward_weight;
  /// Both backward parts stand in the order in which frameworks issue them (dgrad, then wgrad, per
  /// matmul).
  LayerItems backward;
  /// Full recomputation runs this again before the backward pass; it is empty for embedding and
  /// head.
  LayerItems recomputed;
  /// The parameters of this piece on this rank: dense ones (reduced over dense_data) and
  /// expert ones (over expert_data).
  double dense_parameters = 0, expert_parameters = 0;
  /// Of these, what is trained: with `training.adapters` the adapters alone.
  double trained_dense = 0, trained_expert = 0;
  /// These of trained_dense every tensor rank holds whole; with sequence parallelism their
  /// gradients are partial sums, reduced over the tensor group.
  double replicated_parameters = 0;
};

/// Operators of one layer on one rank, forward and backward, for one micro-batch.
Passes transformer_layer(const LayerContext& context, LayerKind kind);
/// The token (and learned position) embedding on the first stage.
Passes embedding(const LayerContext& context);
/// Final norm, head and vocabulary-parallel loss on the last stage.
Passes head(const LayerContext& context);
/// One MTP module with its head: norms, projection, layer, head.
Passes mtp_module(const LayerContext& context);
/// The routed experts of one layer alone, from lining up tokens for the dispatch to
/// adding up what the combine brings: no router, and shared experts only where they hide an
/// exchange.
Passes expert_module(const LayerContext& context);
/// The forward of one MoE layer and the backward of another as one, for two in-order
/// streams: exchanges of tokens run beside the other's computation (Megatron-LM, combined 1F1B with
/// `--overlap-moe-expert-parallel-comm`). Both must have one exchange each way.
LayerItems paired_layers(const Passes& forward, const Passes& backward);
/// Adam over the parameters that this rank owns: 30 bytes each with FP32 states, 6 beside
/// them. With elementwise kernels, one for each of its arithmetic operations, they move 156 bytes
/// each (docs/models/data_parallel.md).
Operator optimizer_step(double owned_parameters, const RuntimeSpec& runtime,
                        const TrainingSpec& training = {});
/// How long the host of the devices takes for that update, while it makes those of all its
/// devices: its memory bandwidth is the limit (docs/models/offload.md).
Seconds host_update_time(double owned_parameters, const RuntimeSpec& runtime,
                         const TrainingSpec& training, const HostSpec& host);
/// The local sum of squares of the owned gradients.
Operator gradient_norm(double owned_parameters, double gradient_bytes);

/// The operator as a stage of a fused kernel; it is not a fused one itself.
FusedStage fused_stage(const Operator& op);

/// Executed FLOPs of all operators of a list; exchanges and waits have none.
Flops total_flops(const LayerItems& items);

}  // namespace stepcast
