#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lowering_fixtures.hpp"

namespace stepcast {
namespace {

using namespace lowering;

std::array<double, 3> sliced_work(WorkloadSpec spec, LayerKind kind, std::int64_t slices) {
  spec.plan.slices = slices;
  std::array<double, 3> sum{};
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    LayerContext of_slice = context(spec);
    of_slice.slice = slice;
    const Passes passes = transformer_layer(of_slice, kind);
    sum[0] += product_flops(passes.forward);
    sum[1] += product_flops(passes.backward_input);
    sum[2] += product_flops(passes.backward_weight);
  }
  return sum;
}

TEST(Layers, SlicesDoTheWorkOfTheSequenceTogether) {
  for (const ModelSpec& model : {small_dense(), small_moe(), small_latent()}) {
    const WorkloadSpec spec = workload(model);
    const LayerKind kind = model.moe ? LayerKind::moe : LayerKind::dense;
    const auto whole = sliced_work(spec, kind, 1);
    for (const std::int64_t slices : {2, 4, 8}) {
      const auto parts = sliced_work(spec, kind, slices);
      for (std::size_t i = 0; i < whole.size(); ++i)
        EXPECT_NEAR(parts[i], whole[i], 1e-12 * whole[i]) << slices << " slices";
    }
  }
}

// Slice k of n sees k slices of keys and half of its own: (2k + 1) / n^2 of the attention.
TEST(Layers, LaterSlicesAttendToMore) {
  WorkloadSpec spec = workload(small_dense());
  const auto attention_flops = [&](std::int64_t slice) {
    LayerContext of_slice = context(spec);
    of_slice.slice = slice;
    double sum = 0;
    const Passes passes = transformer_layer(of_slice, LayerKind::dense);
    for (const LayerItem& item : passes.forward) {
      const auto* op = std::get_if<Operator>(&item);
      if (op && std::holds_alternative<AttentionWork>(op->work)) sum += op->flops.value();
    }
    return sum;
  };
  const double whole = attention_flops(0);
  spec.plan.slices = 4;
  for (const int k : {0, 1, 2, 3})
    EXPECT_NEAR(attention_flops(k), whole * (2 * k + 1) / 16, 1e-12 * whole);
}

// A slice of n tokens behind b of S: n (2b + n) / S^2 of the attention, n / S of the rest.
TEST(Layers, SlicesOfWrittenLengthAttendToTheirArea) {
  WorkloadSpec spec = workload(small_dense());
  const auto flops = [&](std::int64_t slice) {
    LayerContext of_slice = context(spec);
    of_slice.slice = slice;
    const Passes passes = transformer_layer(of_slice, LayerKind::dense);
    std::array<double, 2> sum{};  // attention, other products
    for (const LayerItem& item : passes.forward) {
      const auto* op = std::get_if<Operator>(&item);
      if (op == nullptr || std::holds_alternative<MemoryBoundWork>(op->work)) continue;
      sum[std::holds_alternative<AttentionWork>(op->work) ? 0 : 1] += op->flops.value();
    }
    return sum;
  };
  const auto whole = flops(0);
  const double sequence = 2048;
  spec.plan.slices = 3;
  spec.plan.slice_tokens = {1024, 704, 320};
  double before = 0;
  for (std::int64_t k = 0; k < 3; ++k) {
    const auto n = static_cast<double>(spec.plan.slice_tokens[static_cast<std::size_t>(k)]);
    const auto part = flops(k);
    const double area = n * (2 * before + n) / (sequence * sequence);
    EXPECT_NEAR(part[0], whole[0] * area, 1e-12 * whole[0]);
    EXPECT_NEAR(part[1], whole[1] * n / sequence, 1e-12 * whole[1]);
    before += n;
  }
}

}  // namespace
}  // namespace stepcast
