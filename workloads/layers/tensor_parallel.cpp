#include "tensor_parallel.hpp"

#include "../fp8_scales.hpp"
#include "adapted_products.hpp"

// Products whose columns or rows are spread over the tensor ranks, and what those exchange.
namespace stepcast::rows {

namespace {

/// Rows of the product in one of the shape's pieces.
Linear piece_of(const Linear& linear, const Shape& shape) {
  Linear piece = linear;
  piece.tokens /= static_cast<double>(shape.chunks);
  return piece;
}

/// One call launches the pieces of a product, all behind the first in a loop of the library.
Operator in_call(Operator product, std::int64_t piece, const Shape& shape) {
  product.in_call |= piece > 0;
  std::get<MatmulWork>(product.work).pieces = static_cast<double>(shape.chunks);
  return product;
}

std::string piece_name(const std::string& name, std::int64_t piece, const Shape& shape) {
  return shape.chunks == 1 ? name : name + of_pieces(piece, shape.chunks);
}

CommunicationId piece_id(CommunicationRole role, std::int64_t piece) {
  return {.role = role, .piece = piece};
}

/// An exchange of one piece, beside the product of another.
LayerCommunication beside_product(std::string name, CommunicationId id, CollectiveKind kind,
                                  double bytes) {
  LayerCommunication call = overlapped(std::move(name), id, GroupKind::tensor, kind, bytes);
  call.kernel = ExchangeKernel::pieces;
  return call;
}

/// Gathers in pieces, all started first, each waited for by its part of the product.
template <class Put, class Product>
void gather_then(const Put& put, const Shape& shape, const std::string& name,
                 CommunicationRole role, double bytes, const Product& product) {
  const auto pieces = static_cast<double>(shape.chunks);
  for (std::int64_t p = 0; p < shape.chunks; ++p)
    put(beside_product(piece_name(name, p, shape), piece_id(role, p), CollectiveKind::all_gather,
                       bytes / pieces));
  for (std::int64_t p = 0; p < shape.chunks; ++p) {
    put(WaitFor{piece_id(role, p)});
    put(in_call(product, p, shape));
  }
}

/// Partial sums, or gradients of one input, into one.
Operator summed(const std::string& name, double tokens, double width) {
  const double count = tokens * width;
  return vector_row(name, count, 3 * element * count);
}

void append(LayerItems& items, const LayerItems& more) {
  items.insert(items.end(), more.begin(), more.end());
}

double input_bytes(const Linear& linear) { return element * linear.tokens * linear.in; }
double output_bytes(const Linear& linear) { return element * linear.tokens * linear.out; }

using Fp8Recipe = TrainingSpec::Fp8Recipe;

bool gathers_fp8(const Shape& shape, const Linear& linear) {
  return shape.gathers_fp8 && linear.fp8(Fp8::casts) != Fp8::none;
}

/// The copy along the other side is made of what was gathered; with a scale for each group of
/// numbers it is gathered, too.
bool transposes(const Shape& shape, const Linear& linear) {
  return gathers_fp8(shape, linear) &&
         (*shape.gathers_fp8 == Fp8Recipe::delayed || *shape.gathers_fp8 == Fp8Recipe::tensorwise);
}

/// Part of the bytes in BF16 that a gather of one copy moves, with its scales.
double gathered_part(const Shape& shape, const Linear& linear) {
  if (!gathers_fp8(shape, linear)) return 1;
  double scales = 0;
  if (*shape.gathers_fp8 == Fp8Recipe::blockwise) scales = tile_scale;
  if (*shape.gathers_fp8 == Fp8Recipe::mxfp8) scales = mx_scale;
  return (1 + scales) / element;
}

double gathered_input(const Shape& shape, const Linear& linear) {
  return gathered_part(shape, linear) * input_bytes(linear);
}

/// Products for inputs and for weights read the gradient in orders of their own.
double gathered_gradient(const Shape& shape, const Linear& linear) {
  const bool both = gathers_fp8(shape, linear) && !transposes(shape, linear);
  return (both ? 2 : 1) * gathered_part(shape, linear) * output_bytes(linear);
}

/// Each rank casts its own rows before they are gathered: a product of no columns. One scale for
/// all needs the maximum of all.
template <class Put>
void cast_own(const Put& put, const Shape& shape, const Linear& linear, Operator product) {
  if (!gathers_fp8(shape, linear)) return;
  LayerItems agreed;
  if (*shape.gathers_fp8 == Fp8Recipe::tensorwise)
    communicate(agreed, "all_reduce " + product.name + " maximum", GroupKind::tensor, shape.tp,
                CollectiveKind::all_reduce, single_bytes);
  for (const LayerItem& item : agreed) put(item);
  auto& work = std::get<MatmulWork>(product.work);
  work.m /= shape.tp;
  work.n = 0;
  product.flops = Flops{0};
  product.bytes = Bytes{0};
  product.weights = 0;
  put(product);
}

/// A product that finds what it reads in FP8, where that was gathered so.
Operator after_gather(const Shape& shape, const Linear& linear, Operator product) {
  if (gathers_fp8(shape, linear)) product.fp8 = Fp8::ready;
  return product;
}

void transpose_gathered(Backward& backward, const Shape& shape, const Linear& linear,
                        const std::string& name, double elements) {
  if (transposes(shape, linear))
    backward.add_weight(vector_row(name + " transposed", 0, 2 * elements));
}

}  // namespace

void column_forward(LayerItems& items, const Shape& shape, const Linear& linear) {
  columns_forward(items, shape, linear.name, {&linear, 1});
}

void column_backward(Backward& backward, const Shape& shape, const Linear& linear) {
  columns_backward(backward, shape, linear.name, {&linear, 1});
}

void row_forward(LayerItems& items, const Shape& shape, const Linear& linear) {
  rows_forward(items, shape, linear.name, {&linear, 1});
}

void row_backward(Backward& backward, const Shape& shape, const Linear& linear) {
  rows_backward(backward, shape, linear.name, {&linear, 1});
}

void columns_forward(LayerItems& items, const Shape& shape, const std::string& name,
                     Linears linears) {
  // Only the last product is cut: its pieces hide the gather for all.
  const Linears others = linears.first(linears.size() - 1);
  const Linear& last = linears.back();
  const std::string gather = "all_gather " + name + " in";
  const auto add_adapters = [&] {
    for (const Linear& linear : linears) adapters_forward(items, shape, linear, Side::columns);
  };
  const auto put = [&](const LayerItem& item) { items.push_back(item); };
  const auto product = [&](const Linear& linear) {
    return after_gather(shape, linear, forward(linear));
  };
  for (const Linear& linear : linears) append(items, dequantised(linear));
  cast_own(put, shape, last, forward(last));
  if (shape.sequence_parallel && shape.chunks > 1) {
    gather_then(put, shape, gather, CommunicationRole::column_input, gathered_input(shape, last),
                product(piece_of(last, shape)));
    for (const Linear& linear : others) put(product(linear));
    return add_adapters();
  }
  if (shape.sequence_parallel)
    communicate(items, gather, GroupKind::tensor, shape.tp, CollectiveKind::all_gather,
                gathered_input(shape, last));
  for (const Linear& linear : linears) put(product(linear));
  add_adapters();
}

void columns_backward(Backward& backward, const Shape& shape, const std::string& name,
                      Linears linears) {
  const Linear& first = linears.front();
  const CommunicationId saved{CommunicationRole::column_saved_input};
  const CommunicationId reduced{CommunicationRole::column_gradient};
  const std::string gather = "all_gather " + name + " saved in";
  const std::string reduce =
      (shape.sequence_parallel ? "reduce_scatter " : "all_reduce ") + name + " gradient";
  if (shape.sequence_parallel)
    // The forward kept its own part of the input alone: the product for the weights needs all.
    backward.add_weight(overlapped(gather, saved, GroupKind::tensor, CollectiveKind::all_gather,
                                   gathered_input(shape, first)));
  // Nothing below is trained: no gradient of the input is made, and the pass ends here.
  if (first.lowest) {
    adapters_backward(backward, shape, first, Side::columns);
    backward.ended = true;
    return;
  }
  for (const Linear& linear : linears) {
    backward.add_input(dequantised(linear));
    backward.add_input(input_gradient(linear));
    adapters_backward(backward, shape, linear, Side::columns);
  }
  for (std::size_t i = 1; i < linears.size(); ++i)
    backward.add_input(summed(name + " gradients joined", first.tokens, first.in));
  if (shape.sequence_parallel) backward.add_weight(WaitFor{saved});
  transpose_gathered(backward, shape, first, name + " saved in", first.tokens * first.in);
  if (shape.tp > 1)
    backward.add_input(overlapped(
        reduce, reduced, GroupKind::tensor,
        shape.sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce,
        input_bytes(first)));
  if (shape.tp > 1 && shape.serial_backward) backward.add_input(WaitFor{reduced});
  for (const Linear& linear : linears)
    backward.add_weight(weight_gradient(linear, shape.gradient_bytes));
  if (shape.tp > 1 && !shape.serial_backward) backward.add_input(WaitFor{reduced});
}

void rows_forward(LayerItems& items, const Shape& shape, const std::string& name, Linears linears) {
  const Linear& last = linears.back();
  const CollectiveKind kind =
      shape.sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  const std::string reduce =
      (shape.sequence_parallel ? "reduce_scatter " : "all_reduce ") + name + " out";
  for (const Linear& linear : linears) append(items, dequantised(linear));
  for (const Linear& linear : linears.first(linears.size() - 1)) items.push_back(forward(linear));
  const auto add_adapters = [&] {
    for (const Linear& linear : linears) adapters_forward(items, shape, linear, Side::rows);
  };
  const auto pieces = static_cast<double>(shape.chunks);
  const auto part = [&](std::int64_t piece) {
    items.push_back(in_call(forward(piece_of(last, shape)), piece, shape));
    for (std::size_t i = 1; i < linears.size(); ++i)
      items.push_back(summed(name + " outputs joined", last.tokens / pieces, last.out));
  };
  if (shape.chunks == 1) {
    part(0);
    communicate(items, reduce, GroupKind::tensor, shape.tp, kind, output_bytes(last));
    return add_adapters();
  }
  for (std::int64_t p = 0; p < shape.chunks; ++p) {
    part(p);
    items.push_back(beside_product(piece_name(reduce, p, shape),
                                   piece_id(CommunicationRole::row_output, p), kind,
                                   output_bytes(last) / pieces));
  }
  // All pieces are issued before the first is awaited: one moves while the next is multiplied.
  for (std::int64_t p = 0; p < shape.chunks; ++p)
    items.push_back(WaitFor{piece_id(CommunicationRole::row_output, p)});
  add_adapters();
}

void rows_backward(Backward& backward, const Shape& shape, const std::string& name,
                   Linears linears) {
  const Linear& last = linears.back();
  const std::string gather = "all_gather " + name + " gradient";
  if (last.lowest) {
    adapters_backward(backward, shape, last, Side::rows);
    backward.ended = true;
    return;
  }
  const auto put = [&](const LayerItem& item) { backward.add_input(item); };
  const auto product = [&](const Linear& linear) {
    return after_gather(shape, linear, input_gradient(linear));
  };
  for (const Linear& linear : linears) backward.add_input(dequantised(linear));
  cast_own(put, shape, last, input_gradient(last));
  if (shape.sequence_parallel && shape.chunks > 1) {
    gather_then(put, shape, gather, CommunicationRole::row_gradient, gathered_gradient(shape, last),
                product(piece_of(last, shape)));
  } else {
    LayerItems items;
    if (shape.sequence_parallel)
      communicate(items, gather, GroupKind::tensor, shape.tp, CollectiveKind::all_gather,
                  gathered_gradient(shape, last));
    backward.add_input(items);
    put(product(last));
  }
  transpose_gathered(backward, shape, last, name + " gradient", last.tokens * last.out);
  backward.add_weight(weight_gradient(last, shape.gradient_bytes));
  for (const Linear& linear : linears.first(linears.size() - 1)) {
    put(product(linear));
    backward.add_weight(weight_gradient(linear, shape.gradient_bytes));
  }
  for (const Linear& linear : linears) adapters_backward(backward, shape, linear, Side::rows);
}

}  // namespace stepcast::rows
