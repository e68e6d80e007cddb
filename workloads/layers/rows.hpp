#pragma once
#include <functional>
#include <optional>
#include <string>

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
  bool casts;   ///< adapters are FP32 and cast for their products (training.master_weights stored)
  bool lowest;  ///< LayerContext::lowest
  /// Of an FP8 step whose tensor ranks gather what products read; else they gather BF16.
  std::optional<TrainingSpec::Fp8Recipe> gathers_fp8;
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
/// The products before and behind something, on one rank.
struct Projections {
  Linear in, out;
};

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

}  // namespace stepcast::rows
