#include <memory>
#include <utility>

#include "experts.hpp"
#include "stepcast/base/errors.hpp"

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

void group_rows(LayerItems& items, std::size_t from, const std::string& name, OperatorRole role,
                std::vector<RowFlow> flows) {
  expects(items.size() == from + flows.size(), "each statement of a group has its flow");
  const auto group =
      std::make_shared<const StatementGroup>(StatementGroup{name, role, 0, "y", {}, 0, false});
  for (std::size_t i = 0; i < flows.size(); ++i)
    std::get<Operator>(items[from + i]).flow = std::make_shared<const VectorFlow>(
        VectorFlow{std::move(flows[i].reads), flows[i].written, group, static_cast<int>(i)});
}

}  // namespace stepcast::rows
