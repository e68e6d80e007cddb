#pragma once
#include <ostream>
#include <string>

#include "lowering_fixtures.hpp"

/// Layers of a dispatcher and what they launch and move.
namespace stepcast::dispatchers {

using namespace lowering;
using Dispatcher = MoeSpec::Dispatcher;
using Dispatch = MoeSpec::Dispatch;

/// Several experts on each of four ranks, softmax router with a balancing loss in statements.
inline WorkloadSpec spec_of(Dispatcher dispatcher, Dispatch dispatch = Dispatch::flat,
                            bool fused = false) {
  WorkloadSpec spec = workload(small_moe());
  spec.model.moe->shared_experts = 0;
  spec.plan.tp = 2;
  spec.plan.sequence_parallel = true;
  spec.plan.dp = 2;
  spec.plan.ep = 4;
  spec.moe.dispatcher = dispatcher;
  spec.moe.dispatch = dispatch;
  spec.moe.permutation = fused ? MoeSpec::Permutation::fused : MoeSpec::Permutation::indexed;
  spec.moe.router.aux_loss = true;
  spec.runtime.kernels.router = fused ? KernelSpec::Router::fused : KernelSpec::Router::statements;
  return spec;
}

struct Counts {
  int kernels = 0, copies = 0, waits = 0;
  bool operator==(const Counts&) const = default;
};

inline void PrintTo(const Counts& c, std::ostream* out) {
  *out << c.kernels << " kernels, " << c.copies << " copies, " << c.waits << " waits";
}

/// Between the norm or residual of the layer and the next: without products.
inline Counts count(const LayerItems& items, const std::string& from, const std::string& until) {
  Counts counts;
  bool inside = from.empty();
  for (const LayerItem& item : items) {
    if (const auto* op = std::get_if<Operator>(&item)) {
      if (op->name == until) break;
      if (op->name == from) {
        inside = true;
        continue;
      }
      if (!inside) continue;
      const bool product = !std::holds_alternative<MemoryBoundWork>(op->work);
      const bool to_host = op->name.ends_with(" to host") && !op->name.ends_with("device to host");
      counts.copies += to_host ? 1 : 0;
      counts.kernels += product || op->name.ends_with(" to host") ? 0 : 1;
    } else if (inside) {
      counts.kernels += std::holds_alternative<LayerCommunication>(item) ? 1 : 0;
      counts.waits += std::holds_alternative<HostReadback>(item) ? 1 : 0;
    }
  }
  return counts;
}

inline Counts forward_of(const WorkloadSpec& spec) {
  return count(transformer_layer(context(spec), LayerKind::moe).forward, "feed-forward norm",
               "feed-forward residual");
}
inline Counts backward_of(const WorkloadSpec& spec) {
  return count(transformer_layer(context(spec), LayerKind::moe).backward, "",
               "feed-forward norm backward");
}

inline double row_bytes(const LayerItems& items, const std::string& prefix) {
  double sum = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item); op && op->name.starts_with(prefix))
      sum += op->bytes.value();
  return sum;
}

}  // namespace stepcast::dispatchers
