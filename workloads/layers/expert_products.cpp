#include <cmath>

#include "experts.hpp"

namespace stepcast::rows {

namespace {

bool sequential(const Experts& e) {
  return e.context.moe.products == MoeSpec::Products::sequential;
}

int experts_of(const Experts& e) { return static_cast<int>(std::lround(e.local)); }

/// The kernel of all experts, or that of one as often as there are experts.
LayerItems of_all(const Experts& e, const Operator& grouped, const Operator& single) {
  if (!sequential(e)) return {grouped};
  return LayerItems(static_cast<std::size_t>(experts_of(e)), routed(single));
}

/// Operands of so many rows, `times` times.
void copies(LayerItems& items, const Experts& e, const char* name, int times, double rows) {
  for (int i = 0; i < times; ++i) items.push_back(routed(vector_row(name, 0, e.row_bytes(rows))));
}

bool first(const Experts& e, const Linear& linear, bool backward) {
  return linear.name == (backward ? e.down() : e.up()).name;
}

}  // namespace

LayerItems products_forward(const Experts& e, const Linear& l) {
  const LayerItems items = of_all(e, grouped_forward(l, e.local), forward(l));
  if (!first(e, l, false)) return items;
  LayerItems arrived;
  for (const LayerItem& item : items) arrived.push_back(e.first(std::get<Operator>(item)));
  return arrived;
}

LayerItems products_backward(const Experts& e, const Linear& l) {
  const LayerItems items = of_all(e, grouped_input_gradient(l, e.local), input_gradient(l));
  if (!first(e, l, true)) return items;
  LayerItems arrived;
  for (const LayerItem& item : items) arrived.push_back(e.first(std::get<Operator>(item)));
  return arrived;
}

void add_weights(Backward& backward, const Experts& e, const Linear& l) {
  const double bytes = e.shape.gradient_bytes;
  const LayerItems items =
      of_all(e, grouped_weight_gradient(l, e.local, bytes), weight_gradient(l, bytes));
  for (const LayerItem& item : items) backward.add_weight(item);
}

LayerItems expert_activations(const Experts& e, bool backward) {
  const auto make = [&](double count) {
    const char* const name = "experts activation";
    return routed(backward ? activation_backward(name, e.kind, count)
                           : activation_forward(name, e.kind, count));
  };
  return of_all(e, make(e.rows * e.width), make(e.rows * e.width / e.local));
}

LayerItems expert_outputs(const Experts& e) {
  LayerItems items;
  if (!sequential(e)) return items;
  const int n = experts_of(e);
  copies(items, e, "experts output zeros", 1, e.rows);
  copies(items, e, "experts output copy", n, 2 * e.rows / n);
  if (!e.carries_bias()) return items;
  copies(items, e, "experts bias zeros", 1, e.rows);
  copies(items, e, "experts bias copy", n, e.rows / n);
  return items;
}

LayerItems expert_output_gradients(const Experts& e) {
  LayerItems items;
  if (!sequential(e)) return items;
  const int n = experts_of(e);
  // autograd copies the whole gradient for each assignment to a part (CopySlices)
  copies(items, e, "experts output gradient copy", n, 2 * e.rows);
  copies(items, e, "experts output gradient part", n, 2 * e.rows / n);
  copies(items, e, "experts output gradient clear", n, e.rows / n);
  if (!e.carries_bias()) return items;
  copies(items, e, "experts bias gradient copy", n, 2 * e.rows);
  copies(items, e, "experts bias gradient part", n, 2 * e.rows / n);
  copies(items, e, "experts bias gradient clear", n, e.rows / n);
  copies(items, e, "experts bias gradient sum", n, e.rows / n);
  return items;
}

LayerItems expert_input_gradients(const Experts& e) {
  LayerItems items;
  if (!sequential(e)) return items;
  const int n = experts_of(e);
  copies(items, e, "experts input gradient zeros", n, e.rows);
  copies(items, e, "experts input gradient part", n, 2 * e.rows / n);
  copies(items, e, "experts input gradient add", n - 1, 3 * e.rows);
  return items;
}

}  // namespace stepcast::rows
