#pragma once
#include "stepcast/workloads/training_spec.hpp"

namespace stepcast {

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
  bool npu;
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

/// The form of a version: docs/models/dispatchers.md. Nothing for `moe.dispatcher: default`.
const DispatcherForm* form_of(MoeSpec::Dispatcher dispatcher);

}  // namespace stepcast
