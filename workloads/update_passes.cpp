#include "stepcast/workloads/update_passes.hpp"

#include <array>

#include "stepcast/workloads/states.hpp"

namespace stepcast {

namespace {

/// Bytes of one element: of each gradient as it is exchanged, times its size, and beside that.
struct Moved {
  double gradients;
  double beside;
};

struct PassRow {
  UpdatePass pass;
  const char* name;
  UpdateMoment moment;
  bool held;  ///< over all gradients of the rank, else over those that it updates with
  Moved moved;
};

/// As the frameworks' code has them (docs/models/data_parallel.md); a check casts what it adds up.
constexpr std::array<PassRow, 11> rows{{
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
    {UpdatePass::clip,
     "gradients clipped",
     UpdateMoment::behind_norm,
     false,
     {0, 2 * single_bytes}},
    {UpdatePass::copy, "weights copied", UpdateMoment::at_end, false, {0, single_bytes}},
    {UpdatePass::zero, "gradients set to zero", UpdateMoment::at_end, true, {1, 0}},
}};

double bytes_of(const PassRow& row, const UpdateSizes& sizes) {
  const bool widened = row.pass == UpdatePass::check && sizes.gradient_bytes < single_bytes;
  return row.moved.gradients * sizes.gradient_bytes + row.moved.beside +
         (widened ? 2 * single_bytes : 0);
}

}  // namespace

std::vector<Operator> update_operators(const RuntimeSpec& runtime, const UpdateSizes& sizes,
                                       UpdateMoment moment) {
  std::vector<Operator> operators;
  for (const PassRow& row : rows) {
    const double elements = row.held ? sizes.held : sizes.owned;
    if (row.moment != moment || !runtime.passes(row.pass) || elements <= 0) continue;
    operators.push_back({.name = row.name,
                         .work = MemoryBoundWork{},
                         .flops = Flops{0},
                         .bytes = Bytes{bytes_of(row, sizes) * elements},
                         .launch = LaunchClass::vector});
  }
  return operators;
}

double updated_gradient_bytes(const RuntimeSpec& runtime, double gradient_bytes) {
  return runtime.passes(UpdatePass::cast) ? single_bytes : gradient_bytes;
}

}  // namespace stepcast
