#pragma once
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "../adapters.hpp"
#include "../parameter_groups.hpp"
#include "stepcast/workloads/operators.hpp"
#include "stepcast/workloads/states.hpp"

/// Shapes and rows that the layers share. Private to workloads/layers.
namespace stepcast::rows {

inline constexpr double element = half_bytes;  ///< of an activation, weight or gradient
inline constexpr double fp32 = single_bytes;
inline constexpr double mask = 1;  ///< byte per element of a dropout mask
inline constexpr double attention_backward =
    2.5;  ///< FLOPs over the forward's: five products for two

/// Sizes of one micro-batch on one rank.
struct Shape {
  explicit Shape(const LayerContext& context);

  double sequences;      ///< of the micro-batch
  double length;         ///< tokens of a sequence or of its slice, over all context ranks
  double before;         ///< tokens of earlier slices, which attention sees too
  double tokens;         ///< of this context rank: inside tensor-parallel regions
  double shard;          ///< tokens outside them: tokens / tp with sequence parallelism
  double expert_tokens;  ///< tokens / tp: what the rank sends into its expert group
  double hidden;
  double tp, cp;
  double gradient_bytes;   ///< of one weight's gradient
  bool sequence_parallel;  ///< and there is something to be parallel over
  std::int64_t chunks;     ///< of products that overlap their tensor collective
  bool serial_backward;    ///< gradients of inputs are reduced before the product for the weights
  AdapterSpec adapters;
  bool lowest;  ///< LayerContext::lowest
};

/// The backward pass under construction: `both` is the order in which frameworks issue it.
struct Backward {
  Backward() = default;
  explicit Backward(const LayerContext& context) : frozen{context.training.adapters.any()} {}
  LayerItems input, weight, both;
  bool frozen = false;       ///< weights get no gradients, but those of add_trained()
  bool ended = false;        ///< nothing below needs a gradient: what comes later is left out
  bool again_waits = false;  ///< something that is made again waits; what comes later may read it
  void add_input(const LayerItem& item);
  void add_weight(const LayerItem& item);
  /// Of weights that are trained beside frozen ones.
  void add_trained(const LayerItem& item);
  void add_input(const LayerItems& items);
};

/// What `part` appends is launched as a graph where the scenario captures it.
void captured(LayerItems& items, bool captures, const std::function<void()>& part);
void captured(Backward& backward, bool captures, const std::function<void()>& part);

/// The items from `from` on read nothing that stands behind the place `since` of the pass, but each
/// other. Nothing is marked where one of them waits for something: such items stay.
void may_stand_ahead(LayerItems& items, std::size_t from, std::size_t since);
/// What the pass has by now reads nothing of the items from `from` to before `to`, which are
/// marked so likewise.
void may_stand_behind(LayerItems& items, std::size_t from, std::size_t to);
/// How far the lists of a backward have got.
struct BackwardPlace {
  explicit BackwardPlace(const Backward& backward)
      : input{backward.input.size()}, both{backward.both.size()} {}
  std::size_t input, both;
};
void may_stand_ahead(Backward& backward, const BackwardPlace& from, const BackwardPlace& since);
void may_stand_behind(Backward& backward, const BackwardPlace& from, const BackwardPlace& to);
/// What the backward makes again needs only what was kept: it may stand anywhere ahead.
void add_again(Backward& backward, const LayerItems& items);

/// `groups` are the parameters of the piece, to be spread over the ranks, and `adapters` those
/// beside them.
Passes assemble(const LayerContext& context, LayerItems forward, Backward backward,
                const ParameterGroups& groups, const ParameterGroups& adapters = {});

/// y[tokens x out] = x[tokens x in] w[in x out], all sizes of this rank.
struct Linear {
  std::string name;
  double tokens, in, out;
  bool bf16 = false;  ///< in an FP8 step too
  /// What `training.adapters` makes of it.
  std::vector<double> adapters = {};  ///< outputs of each adapter beside it, of this rank
  bool lowest = false;                ///< nothing below its adapter has one
  double quantised = 0;               ///< bytes of a weight; 0: BF16

  Fp8 fp8(Fp8 otherwise) const { return bf16 ? Fp8::none : otherwise; }
};
/// The product with its adapters, where it has some: one, or one for each of those of its `parts`
/// that are targets.
Linear adapted(Linear linear, const Shape& shape, AdapterPlace place,
               const std::vector<double>& parts);
/// Which side of a product is spread over tensor ranks.
enum class Side { columns, rows };
/// Adapters beside a product whose input, and whose output's gradient, are there.
void adapters_forward(LayerItems& items, const Shape& shape, const Linear& linear, Side side);
/// With the gradient of their input, but for a product that is the lowest.
void adapters_backward(Backward& backward, const Shape& shape, const Linear& linear, Side side);
/// Weights that are kept in fewer bytes, made BF16 for one product; nothing for others.
LayerItems dequantised(const Linear& linear);
Operator forward(const Linear& linear);
Operator input_gradient(const Linear& linear);
/// Accumulates: reads and writes `gradient_bytes` per weight.
Operator weight_gradient(const Linear& linear, double gradient_bytes);

/// `groups` products of `Linear` with `tokens` rows each, in one kernel.
Operator grouped_forward(const Linear& linear, double groups);
Operator grouped_input_gradient(const Linear& linear, double groups);
Operator grouped_weight_gradient(const Linear& linear, double groups, double gradient_bytes);

/// `batch` independent products [m x k] x [k x n] in one kernel.
Operator batched_product(std::string name, double batch, double m, double n, double k);

Operator vector_row(std::string name, double flops, double bytes,
                    OperatorRole role = OperatorRole::other);
/// The same without a role, done by a kernel of this kind.
Operator vector_row_of(VectorKind kind, std::string name, double flops, double bytes);

/// A bias on `count` outputs as an operator of its own, and its gradient: the sum over tokens.
Operator bias_forward(const std::string& name, double count);
Operator bias_gradient(const std::string& name, double count);

/// Appends a blocking collective, unless its group has one member.
void communicate(LayerItems& items, std::string name, GroupKind group, double group_size,
                 CollectiveKind kind, double bytes);
LayerCommunication overlapped(std::string name, CommunicationId id, GroupKind group,
                              CollectiveKind kind, double bytes, std::string algorithm = {});
/// ` 2/4`, behind the name of what is done in pieces.
std::string of_pieces(std::int64_t piece, std::int64_t pieces);

/// Column-parallel: the input is gathered (with sequence parallelism), outputs stay sharded.
void column_forward(LayerItems& items, const Shape& shape, const Linear& linear);
/// dgrad hides the gather of the saved input, wgrad hides the reduction of the input gradient.
void column_backward(Backward& backward, const Shape& shape, const Linear& linear);
/// Row-parallel: outputs are partial sums, reduced (scattered with sequence parallelism).
void row_forward(LayerItems& items, const Shape& shape, const Linear& linear);
void row_backward(Backward& backward, const Shape& shape, const Linear& linear);

/// Products with one name together, of one input or of outputs that are added up: what tensor ranks
/// exchange is exchanged once, in pieces beside the last of them. One alone is as above.
using Linears = std::span<const Linear>;
void columns_forward(LayerItems& items, const Shape& shape, const std::string& name,
                     Linears linears);
void columns_backward(Backward& backward, const Shape& shape, const std::string& name,
                      Linears linears);
void rows_forward(LayerItems& items, const Shape& shape, const std::string& name, Linears linears);
void rows_backward(Backward& backward, const Shape& shape, const std::string& name,
                   Linears linears);

/// Normalisation of `count` elements per the model's norm.
Operator norm_forward(const ModelSpec& model, std::string name, double count,
                      OperatorRole role = OperatorRole::norm);
Operator norm_backward(const ModelSpec& model, std::string name, double count,
                       OperatorRole role = OperatorRole::norm_backward);
Operator residual(std::string name, double count, OperatorRole role = OperatorRole::residual);
/// Rotary positions of `count` elements.
Operator rope_forward(double count);
Operator rope_backward(double count);
/// In one kernel with the sum, where dropout is on; its backward is a kernel of its own.
Operator joined_residual(const LayerContext& context, std::string name, double count);
void dropout_backward(Backward& backward, const LayerContext& context, std::string name,
                      double count);

// ---- the pieces
// -------------------------------------------------------------------------------------------
void attention_forward(LayerItems& items, const LayerContext& context);
void attention_backward_pass(Backward& backward, const LayerContext& context);

void latent_forward(LayerItems& items, const LayerContext& context,
                    const LatentAttention& attention);
void latent_backward(Backward& backward, const LayerContext& context,
                     const LatentAttention& attention);

/// Latent attention to tokens that an indexer chooses: docs/models/sparse_attention.md.
void sparse_forward(LayerItems& items, const LayerContext& context,
                    const LatentAttention& attention);
void sparse_backward(Backward& backward, const LayerContext& context,
                     const LatentAttention& attention);
/// Attention whose heads keep a state: docs/models/linear_attention.md.
void linear_forward(LayerItems& items, const LayerContext& context,
                    const LinearAttention& attention);
void linear_backward(Backward& backward, const LayerContext& context,
                     const LinearAttention& attention);
/// Kernels of its core over `tokens` of `heads` states, in `sequences`.
struct StateHeads {
  double sequences, tokens, heads;
};
LayerItems linear_core_forward(const StateHeads& heads, const LinearAttention& attention);
LayerItems linear_core_backward(const StateHeads& heads, const LinearAttention& attention);
/// Kernels that score, choose and attend, of `tokens` of whole sequences of `length`.
struct ChosenTokens {
  double sequences, length;
  double top_k;  ///< that a query sees at most
  /// Twice the tokens that a query sees on average: of all before it, and of those chosen.
  double twice_all() const { return length; }
  double twice_chosen() const;
};
Operator index_scores(const ChosenTokens& chosen, double heads, double width, bool backward);
Operator index_top_k(const ChosenTokens& chosen);
/// `heads` queries that share keys of `qk_dim`, the first `v_dim` of which are values.
Operator sparse_attention(const ChosenTokens& chosen, double heads, double qk_dim, double v_dim,
                          bool backward);

/// Elements per token and rank of q, k, v and the output, and what the kernel sees.
struct Core {
  double heads, qk_dim, v_dim;
  double q, k, v, out;
  /// Kernels directly before it, and as many behind its gradients, that do not meet the values:
  /// norms and rotation of queries and keys.
  std::uint32_t beside_values = 0;
};
/// The products before and behind something, on one rank.
struct Projections {
  Linear in, out;
};
/// Grouped queries: their projections, and what stands between those.
Projections grouped_query_projections(const LayerContext& context);
void grouped_query_inner_forward(LayerItems& items, const LayerContext& context);
void grouped_query_inner_backward(Backward& backward, const LayerContext& context);

/// Softmax attention with its context-parallel exchange: docs/models/context_parallel.md.
void core_forward(LayerItems& items, const LayerContext& context, const Core& core);
/// With selective recompute the forward runs again first.
void core_backward(Backward& backward, const LayerContext& context, const Core& core);

/// The core as kernels of its own: products, softmax and dropout over all scores.
/// Megatron-LM's causal softmax reads no score above the diagonal and writes all.
LayerItems unfused_forward(const Shape& shape, const Core& core, KernelSpec::Softmax softmax);
LayerItems unfused_backward(const Shape& shape, const Core& core, KernelSpec::Softmax softmax);

/// The gated or plain feed-forward of `width` hidden units, sharded over the tensor group.
void feed_forward_forward(LayerItems& items, const LayerContext& context, const std::string& name,
                          FeedForwardSpec::Kind kind, double width);
void feed_forward_backward(Backward& backward, const LayerContext& context, const std::string& name,
                           FeedForwardSpec::Kind kind, double width);
/// Its two halves: up projection with activation, and down projection.
void feed_forward_in(LayerItems& items, const LayerContext& context, const std::string& name,
                     FeedForwardSpec::Kind kind, double width);
void feed_forward_out(LayerItems& items, const LayerContext& context, const std::string& name,
                      double width);
void feed_forward_out_backward(Backward& backward, const LayerContext& context,
                               const std::string& name, FeedForwardSpec::Kind kind, double width);
void feed_forward_in_backward(Backward& backward, const LayerContext& context,
                              const std::string& name, FeedForwardSpec::Kind kind, double width);
Projections feed_forward_projections(const Shape& shape, const std::string& name,
                                     FeedForwardSpec::Kind kind, double width);
/// Products of the up projection: a gated unit makes gate and value in one.
double projections(FeedForwardSpec::Kind kind);
Operator activation_forward(std::string name, FeedForwardSpec::Kind kind, double count);
Operator activation_backward(std::string name, FeedForwardSpec::Kind kind, double count);

void moe_forward(LayerItems& items, const LayerContext& context);
void moe_backward(Backward& backward, const LayerContext& context);

void layer_forward(LayerItems& items, const LayerContext& context, LayerKind kind);
void layer_backward(Backward& backward, const LayerContext& context, LayerKind kind);
bool is_moe(const LayerContext& context, LayerKind kind);
/// A layer whose attention and feed-forward read the same (ModelSpec::Block other than serial).
void parallel_forward(LayerItems& items, const LayerContext& context);
void parallel_backward(Backward& backward, const LayerContext& context);
/// What `layernorm` of training.recompute runs again.
void norm_again(Backward& backward, const LayerContext& context, const char* name, double count);

void embedding_forward(LayerItems& items, const LayerContext& context);
void embedding_backward(Backward& backward, const LayerContext& context);

/// The loss over so many logits of the rank, and what its gradient launches.
void loss_forward(LayerItems& items, const LayerContext& context, double logits);
void loss_backward(Backward& backward, const LayerContext& context, double logits);

/// Final norm, head and loss.
void head_forward(LayerItems& items, const LayerContext& context);
void head_backward(Backward& backward, const LayerContext& context);

}  // namespace stepcast::rows
