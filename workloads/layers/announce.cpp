#include "experts.hpp"

namespace stepcast::rows {

namespace {

void tell(LayerItems& items, const char* name, GroupKind group, CollectiveKind kind, double bytes) {
  items.push_back(LayerCommunication{name, group, {kind, Bytes{bytes}}, false});
}

}  // namespace

void announce(LayerItems& items, const Experts& e) {
  if (e.ep <= 1 && !e.gathers()) return;
  if (e.context.moe.capacity_pad) return;  // every rank knows how many rows come
  const double pairs = e.copies;
  const bool gathers = e.context.moe.dispatch == MoeSpec::Dispatch::hierarchical_allgather;
  if (e.gathers()) {
    // expert numbers and router weights
    const double each = pairs * (fp32 + element);
    if (e.ep > 1)
      tell(items, "all_gather expert numbers", GroupKind::expert, CollectiveKind::all_gather,
           e.ep * each);
    if (e.etp > 1)
      tell(items, "all_gather expert numbers tensor", GroupKind::expert_tensor,
           CollectiveKind::all_gather, e.ep * e.etp * each);
  } else if (gathers && e.cut()) {
    tell(items, "all_gather expert numbers", GroupKind::expert_outer, CollectiveKind::all_gather,
         e.outer * pairs * fp32);
    if (e.inner > 1)
      tell(items, "all_to_all expert counts", GroupKind::expert_inner, CollectiveKind::all_to_all,
           fp32 * e.count / e.outer);
  } else {
    tell(items, "all_to_all expert counts", GroupKind::expert, CollectiveKind::all_to_all,
         fp32 * e.count);
  }
  items.push_back(HostReadback{"expert splits"});
  if (gathers && e.cut())
    tell(items, "all_gather router weights", GroupKind::expert_outer, CollectiveKind::all_gather,
         e.outer * pairs * element);
}

}  // namespace stepcast::rows
