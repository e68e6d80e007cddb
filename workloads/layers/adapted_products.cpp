#include "adapted_products.hpp"

// Adapters (LoRA): a product of few columns and one of few rows beside a frozen one. Forms of
// Megatron-Bridge and of peft: docs/models/adapters.md.
namespace stepcast::rows {

namespace {

/// One adapter on one rank: what it reads goes through `narrow` and then through `wide`.
struct Adapter {
  std::string name;
  Linear narrow, wide;
  double joined;  ///< elements of its output as it is scaled and added to that of the product
};

bool both(const Shape& shape) { return shape.adapters.split == AdapterSpec::Split::both; }

/// Peft's narrow result of a product that is split over its rows is scattered as that of the
/// product is.
bool scatters(const Shape& shape, Side side) {
  return side == Side::rows && !both(shape) && shape.sequence_parallel;
}

std::vector<Adapter> adapters_of(const Shape& shape, const Linear& linear, Side side) {
  const auto rank = static_cast<double>(shape.adapters.rank);
  const bool columns = side == Side::columns;
  constexpr bool bf16 = true;  // none of them is a product of Transformer Engine
  const double tokens = scatters(shape, side) ? linear.tokens / shape.tp : linear.tokens;
  std::vector<Adapter> adapters;
  for (const double out : linear.adapters) {
    std::string name = linear.name + " adapter";
    if (linear.adapters.size() > 1) name += " " + std::to_string(adapters.size() + 1);
    // Sizes of the product's own side are split already; with `both` the other matrix is split as
    // well.
    const double narrow = columns && both(shape) ? rank / shape.tp : rank;
    const double wide = !columns && both(shape) ? out / shape.tp : out;
    adapters.push_back({name,
                        {name + " in", linear.tokens, linear.in, narrow, bf16},
                        {name + " out", tokens, rank, wide, bf16},
                        (columns ? linear.tokens : shape.shard) * out});
  }
  return adapters;
}

Operator scale(const Adapter& adapter, const char* what) {
  return vector_row(adapter.name + what, adapter.joined, 2 * element * adapter.joined);
}

/// Under autocast layers of packed weights hand on what they read as it is (peft's
/// tuners/lora/bnb.py).
bool casts_input(const Shape& shape) {
  return shape.casts && shape.adapters.frozen == AdapterSpec::Frozen::bf16;
}

/// What an adapter reads, on its way there or back, where it is dropped or cast.
void read(LayerItems& items, const Shape& shape, const Adapter& adapter, const std::string& way) {
  const double count = adapter.narrow.tokens * adapter.narrow.in;
  const double size = casts_input(shape) ? fp32 : element;
  const auto cast = [&](const char* what) {
    if (casts_input(shape))
      items.push_back(vector_row(adapter.name + what + way, 0, (element + fp32) * count));
  };
  cast(" input to fp32");
  if (shape.adapters.dropout)
    items.push_back(
        vector_row(adapter.name + " dropout" + way, 2 * count, (2 * size + mask) * count));
  cast(" input to bf16");
}

Operator weights_cast(const Linear& linear, const char* way) {
  return vector_row(linear.name + " weights cast" + way, 0,
                    (element + fp32) * linear.in * linear.out);
}

/// A product of an adapter. Autocast casts what it reads inside the call of the product.
void multiply(LayerItems& items, const Shape& shape, const Linear& linear, bool cast_before) {
  Operator product = forward(linear);
  if (shape.casts) {
    items.push_back(weights_cast(linear, ""));
    std::get<Operator>(items.back()).in_call = cast_before;
    product.in_call = true;
  }
  items.push_back(std::move(product));
}

Operator added(const std::string& name, double count) {
  return vector_row(name, count, 3 * element * count);
}

/// Parts of ranks, side by side in every row.
void gather_columns(LayerItems& items, const Shape& shape, const std::string& name, double count) {
  communicate(items, "all_gather " + name, GroupKind::tensor, shape.tp, CollectiveKind::all_gather,
              element * count);
  if (shape.tp > 1) items.push_back(vector_row(name + " joined", 0, 2 * element * count));
}

void reduce_narrow(LayerItems& items, const Shape& shape, const std::string& name, double count,
                   CollectiveKind kind) {
  const bool scatter = kind == CollectiveKind::reduce_scatter;
  communicate(items, (scatter ? "reduce_scatter " : "all_reduce ") + name, GroupKind::tensor,
              shape.tp, kind, element * count);
}

}  // namespace

Linear adapted(Linear linear, const Shape& shape, AdapterPlace place,
               const std::vector<double>& parts) {
  const AdapterSpec& spec = shape.adapters;
  if (!spec.any()) return linear;
  if (spec.frozen != AdapterSpec::Frozen::bf16) linear.quantised = frozen_bytes(spec);
  const std::vector<std::size_t> chosen = adapted_parts(spec, place, parts.size());
  if (chosen.empty()) return linear;
  if (spec.products == AdapterSpec::Products::joined) linear.adapters = {linear.out};
  if (spec.products == AdapterSpec::Products::apart)
    for (const std::size_t part : chosen) linear.adapters.push_back(parts[part]);
  linear.lowest = shape.lowest && place == lowest_place(spec);
  return linear;
}

void adapters_forward(LayerItems& items, const Shape& shape, const Linear& linear, Side side) {
  const auto rank = static_cast<double>(shape.adapters.rank);
  for (const Adapter& adapter : adapters_of(shape, linear, side)) {
    read(items, shape, adapter, "");
    multiply(items, shape, adapter.narrow, casts_input(shape));
    // What the adapter exchanges has its rank as width, which is far less than the layer's.
    const double narrow = adapter.narrow.tokens * rank;
    if (side == Side::rows)
      reduce_narrow(
          items, shape, adapter.narrow.name, narrow,
          scatters(shape, side) ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce);
    else if (both(shape))
      gather_columns(items, shape, adapter.narrow.name, narrow);
    multiply(items, shape, adapter.wide, false);
    if (side == Side::rows && both(shape))
      gather_columns(items, shape, adapter.wide.name,
                     adapter.wide.tokens * adapter.wide.out * shape.tp);
    items.push_back(scale(adapter, " scale"));
    items.push_back(added(adapter.name + " sum", adapter.joined));
  }
}

void adapters_backward(Backward& backward, const Shape& shape, const Linear& linear, Side side) {
  const auto rank = static_cast<double>(shape.adapters.rank);
  const bool onward = !linear.lowest;
  for (const Adapter& adapter : adapters_of(shape, linear, side)) {
    const double narrow = adapter.narrow.tokens * rank;
    LayerItems items{scale(adapter, " scale backward")};
    // The output was gathered, and the rank kept its tokens.
    if (side == Side::rows && both(shape) && shape.sequence_parallel)
      communicate(items, "all_gather " + adapter.name + " gradient", GroupKind::tensor, shape.tp,
                  CollectiveKind::all_gather, element * linear.tokens * linear.out);
    items.push_back(input_gradient(adapter.wide));
    const std::string name = adapter.wide.name + " gradient";
    if (scatters(shape, side))
      communicate(items, "all_gather " + name, GroupKind::tensor, shape.tp,
                  CollectiveKind::all_gather, element * narrow);
    else if (side == Side::columns || both(shape))
      reduce_narrow(items, shape, name, narrow, CollectiveKind::all_reduce);
    backward.add_input(items);
    backward.add_trained(weight_gradient(adapter.wide, shape.gradient_bytes));
    if (onward) backward.add_input(input_gradient(adapter.narrow));
    backward.add_trained(weight_gradient(adapter.narrow, shape.gradient_bytes));
    if (shape.casts)
      for (const Linear* own : {&adapter.wide, &adapter.narrow})
        backward.add_trained(weights_cast(*own, " backward"));
    if (!onward) continue;
    const double count = adapter.narrow.tokens * adapter.narrow.in;
    items.clear();
    // With sequence parallelism it is reduced with that of the product.
    if (side == Side::columns && both(shape) && !shape.sequence_parallel)
      reduce_narrow(items, shape, adapter.narrow.name + " gradient", count,
                    CollectiveKind::all_reduce);
    read(items, shape, adapter, " backward");
    items.push_back(added(adapter.name + " gradient sum", count));
    backward.add_input(items);
  }
}

LayerItems dequantised(const Linear& linear) {
  if (linear.quantised <= 0) return {};
  const double weights = linear.in * linear.out;
  return {vector_row(linear.name + " weights to bf16", 2 * weights,
                     (linear.quantised + element) * weights)};
}

}  // namespace stepcast::rows
