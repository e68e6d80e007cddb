#include <cmath>

#include "fp8_scales.hpp"
#include "stepcast/workloads/rewrites.hpp"
#include "stepcast/workloads/states.hpp"

// Kernels that make FP8 operands, by recipe: docs/models/fp8.md.
namespace stepcast {
namespace {

using Recipe = TrainingSpec::Fp8Recipe;
using Scales = KernelSpec::Scales;

constexpr double fp8 = 1;  ///< bytes of an element

/// Elements of the operands of a product, and the kernels that each takes.
struct Operands {
  double left = 0, right = 0;
  int kernels = 1;
};

Operands operands_of(const Work& work, bool per_expert) {
  if (const auto* w = std::get_if<MatmulWork>(&work)) return {w->m * w->k, w->k * w->n};
  if (const auto* w = std::get_if<GroupedMatmulWork>(&work))
    return {w->groups * w->m * w->k, w->groups * w->k * w->n,
            per_expert ? static_cast<int>(std::lround(w->groups)) : 1};
  return {};
}

/// A product of no columns stands for the cast of its rows: its own come after a gather.
bool casts_alone(const Operator& op) {
  const auto* w = std::get_if<MatmulWork>(&op.work);
  return w != nullptr && w->n == 0;
}

/// Appends `kernels` operators that share `bytes`, started the way the product is; each is an
/// operator of the framework (torchao, compiled).
void put_beside(LayerItems& out, const Operator& product, const char* what, int kernels,
                double bytes) {
  const bool in_kernel = product.launch == LaunchClass::in_kernel;
  const Operator op{.name = product.name + what,
                    .work = MemoryBoundWork{},
                    .bytes = Bytes{bytes / kernels},
                    .launch = in_kernel ? LaunchClass::in_kernel : LaunchClass::vector,
                    .routed = product.routed,
                    .role = product.role,
                    .captured = product.captured};
  out.insert(out.end(), static_cast<std::size_t>(kernels), op);
}

/// What stands in `out` from `begin` on is launched by one call of Transformer Engine.
void in_one_call(LayerItems& out, std::size_t begin) {
  for (std::size_t i = begin + 1; i < out.size(); ++i) std::get<Operator>(out[i]).in_call = true;
}

/// Weight gradients alone add into what is there.
bool adds_gradients(const Operator& op) { return op.accumulated > 0; }

/// As an operand stands, and along the other side for the gradient of the weights.
int copies_of(const Fp8Casts& how) { return how.frozen ? 1 : 2; }

/// Every product casts both operands anew, each along the dimension that it sums over. Where that
/// is not the one in which numbers lie side by side, maxima are taken by a kernel of their own.
void cast_by_rows(LayerItems& out, const Operator& op, const Operands& o) {
  const bool weights = adds_gradients(op), forward = !weights && !op.input_gradient;
  const auto copy_of = [&](const char* maxima, const char* copy, double elements, bool along) {
    if (!along) put_beside(out, op, maxima, o.kernels, half_bytes * elements);
    put_beside(out, op, copy, o.kernels, (half_bytes + fp8) * elements);
  };
  if (op.fp8 == Fp8::casts || weights) copy_of(" input maxima", " to fp8", o.left, !weights);
  copy_of(" weight maxima", " weights to fp8", o.right, forward);
}

/// DeepSeek-V3 keeps inputs in FP8 by token and makes what sums run over other tokens when it is
/// needed: weight gradients read both operands by channel, and input gradients the transposed
/// weights, because FP8 products take operands in one order alone.
void cast_by_product(LayerItems& out, const Operator& op, const Operands& o) {
  if (adds_gradients(op)) {
    put_beside(out, op, " input by channel", o.kernels, (2 * fp8 + 2 * tile_scale) * o.left);
    put_beside(out, op, " gradient by channel", o.kernels,
               (half_bytes + fp8 + tile_scale) * o.right);
    return;
  }
  if (op.fp8 == Fp8::casts)
    put_beside(out, op, " to fp8", o.kernels, (half_bytes + fp8 + tile_scale) * o.left);
  put_beside(out, op, " scales order", o.kernels, 2 * tile_scale * o.left);
  if (op.input_gradient) put_beside(out, op, " weights transposed", o.kernels, 2 * fp8 * o.right);
}

/// The call that orders the scales launches the product, too. Casts may write them in that order.
void cast_with_scales(LayerItems& out, const Operator& op, const Operands& o, const Fp8Casts& how) {
  const Scales scales = how.scales;
  const int copies = copies_of(how);
  const double per_element = copies * mx_scale;
  const std::size_t quantize = out.size();
  if (op.fp8 == Fp8::casts) {
    if (scales == Scales::zeroed)
      put_beside(out, op, " scales zeros", 2 * o.kernels, per_element * o.left);
    put_beside(out, op, " to fp8", o.kernels, (half_bytes + copies * fp8 + per_element) * o.left);
  }
  in_one_call(out, quantize);
  if (op.ordered || casts_alone(op)) return;
  const std::size_t multiply = out.size();
  // Joined: one kernel orders the scales of all experts.
  const int each = scales == Scales::joined ? 1 : o.kernels;
  if (scales == Scales::zeroed)
    put_beside(out, op, " ordered scales zeros", 2 * each, mx_scale * (o.left + o.right));
  put_beside(out, op, " scales order", 2 * each, 2 * mx_scale * (o.left + o.right));
  in_one_call(out, multiply);
}

/// Returns Operator::in_call of the product.
bool make_operands(LayerItems& out, const Operator& op, const Fp8Casts& how) {
  const Operands o = operands_of(op.work, how.per_expert);
  // What is gathered alone is transposed behind the gather.
  const double copies = half_bytes + (casts_alone(op) ? 1 : copies_of(how)) * fp8;
  const bool casts = op.fp8 == Fp8::casts;
  const std::size_t quantize = out.size();
  if (how.recipe != Recipe::delayed && o.left == 0) return false;
  switch (how.recipe) {
    case Recipe::delayed:
      if (casts) put_beside(out, op, " to fp8", 1, copies * o.left);
      break;
    case Recipe::tensorwise:
      if (!casts) break;
      // One scale for a tensor is known only when its maximum is.
      put_beside(out, op, " maximum", o.kernels, half_bytes * o.left);
      put_beside(out, op, " scale", o.kernels, 0);
      put_beside(out, op, " to fp8", o.kernels, copies * o.left);
      break;
    case Recipe::rowwise:
      cast_by_rows(out, op, o);
      return false;
    case Recipe::blockwise:
      if (casts)
        put_beside(out, op, " to fp8", o.kernels,
                   (half_bytes + copies_of(how) * (fp8 + tile_scale)) * o.left);
      break;
    case Recipe::deepseek:
      cast_by_product(out, op, o);
      return false;
    case Recipe::mxfp8:
      cast_with_scales(out, op, o, how);
      return !op.ordered;
  }
  in_one_call(out, quantize);
  return false;
}

}  // namespace

LayerItems with_fp8_casts(LayerItems items, const Fp8Casts& how) {
  LayerItems out;
  for (LayerItem& item : items) {
    // Operands are made right before the product that reads them.
    auto* op = std::get_if<Operator>(&item);
    if (op != nullptr && op->fp8 != Fp8::none)
      op->in_call = make_operands(out, *op, how) || op->in_call;
    if (op != nullptr && casts_alone(*op)) continue;
    out.push_back(std::move(item));
  }
  return out;
}

}  // namespace stepcast
