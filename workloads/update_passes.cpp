#include "stepcast/workloads/update_passes.hpp"

#include <algorithm>
#include <array>

#include "data_parallel.hpp"

namespace stepcast {

namespace {

/// Bytes of one element: of each gradient as it is exchanged, times its size, and beside that.
struct PassBytes {
  double gradients;
  double beside;
};

struct PassRow {
  UpdatePass pass;
  const char* name;
  UpdateMoment moment;
  bool held;  ///< over all gradients of the rank, else over those that it updates with
  PassBytes moved;
};

/// As the frameworks' code has them (docs/models/data_parallel.md); a check casts what it adds up.
constexpr std::array<PassRow, 12> pass_rows{{
    // Bytes per parameter: multiples of the gradient's own size, then of fixed size.
    {UpdatePass::flatten, "gradients flattened", UpdateMoment::before_reduction, true, {2, 0}},
    {UpdatePass::divide, "gradients divided", UpdateMoment::before_reduction, true, {2, 0}},
    {UpdatePass::unflatten, "gradients copied back", UpdateMoment::behind_reduction, true, {2, 0}},
    {UpdatePass::check, "gradients checked", UpdateMoment::before_norm, true, {1, 0}},
    {UpdatePass::join, "gradients joined", UpdateMoment::before_norm, false, {2, 0}},
    {UpdatePass::cast, "gradients cast", UpdateMoment::before_norm, false, {1, single_bytes}},
    {UpdatePass::join_fp32,
     "FP32 gradients joined",
     UpdateMoment::before_norm,
     false,
     {0, 2 * single_bytes}},
    {UpdatePass::unscale,
     "gradients unscaled",
     UpdateMoment::before_norm,
     false,
     {0, 2 * single_bytes}},
    {UpdatePass::square,
     "gradients squared",
     UpdateMoment::before_norm,
     false,
     {0, 2 * single_bytes}},
    {UpdatePass::clip,
     "gradients clipped",
     UpdateMoment::behind_norm,
     false,
     {0, 2 * single_bytes}},
    {UpdatePass::copy, "weights copied", UpdateMoment::at_end, false, {0, single_bytes}},
    {UpdatePass::zero, "gradients set to zero", UpdateMoment::at_end, true, {1, 0}},
}};

double bytes_of_pass(const PassRow& row, const UpdateSizes& sizes) {
  // Each tensor is cast to FP32 and added up: 4 bytes written, and read again.
  const bool widened = row.pass == UpdatePass::check && sizes.gradient_bytes < single_bytes;
  return row.moved.gradients * sizes.gradient_bytes + row.moved.beside +
         (widened ? 2 * single_bytes : 0);
}

}  // namespace

std::vector<Operator> update_operators(const RuntimeSpec& runtime, const UpdateSizes& sizes,
                                       UpdateMoment moment) {
  std::vector<Operator> operators;
  for (const PassRow& row : pass_rows) {
    const double elements = row.held ? sizes.held : sizes.owned;
    if (row.moment != moment || !runtime.passes(row.pass) || elements <= 0) continue;
    operators.push_back({.name = row.name,
                         .work = MemoryBoundWork{},
                         .flops = Flops{0},
                         .bytes = Bytes{bytes_of_pass(row, sizes) * elements},
                         .launch = LaunchClass::vector});
  }
  return operators;
}

double update_held(const RuntimeSpec& runtime, const UpdateSizes& sizes, double largest) {
  const double each = sizes.gradient_bytes, owned = sizes.owned;
  const bool half = each < single_bytes;
  const double cast = runtime.passes(UpdatePass::cast) ? single_bytes : 0;
  double held = 0;
  // in FP32, and where a rank has joined its share its norm is taken in FP64, tensor by tensor
  const double whole = std::min(largest, owned);
  const double wide = runtime.passes(UpdatePass::join) ? 2 * single_bytes : single_bytes;
  if (runtime.passes(UpdatePass::check) && half) held = wide * whole;
  if (runtime.passes(UpdatePass::join_fp32))  // gradients and casts are there until all are joined
    return std::max(held, (cast + single_bytes) * owned);
  if (runtime.passes(UpdatePass::join))  // what other ranks update with is given back first
    return std::max(held, (each + cast) * owned - each * (sizes.held - owned));
  if (cast > 0)  // each gradient is given back when it is cast
    return std::max(held, (cast - each) * owned + each * largest);
  return held;
}

double updated_gradient_bytes(const RuntimeSpec& runtime, double gradient_bytes) {
  return runtime.passes(UpdatePass::cast) ? single_bytes : gradient_bytes;
}

void DataParallel::pass_over(const Share& share, UpdateMoment moment, Instructions& out) {
  const Share own = owned(share);
  const UpdateSizes sizes{share.dense + share.expert, own.dense + own.expert, gradient_size()};
  for (const Operator& pass : update_operators(spec_.runtime, sizes, moment))
    builder_.compute(pass, out);
}

}  // namespace stepcast
