#include "dispatcher.hpp"

// DeepEP's normal kernels (deepseek-ai/DeepEP v1.2.1): get_dispatch_layout, notify_dispatch,
// dispatch, cached_notify, combine. docs/models/dispatchers.md.
namespace stepcast::rows {

namespace {

constexpr double number_bytes = 8;  ///< bytes of an expert number, int64

/// Queues are cleared, and all ranks have come.
void meet(LayerItems& items, const Experts& e, const char* name) {
  communicate(items, name, GroupKind::expert, e.ep, CollectiveKind::all_reduce, fp32 * e.ep);
}

}  // namespace

void announce_deepep(LayerItems& items, const Experts& e) {
  put(items, {"dispatch layout", {1}, number_bytes * e.copies + e.tokens * e.ep});
  communicate(items, "notify dispatch", GroupKind::expert, e.ep, CollectiveKind::all_reduce,
              fp32 * e.count);
  items.push_back(HostReadback{"expert splits"});  // the host spins on the counts
}

LayerItems notify_deepep(const Experts& e, const std::string& name) {
  LayerItems items;
  meet(items, e, (name + " notify").c_str());
  return items;
}

// A row arrives once for all experts of its rank: it is written for each of them and their outputs
// are added up. The place of each is made once, by HybridEP before its rows travel.
LayerItems expand_deepep(const Experts& e, const std::string& name, Sort sort) {
  LayerItems items;
  if (sort == Sort::forth && !e.form->hybrid)
    put(items, {name + " map", {2}, 2 * number_bytes * e.rows});
  const bool added = sort == Sort::back || sort == Sort::forth_gradient;
  put_rows(items, e, name + (added ? " reduce" : " expand"), {1}, e.arrived_rows() + e.rows,
           VectorKind::gather);
  return items;
}

}  // namespace stepcast::rows
