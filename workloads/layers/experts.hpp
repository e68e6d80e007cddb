#pragma once
#include <functional>
#include <string>
#include <vector>

#include "feed_forward.hpp"
#include "stepcast/workloads/dispatcher_form.hpp"
#include "stepcast/workloads/expert_loads.hpp"

/// Routed experts on one rank, and the ways to reach them. docs/models/expert_parallel.md. Private
/// to workloads/layers.
namespace stepcast::rows {

/// Marks an operator whose shape follows from the routing.
inline Operator routed(Operator op) {
  op.routed = true;
  return op;
}

/// Sizes of the routed experts on one rank, for one of `pieces` equal parts of its tokens.
struct Experts {
  Experts(const LayerContext& layer, double pieces);

  double shared_width() const {
    return static_cast<double>(spec.shared_experts * spec.shared_hidden);
  }
  double row_bytes(double n) const { return element * n * shape.hidden; }
  /// Rows travel to the experts in FP8, which FP8 products take as they are.
  bool arrives_in_fp8() const { return ep > 1 && context.moe.wire == MoeSpec::Wire::fp8; }
  /// The first product behind the exchange.
  Operator first(Operator product) const {
    if (arrives_in_fp8()) product.fp8 = Fp8::ready;
    return product;
  }
  /// Of rows on their way to the experts.
  double wire_bytes(double n) const;
  /// Of rows on their way back from them.
  double back_bytes(double n) const;
  /// All tokens of the ranks that hold the same or other experts are gathered.
  bool gathers() const {
    return context.moe.dispatch == MoeSpec::Dispatch::allgather && (ep > 1 || etp > 1);
  }
  bool indexed() const { return context.moe.permutation == MoeSpec::Permutation::indexed; }
  /// Rows come in the order of their ranks; one kernel selects gathered tokens in that of the
  /// experts. The framework sorts wherever there is more than one expert.
  bool sorts() const { return local > 1 && (indexed() || (ep > 1 && !gathers())); }
  /// Rows that are sorted: the framework sorts its part before tensor ranks share it.
  double sorted_rows() const { return indexed() && !gathers() ? rows / sharers : rows; }
  /// Gathered tokens; indexed kernels of the framework carry a bias per row beside the outputs.
  double gathered() const { return ep * etp * tokens; }
  bool carries_bias() const {
    return gathers() && indexed() && form == nullptr && context.model.bias == ModelSpec::Bias::all;
  }
  /// Bytes of a router weight.
  double weight_bytes() const {
    return context.moe.router.precision == RouterSpec::Precision::fp32 ? 4 : element;
  }
  /// Versions that apply router weights inside the experts reduce outputs in the weights' type.
  bool outputs_in_fp32() const;
  /// Whether a token goes to each rank once, however many of its experts are there.
  bool deduplicates() const;
  /// Whether sums over a token's outputs are weighed where the token is: gradients of its weights
  /// are known as soon as that of the sum.
  bool weighs_at_home() const;
  double reached_ranks() const;  ///< by a token, of the expert group
  /// Parts that a token goes to where each has `load` times the share that it has without drops.
  double reached_parts(double load) const;
  /// Loads of the group's ranks over their mean; empty where all are alike.
  std::vector<double> rank_shares() const;
  /// Rows that arrive, before they are copied for each of their experts.
  double arrived_rows() const;
  /// Each rank of a tensor group exchanges the rows of all its tokens.
  bool whole() const { return !context.moe.group_wise_a2a; }
  /// Whether expert groups are cut into several parts.
  bool cut() const { return outer > 1; }
  Linear router() const { return {"router", tokens, shape.hidden, count, true}; }
  Linear up() const {
    return {"experts up", rows / local, shape.hidden, projections(kind) * width};
  }
  Linear down() const { return {"experts down", rows / local, width, shape.hidden}; }

  const LayerContext& context;
  Shape shape;
  const ExpertSpec& spec;
  const DispatcherForm* form;  ///< nothing: `moe.dispatcher: default`
  FeedForwardSpec::Kind kind;
  double ep, etp;
  double sharers;  ///< tensor ranks whose rows it computes; 1 where each exchanges all of them
  double top_k, count;
  double local;                 ///< that work in a step, of those on the rank
  double inner = 1, outer = 1;  ///< ranks of a part, parts of the expert group
  double tokens;                ///< that the rank sends
  double kept;                  ///< part of its (token, expert) pairs that are not dropped
  double copies;                ///< pairs that the rank sends
  double rows;                  ///< pairs that it computes, after the gather over expert_tensor
  double width;
  bool hides;  ///< shared experts run beside the routed ones' exchange
};

/// One communication of an exchange with the work on its two sides.
struct Hop {
  LayerItems before;
  LayerCommunication call;
  LayerItems after;
  bool with_next = false;  ///< one kernel does this hop and the next
};
using Hops = std::vector<Hop>;

/// One of the four exchanges of tokens, or a piece of it.
struct Exchange {
  CommunicationRole role;
  std::int64_t piece = 0, pieces = 0;  ///< 0 pieces: the whole exchange

  /// Rows go from experts to the ranks that hold the tokens: `combine`, or `dispatch_backward`.
  /// Those of `dispatch` and `combine_backward` go to the experts.
  bool back() const {
    return role == CommunicationRole::combine || role == CommunicationRole::dispatch_backward;
  }
  /// Rows are outputs of experts, or their gradients, which router weights scale.
  bool of_outputs() const {
    return role == CommunicationRole::combine || role == CommunicationRole::combine_backward;
  }
  std::string name() const;  ///< in reports: `combine backward 2/4`
};
/// The communications of an exchange, first to last. No hops without an expert group.
Hops exchange_hops(const Experts& experts, const Exchange& exchange);
/// The router: gate, choice and losses. docs/models/dispatchers.md.
void router_forward(LayerItems& items, const Experts& experts);
void router_backward(Backward& backward, const Experts& experts);
/// What ranks must tell each other before the dispatch, with the read-backs of the splits.
void announce(LayerItems& items, const Experts& experts);

/// Index of the hop that crosses between parts, which is what other work should hide.
std::size_t widest(const Hops& hops);

/// Rows of tokens moved by the kernels of the framework (`moe.permutation: indexed`), each with the
/// bytes of its operands; indices are left out. docs/models/operators.md.
/// Rows chosen by index, also the gradient of `place_rows`.
void select_rows(LayerItems& items, const Experts& experts, const std::string& name, double rows);
/// Rows put in their places among zeros.
void place_rows(LayerItems& items, const Experts& experts, const std::string& name, double rows);
/// Rows added to zeros of so many tokens, also the gradient of `select_rows`.
void add_rows(LayerItems& items, const Experts& experts, const std::string& name, double rows,
              double tokens);
/// Rows times their router weights; `sources` rows are read: those, or one per token.
void weigh_rows(LayerItems& items, const Experts& experts, const std::string& name, double rows);
void weigh_rows_backward(LayerItems& items, const Experts& experts, const std::string& name,
                         double rows, double sources);
/// The statements from the index `from` on are what a fuser may make one kernel of, `name` in
/// `role`: a permutation and its inverse gather, so that zeros and sums into them can be left out.
/// The value 'y' is its result.
struct RowFlow {
  std::vector<VectorFlow::Operand> reads;
  VectorFlow::Operand written;
};
void group_rows(LayerItems& items, std::size_t from, const std::string& name, OperatorRole role,
                std::vector<RowFlow> flows);

/// What the experts of the rank do, in one kernel or one expert after the other
/// (`moe.experts: sequential`).
enum class ExpertProduct { up, down };
LayerItems products_forward(const Experts& experts, ExpertProduct product);
LayerItems products_backward(const Experts& experts, ExpertProduct product);
void add_weights(Backward& backward, const Experts& experts, ExpertProduct product);
LayerItems expert_activations(const Experts& experts, bool backward);
/// Copies between the rows of one expert and those of all, where experts work one by one: outputs
/// are written into a tensor of zeros, inputs are parts of one tensor (Megatron-LM, SequentialMLP).
LayerItems expert_outputs(const Experts& experts);
LayerItems expert_output_gradients(const Experts& experts);
LayerItems expert_input_gradients(const Experts& experts);
/// Rows of each expert are copied to a multiple of what FP8 products take, router weights beside
/// them, or cut again, where the scenario says so.
LayerItems expert_padding(const Experts& experts, const char* name, bool weights);

inline constexpr const char* shared_name = "shared expert";

/// The products of the routed experts with what stands around them on the rank, forward and
/// backward; `weights`: with the weight gradient of the down projection.
void experts_forward(LayerItems& items, const Experts& experts);
void experts_backward(Backward& backward, const Experts& experts, bool weights);
/// Exchange and experts in `moe.pieces` pieces, overlapped with each other.
void pieces_forward(LayerItems& items, const LayerContext& context);
void pieces_backward(Backward& backward, const LayerContext& context);

/// The routed experts from lining up tokens for the dispatch to adding up what the combine brings;
/// backward the other way round, with what runs `beside` behind the gradients of that sum.
void routed_forward(LayerItems& items, const Experts& experts);
void routed_backward(Backward& backward, const Experts& experts,
                     const std::function<void()>& beside);

/// Rows that a rank writes when it lines up its tokens for the dispatch, per token.
double permuted_rows(const Experts& experts);

}  // namespace stepcast::rows
