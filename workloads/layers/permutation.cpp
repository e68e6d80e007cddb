#include "experts.hpp"

namespace stepcast::rows {

namespace {

/// A kernel that moves so many rows, read and written.
void move(LayerItems& items, const Experts& e, const std::string& name, double rows,
          double flops = 0, VectorKind kind = VectorKind::elementwise) {
  items.push_back(routed(vector_row_of(kind, name, flops, e.row_bytes(rows))));
}

}  // namespace

void select_rows(LayerItems& items, const Experts& e, const std::string& name, double rows) {
  move(items, e, name + " select", 2 * rows, 0, VectorKind::gather);
}

void place_rows(LayerItems& items, const Experts& e, const std::string& name, double rows) {
  move(items, e, name + " zeros", rows);
  move(items, e, name + " place", 2 * rows, 0, VectorKind::gather);
}

void add_rows(LayerItems& items, const Experts& e, const std::string& name, double rows,
              double tokens) {
  move(items, e, name + " zeros", tokens);
  move(items, e, name + " add", 3 * rows, rows * e.shape.hidden, VectorKind::scatter_add);
}

void weigh_rows(LayerItems& items, const Experts& e, const std::string& name, double rows) {
  move(items, e, name + " weigh", 2 * rows, rows * e.shape.hidden);
}

void weigh_rows_backward(LayerItems& items, const Experts& e, const std::string& name, double rows,
                         double sources) {
  const double flops = rows * e.shape.hidden;
  move(items, e, name + " weigh", sources + rows, flops);
  move(items, e, name + " weight gradient", sources + 2 * rows, flops);
  move(items, e, name + " weight sum", rows, flops);
}

}  // namespace stepcast::rows
