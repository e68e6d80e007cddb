#include "dispatcher.hpp"

// The flex dispatcher of Megatron-Core by its libraries (docs/models/dispatchers.md). DeepEP's
// normal kernels (deepseek-ai/DeepEP v1.2.1): get_dispatch_layout, notify_dispatch, dispatch,
// cached_notify, combine. HybridEP's (branch hybrid-ep, 090de837), with its permutation in kernels
// apart.
namespace stepcast::rows {

namespace {

constexpr double number_bytes = 8;  ///< bytes of an expert number, int64

/// Queues are cleared, and all ranks have come.
void meet(LayerItems& items, const Experts& e, const char* name) {
  communicate(items, name, GroupKind::expert, e.ep, CollectiveKind::all_reduce, fp32 * e.ep);
}

constexpr double row_number = 4;  ///< bytes, int32

/// Kernels of one thread, and copies, that move nothing worth counting.
void put_small(LayerItems& items, const std::string& name, int kernels) {
  put(items, {name, {.kernels = kernels, .operators = 1}});
}

/// Rows that leave the node start in a buffer of the library, router weights beside them.
void copy_input(LayerItems& items, const Experts& e, const Exchange& x) {
  put_rows(items, e, x.name() + " input copy", {1}, 2 * e.tokens);
  if (x.role == CommunicationRole::dispatch)
    put(items, {x.name() + " weights copy", {1}, 2 * fp32 * e.tokens * e.count});
}

}  // namespace

// Every rank gets the masks of all, finds what goes where, and counts the rows of each expert. The
// host waits for the counts unless the step is a graph, which is captured with a number of rows.
void announce_hybridep(LayerItems& items, const Experts& e) {
  const double masks = e.ep * e.tokens * e.count;
  if (e.weight_bytes() < fp32)
    put(items, {"router weights to fp32", {1}, (e.weight_bytes() + fp32) * e.tokens * e.count});
  communicate(items, "all_gather expert masks", GroupKind::expert, e.ep, CollectiveKind::all_gather,
              masks);
  // a byte for each expert of the rank is left of the masks, a number for each rank made
  put(items, {"mask scan",
              {.kernels = 2, .operators = 1},
              masks + e.tokens * e.count + row_number * e.ep * e.tokens});
  put(items, {"row map", {1}, e.tokens * e.count + row_number * e.arrived_rows() * e.local});
  items.push_back(HostReadback{"expert splits"});
}

// Flags are counted up and ranks meet, the kernel moves the rows, ranks meet again.
void surround_hybridep(Hops& hops, const Experts& e, const Exchange& x) {
  LayerItems before;
  if (e.cut() && !x.back()) copy_input(before, e, x);
  put_small(before, x.name() + " flags", 2);
  LayerItems& first = hops.front().before;
  first.insert(first.begin(), before.begin(), before.end());
  put_small(hops.back().after, x.name() + " flags", 1);
  for (Hop& hop : hops) hop.call.algorithm = "one_sided";
}

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
