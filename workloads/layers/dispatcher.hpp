#pragma once
#include "statements.hpp"

/// Dispatchers of experts as the statements of their frameworks, by version:
/// docs/models/dispatchers.md. Private to workloads/layers.
namespace stepcast::rows {

/// What tells one version of a dispatcher from another.
struct DispatcherForm {
  enum class Routing { numbers, mask };           ///< what the router hands over, [n, k] or [n, E]
  enum class Counts { histogram, bincount };      ///< how tokens per expert are counted
  enum class Splits { blocking, mixed, queued };  ///< how splits get to the host
  /// Of arrived rows: by expert number, by chunks, by writing each for all of its experts, or by
  /// transposing blocks of one size.
  enum class Order { sort, chunks, expand, blocks };
  /// Applied behind the way back; sent with the rows, on their own; sent inside the library's rows.
  enum class Weights { behind, travel, inside };
  Platform platform;
  Routing routing;
  Counts counts;
  Splits splits;
  Order order;
  Weights weights;
  /// Masks, but rows of tensor ranks in parts as those sorted by number.
  bool trades_parts = false;
  bool hybrid = false;  ///< HybridEP, which gathers masks and writes into the memory of other ranks
  bool scores_again = false;  ///< the balancing loss makes scores and choice of its own
  /// Kernels of autograd's own in the backward pass, sums and casts of gradients that no statement
  /// names: counted less named, with the permutation in statements and in one kernel.
  int sums = 0, sums_fused = 0;

  /// Both hops are one kernel of a library, which also lines up rows and adds them up.
  bool library() const { return order == Order::expand; }
  /// Every expert takes a fixed number of rows from everyone, and nobody is told any number.
  bool fixed() const { return order == Order::blocks; }
  bool mask() const { return routing == Routing::mask; }
  /// Router weights are applied by the activation of the experts.
  bool weighs_inside() const { return weights != Weights::behind; }
};

/// Nothing for `moe.dispatcher: default`.
const DispatcherForm* form_of(MoeSpec::Dispatcher dispatcher);

// Each of these needs a form. What lines up the tokens of a rank for their exchange, with counts,
// splits and waits, and its gradient.
void prepare_rows(LayerItems& items, const Experts& e);
LayerItems prepare_rows_backward(const Experts& e);
/// What adds up the rows that came back, and its gradient.
LayerItems finish_rows(const Experts& e);
LayerItems finish_rows_backward(const Experts& e);

/// Arrived rows into the order of experts and back, and their gradients.
enum class Sort { forth, back, back_gradient, forth_gradient };
LayerItems order_rows(const Experts& e, const std::string& name, Sort sort);

// The same of DeepEP: layout and counts, what stands in front of every exchange but the first, and
// arrived rows for each of their experts.
void announce_deepep(LayerItems& items, const Experts& e);
LayerItems notify_deepep(const Experts& e, const std::string& name);
LayerItems expand_deepep(const Experts& e, const std::string& name, Sort sort);

// The same of HybridEP: gathered masks and what is made of them, and the kernels of its own around
// every exchange.
void announce_hybridep(LayerItems& items, const Experts& e);
void surround_hybridep(Hops& hops, const Experts& e, const Exchange& x);

// The same of MindFormers' blocks of a fixed size, and the choice of experts with the places in
// them.
void choose_places(LayerItems& items, const Experts& e, bool in_statements);
LayerItems choose_places_backward(const Experts& e);
void fill_blocks(LayerItems& items, const Experts& e);
LayerItems fill_blocks_backward(const Experts& e);
LayerItems empty_blocks(const Experts& e);
LayerItems empty_blocks_backward(const Experts& e);
LayerItems order_blocks(const Experts& e, const std::string& name, Sort sort);

// The same of the allgather dispatcher: expert numbers and weights, own pairs of the gathered
// tokens, and what adds up outputs. `outputs`: of the way on which outputs or their gradients go.
void announce_gather(LayerItems& items, const Experts& e);
LayerItems own_pairs(const Experts& e);
LayerItems own_pairs_backward(const Experts& e);
LayerItems gathered_outputs(const Experts& e);
LayerItems gathered_outputs_backward(const Experts& e);

}  // namespace stepcast::rows
