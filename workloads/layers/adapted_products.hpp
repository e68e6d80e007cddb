#pragma once
#include "rows.hpp"

/// Private to workloads/layers.
namespace stepcast::rows {

/// The product with its adapters, where it has some: one, or one for each of those of its `parts`
/// that are targets.
Linear adapted(Linear linear, const Shape& shape, AdapterPlace place,
               const std::vector<double>& parts);
/// Which side of a product is spread over tensor ranks.
enum class Side { columns, rows };
/// Adapters beside a product whose input, and whose output's gradient, are there.
void adapters_forward(LayerItems& items, const Shape& shape, const Linear& linear, Side side);
/// With the gradient of their input, but for a product that is the lowest.
void adapters_backward(Backward& backward, const Shape& shape, const Linear& linear, Side side);
/// Weights that are kept in fewer bytes, made BF16 for one product; nothing for others.
LayerItems dequantised(const Linear& linear);

}  // namespace stepcast::rows
