#include "statements.hpp"

#include <algorithm>
#include <utility>

namespace stepcast::rows {

namespace {

/// A handful of numbers: the launch is all that it costs.
Operator copy_to_host(const Statement& s) {
  Operator copy = vector_row(s.name + " to host", 0, fp32);
  copy.in_call = s.calls.operators > 0;
  return copy;
}

void put_marked(LayerItems& items, const Statement& s, bool is_routed) {
  // Kernels, copies and waits of a statement take turns, since the host waits behind the copy that
  // it waits for.
  const int turns = std::max({s.calls.kernels, s.calls.copies, s.calls.waits});
  for (int i = 0; i < turns; ++i) {
    if (i < s.calls.kernels) {
      Operator op = vector_row_of(s.kind, s.name, 0, s.bytes / s.calls.kernels);
      op.routed = is_routed;
      op.in_call = s.calls.in_call(i);
      items.push_back(std::move(op));
    }
    if (i < s.calls.copies) items.push_back(copy_to_host(s));
    if (i < s.calls.waits) items.push_back(HostReadback{s.name});
  }
}

}  // namespace

void put(LayerItems& items, const Statement& statement) { put_marked(items, statement, false); }

void put_rows(LayerItems& items, const Experts& e, std::string name, Calls calls, double rows,
              VectorKind kind) {
  put_marked(items, {std::move(name), calls, e.row_bytes(rows), kind}, true);
}

}  // namespace stepcast::rows
