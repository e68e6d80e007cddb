#include <cmath>
#include <utility>

#include "dispatcher.hpp"
#include "feed_forward.hpp"

namespace stepcast::rows {

namespace {

bool sequential(const Experts& e) {
  return e.context.moe.products == MoeSpec::Products::sequential;
}

int experts_of(const Experts& e) { return static_cast<int>(std::lround(e.local)); }

/// The kernel of all experts, or that of one as often as there are experts. With equal rows it may
/// be the library's product of batches.
LayerItems of_all(const Experts& e, Operator grouped, const Operator& single) {
  if (e.context.moe.products == MoeSpec::Products::batched)
    if (auto* work = std::get_if<GroupedMatmulWork>(&grouped.work)) work->batched = true;
  if (!sequential(e)) return {std::move(grouped)};
  return LayerItems(static_cast<std::size_t>(experts_of(e)), routed(single));
}

/// Side by side on several streams a product of each expert fills the device as one kernel of all
/// does, but each has a launch of its own.
LayerItems launched(const Experts& e, LayerItems products) {
  if (e.context.moe.products != MoeSpec::Products::multi_stream) return products;
  Operator call = std::get<Operator>(products.front());
  call.name += " launch";
  call.work = MemoryBoundWork{};
  call.flops = Flops{0};
  call.bytes = Bytes{0};
  call.fp8 = Fp8::none;
  call.accumulated = 0;
  call.weights = 0;
  call.in_call = true;
  products.insert(products.end(), static_cast<std::size_t>(experts_of(e) - 1), call);
  return products;
}

/// Operands of so many rows, `times` times.
void copies(LayerItems& items, const Experts& e, const char* name, int times, double rows) {
  for (int i = 0; i < times; ++i) items.push_back(routed(vector_row(name, 0, e.row_bytes(rows))));
}

Linear linear(const Experts& e, ExpertProduct product) {
  switch (product) {
    case ExpertProduct::up:
      return e.up();
    case ExpertProduct::down:
      break;
  }
  return e.down();
}

/// Products right behind an exchange take its rows as they arrive.
LayerItems arrived(const Experts& e, const LayerItems& products) {
  LayerItems items;
  for (const LayerItem& item : products) items.push_back(e.first(std::get<Operator>(item)));
  return items;
}

Operator of_weights(Operator op) {
  op.role = OperatorRole::expert_weight_gradient;
  return op;
}

bool with_activation(const Experts& e) {
  return e.context.moe.products == MoeSpec::Products::fused;
}

/// Bytes of an element in MXFP8, as it stands and along the other side, with their scales.
constexpr double mx_copies = 2 * (1 + 1.0 / 32);

/// Transformer Engine's kernels of a whole feed-forward part (ops/fused/grouped_mlp.py): a product
/// in front of the activation, or of its gradient, does that and writes what the next one reads in
/// MXFP8. What the first wrote stays in BF16 for the backward pass.
Operator with_neighbours(const Experts& e, Operator op, ExpertProduct product) {
  if (!with_activation(e)) return op;
  op.ordered = true;
  const bool up = product == ExpertProduct::up;
  const double wide = projections(e.kind) * e.width, rows = e.rows;
  if (op.accumulated > 0) return op;
  if (!op.input_gradient) {
    if (!up) op.fp8 = Fp8::ready;
    if (up) op.bytes = Bytes{op.bytes.value() + mx_copies * rows * e.width};
    return op;
  }
  if (up) op.fp8 = Fp8::ready;
  // the gradient of the outputs of the activation is never written; what it read is
  if (!up)
    op.bytes =
        Bytes{op.bytes.value() + rows * (element * wide + mx_copies * wide - element * e.width)};
  return op;
}

}  // namespace

LayerItems products_forward(const Experts& e, ExpertProduct product) {
  const Linear l = linear(e, product);
  const LayerItems items =
      launched(e, of_all(e, with_neighbours(e, grouped_forward(l, e.local), product), forward(l)));
  return product == ExpertProduct::up ? arrived(e, items) : items;
}

LayerItems products_backward(const Experts& e, ExpertProduct product) {
  const Linear l = linear(e, product);
  const LayerItems items =
      launched(e, of_all(e, with_neighbours(e, grouped_input_gradient(l, e.local), product),
                         input_gradient(l)));
  return product == ExpertProduct::down ? arrived(e, items) : items;
}

void add_weights(Backward& backward, const Experts& e, ExpertProduct product) {
  // Weight gradients may wait for the next micro-batch or the zero-bubble unit, and so are added
  // apart from input gradients.
  const Linear l = linear(e, product);
  const double bytes = e.shape.gradient_bytes;
  const LayerItems items = launched(
      e,
      of_all(e, of_weights(with_neighbours(e, grouped_weight_gradient(l, e.local, bytes), product)),
             of_weights(weight_gradient(l, bytes))));
  for (const LayerItem& item : items) backward.add_weight(item);
}

LayerItems expert_activations(const Experts& e, bool backward) {
  if (with_activation(e)) return {};
  const auto make = [&](double count) {
    const char* const name = "experts activation";
    return routed(backward ? activation_backward(name, e.kind, count)
                           : activation_forward(name, e.kind, count));
  };
  LayerItems items = of_all(e, make(e.rows * e.width), make(e.rows * e.width / e.local));
  const bool apart = e.form != nullptr && e.form->npu && e.form->weighs_inside();
  if (!apart) return items;
  // product with the weights in FP32 and cast; backward a cast, two products and their sum
  const double count = element * e.rows * e.width;
  put(items, {"experts weigh", {backward ? 4 : 2}, (backward ? 12 : 6) * count});
  return items;
}

namespace {

/// Newer versions cut views and join the parts with one statement.
bool joins(const Experts& e) {
  return e.form != nullptr && e.form->order == DispatcherForm::Order::chunks;
}

LayerItems join(const Experts& e, const char* name) {
  LayerItems items;
  copies(items, e, name, 1, 2 * e.rows);
  return items;
}

/// The bias of outputs is left to statements for each expert (Megatron-LM,
/// TEGroupedMLP._apply_bias: `t + b * p`, joined), whatever brings the rows, but not by versions
/// that weigh elsewhere, and not where the framework carries the bias beside the outputs.
bool adds_biases(const Experts& e) {
  const bool side_by_side = e.context.moe.products == MoeSpec::Products::multi_stream;
  const bool elsewhere = e.form != nullptr && (e.form->npu || !e.form->weighs_inside());
  return side_by_side && !elsewhere && !e.carries_bias() &&
         e.context.model.bias == ModelSpec::Bias::all;
}

/// Bytes for each element of the outputs, by `kernels` of about the same size.
void of_biases(LayerItems& items, const Experts& e, const char* name, int kernels, double bytes) {
  put(items, {std::string{"experts bias "} + name, {kernels}, bytes * e.rows * e.shape.hidden});
}

/// The result is of the type of the router weights.
LayerItems biases_added(const Experts& e) {
  LayerItems items;
  const double wide = e.weight_bytes();
  const int n = experts_of(e);
  of_biases(items, e, "weigh", n, wide);
  of_biases(items, e, "add", n, element + 2 * wide);
  of_biases(items, e, "join", 1, 2 * wide);
  if (wide > element) of_biases(items, e, "cast", 1, wide + element);
  return items;
}

/// Of each bias and each weight a product and its sum; the gradients of both biases of an expert
/// are added to those of earlier micro-batches.
LayerItems biases_added_backward(const Experts& e) {
  LayerItems items;
  const double wide = e.weight_bytes();
  const int n = experts_of(e);
  if (wide > element) {
    of_biases(items, e, "cast backward", 1, wide + element);
    of_biases(items, e, "add backward", n, wide + element);
  }
  of_biases(items, e, "weigh backward", 4 * n, 6 * wide);
  of_biases(items, e, "split backward", 1, 2 * element);
  const double biases = e.local * (e.shape.hidden + projections(e.kind) * e.width);
  put(items,
      {"experts bias accumulation", {2 * n}, (element + 2 * e.shape.gradient_bytes) * biases});
  return items;
}

}  // namespace

LayerItems expert_outputs(const Experts& e) {
  if (adds_biases(e)) return biases_added(e);
  LayerItems items;
  if (!sequential(e)) return items;
  if (joins(e)) return join(e, "experts output join");
  // One by one, each expert's output is a slice that is copied into a tensor of zeros.
  const int n = experts_of(e);
  copies(items, e, "experts output zeros", 1, e.rows);
  copies(items, e, "experts output copy", n, 2 * e.rows / n);
  if (!e.carries_bias()) return items;
  copies(items, e, "experts bias zeros", 1, e.rows);
  copies(items, e, "experts bias copy", n, e.rows / n);
  return items;
}

LayerItems expert_output_gradients(const Experts& e) {
  if (adds_biases(e)) return biases_added_backward(e);
  LayerItems items;
  if (!sequential(e) || joins(e)) return items;
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
  if (joins(e)) return join(e, "experts input gradient join");
  // Autograd adds up a gradient of full size for each slice: zeros, the part, and an addition for
  // all but the first.
  const int n = experts_of(e);
  copies(items, e, "experts input gradient zeros", n, e.rows);
  copies(items, e, "experts input gradient part", n, 2 * e.rows / n);
  copies(items, e, "experts input gradient add", n - 1, 3 * e.rows);
  return items;
}

// Transformer Engine's Fp8Padding and Fp8Unpadding around the experts of Megatron-LM.
LayerItems expert_padding(const Experts& e, const char* name, bool weights) {
  LayerItems items;
  if (!e.context.moe.pads_rows) return items;
  copies(items, e, name, 1, 2 * e.rows);
  if (weights)
    items.push_back(
        routed(vector_row(std::string{name} + " weights", 0, 2 * e.weight_bytes() * e.rows)));
  return items;
}

}  // namespace stepcast::rows
