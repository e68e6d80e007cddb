#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rows.hpp"
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
  /// Rows come in the order of their ranks; gathered tokens are selected in that of the experts.
  bool sorts() const {
    return ep > 1 && local > 1 && context.moe.dispatch != MoeSpec::Dispatch::allgather;
  }
  /// Whether expert groups are cut into several parts.
  bool cut() const { return outer > 1; }
  Linear router() const { return {"router", tokens, shape.hidden, count, true}; }
  Linear up() const {
    return {"experts up", rows / local, shape.hidden, projections(kind) * width};
  }
  Linear down() const { return {"experts down", rows / local, width, shape.hidden}; }
  Operator activation() const {
    return routed(activation_forward("experts activation", kind, rows * width));
  }

  const LayerContext& context;
  Shape shape;
  const ExpertSpec& spec;
  FeedForwardSpec::Kind kind;
  double ep, etp, top_k, count;
  double local;                 ///< that work in a step, of those on the rank
  double inner = 1, outer = 1;  ///< ranks of a part, parts of the expert group
  double tokens;                ///< that the rank sends
  double copies;                ///< (token, expert) pairs that the rank sends
  double rows;                  ///< pairs that it computes, after the gather over expert_tensor
  double width;
  bool hides;  ///< shared experts run beside the routed ones' exchange
};

/// One communication of an exchange with the work on its two sides.
struct Hop {
  LayerItems before;
  LayerCommunication call;
  LayerItems after;
};
using Hops = std::vector<Hop>;

/// From the ranks that hold tokens to those that hold their experts. `name` is `dispatch`, or
/// `combine backward`, whose gradients go the same way. No hops without an expert group.
Hops dispatch_hops(const Experts& experts, const std::string& name);
/// The way back: `combine` or `dispatch backward`.
Hops combine_hops(const Experts& experts, const std::string& name);
/// What ranks must tell each other before the dispatch, with the read-backs of the splits.
void announce(LayerItems& items, const Experts& experts);

/// Index of the hop that crosses between parts, which is what other work should hide.
std::size_t widest(const Hops& hops);

/// The products of the routed experts with what stands around them on the rank, forward and
/// backward; `weights`: with the weight gradient of the down projection.
void experts_forward(LayerItems& items, const Experts& experts);
void experts_backward(Backward& backward, const Experts& experts, bool weights);
/// Exchange and experts in `moe.pieces` pieces, overlapped with each other.
void pieces_forward(LayerItems& items, const LayerContext& context);
void pieces_backward(Backward& backward, const LayerContext& context);

/// Rows that a rank writes when it lines up its tokens for the dispatch, per token.
double permuted_rows(const Experts& experts);

}  // namespace stepcast::rows
