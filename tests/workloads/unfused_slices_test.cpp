#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "lowering_fixtures.hpp"

namespace stepcast {
namespace {

using namespace lowering;

const Operator& operator_of(const LayerItems& items, const std::string& name) {
  const auto found = std::ranges::find_if(items, [&](const LayerItem& item) {
    const auto* op = std::get_if<Operator>(&item);
    return op != nullptr && op->name == name;
  });
  if (found == items.end()) throw std::out_of_range(name);
  return std::get<Operator>(*found);
}

/// FLOPs of the products of the attention core, and elements of scores that its softmax reads and
/// writes, over all slices.
struct CoreWork {
  double forward = 0, backward = 0, scores = 0;
};

CoreWork core_work(const WorkloadSpec& spec) {
  CoreWork work;
  const auto products = [](const LayerItems& items) {
    double sum = 0;
    for (const LayerItem& item : items)
      if (const auto* op = std::get_if<Operator>(&item);
          op && std::holds_alternative<GroupedMatmulWork>(op->work))
        sum += op->flops.value();
    return sum;
  };
  for (std::int64_t slice = 0; slice < spec.plan.slices; ++slice) {
    LayerContext of_slice = context(spec);
    of_slice.slice = slice;
    const Passes passes = transformer_layer(of_slice, LayerKind::dense);
    work.forward += products(passes.forward);
    work.backward += products(passes.backward);
    work.scores += operator_of(passes.forward, "attention softmax").bytes.value() / 4;
  }
  return work;
}

WorkloadSpec unfused() {
  WorkloadSpec spec = workload(small_dense());
  spec.training.attention = TrainingSpec::Attention::unfused;
  return spec;
}

// Half of the scores lie above the diagonal: they are written, and not read.
TEST(UnfusedSlices, ACausalSoftmaxReadsHalf) {
  WorkloadSpec spec = unfused();
  const double scores = 16.0 * 2048 * 2048;
  const auto moved = [&] {
    const Passes passes = transformer_layer(context(spec), LayerKind::dense);
    return std::pair{
        operator_of(passes.forward, "attention softmax").bytes.value() / scores,
        operator_of(passes.backward_input, "attention softmax backward").bytes.value() / scores};
  };
  EXPECT_EQ(moved(), std::pair(4.0, 6.0));
  spec.runtime.kernels.softmax = KernelSpec::Softmax::causal;
  EXPECT_EQ(moved(), std::pair(3.0, 4.0));
}

// What lies behind a slice is never computed: K equal slices have (K + 1) / 2K of all scores.
TEST(UnfusedSlices, SeeEarlierSlicesAndNothingBehindThem) {
  const CoreWork whole = core_work(unfused());
  for (const std::int64_t slices : {2, 4, 8}) {
    WorkloadSpec spec = unfused();
    spec.plan.slices = slices;
    const CoreWork parts = core_work(spec);
    const auto k = static_cast<double>(slices);
    const double part = (k + 1) / (2 * k);
    EXPECT_NEAR(parts.forward, part * whole.forward, 1e-12 * whole.forward) << slices;
    EXPECT_NEAR(parts.backward, part * whole.backward, 1e-12 * whole.backward) << slices;
    EXPECT_NEAR(parts.scores, part * whole.scores, 1e-12 * whole.scores) << slices;
  }
}

// A slice of n tokens behind b of S: n (b + n) / S^2.
TEST(UnfusedSlices, OfWrittenLengthHaveTheirArea) {
  const CoreWork whole = core_work(unfused());
  WorkloadSpec spec = unfused();
  spec.plan.slices = 3;
  spec.plan.slice_tokens = {1024, 704, 320};
  const double area = (1024.0 * 1024 + 704.0 * 1728 + 320.0 * 2048) / (2048.0 * 2048);
  const CoreWork parts = core_work(spec);
  EXPECT_NEAR(parts.forward, area * whole.forward, 1e-12 * whole.forward);
  EXPECT_NEAR(parts.backward, area * whole.backward, 1e-12 * whole.backward);
}

// As after a fused core, later slices leave gradients for the keys and values of earlier ones.
TEST(UnfusedSlices, AddTheGradientsOfEarlierKeys) {
  WorkloadSpec spec = unfused();
  spec.plan.slices = 2;
  LayerContext second = context(spec);
  second.slice = 1;
  const auto summed = [&] {
    const Passes passes = transformer_layer(second, LayerKind::dense);
    return operator_of(passes.backward, "accumulate slice gradients").bytes.value();
  };
  const double unfused_bytes = summed();
  spec.training.attention = TrainingSpec::Attention::fused;
  EXPECT_GT(unfused_bytes, 0);
  EXPECT_EQ(unfused_bytes, summed());
}

}  // namespace
}  // namespace stepcast
