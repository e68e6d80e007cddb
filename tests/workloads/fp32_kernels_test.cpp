#include <gtest/gtest.h>

#include <string_view>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/fusion.hpp"
#include "stepcast/workloads/rewrites.hpp"

/// Norms and rotations in FP32 between casts, and silu and product apart, as MindFormers runs them:
/// docs/models/operators.md.
namespace stepcast {
namespace {

using namespace lowering;

WorkloadSpec mindformers() {
  WorkloadSpec spec = workload(small_dense());
  spec.runtime.kernels.norm = KernelSpec::Norm::fp32;
  spec.runtime.kernels.rope = KernelSpec::Rope::fp32;
  spec.runtime.kernels.activation = KernelSpec::Activation::apart;
  return spec;
}

LayerItems in_statements(const WorkloadSpec& spec, const LayerItems& items) {
  return with_unfused_kernels(items, spec.runtime.kernels, spec.model);
}

struct Moved {
  double bytes = 0;
  int kernels = 0;
};

Moved moved_by(const LayerItems& items, std::string_view begin) {
  Moved sum;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item); op != nullptr && op->name.starts_with(begin))
      sum = {sum.bytes + op->bytes.value(), sum.kernels + 1};
  return sum;
}

TEST(Fp32Kernels, NormsAreTheLibrarysBetweenCasts) {
  const WorkloadSpec spec = mindformers();
  const Passes passes = transformer_layer(context(spec), LayerKind::dense);
  const LayerItems forward = in_statements(spec, passes.forward);
  const LayerItems backward = in_statements(spec, passes.backward);
  const double elements = moved_by(passes.forward, "attention norm").bytes / (2 + 2);
  const double cast = 2 + 4;
  EXPECT_DOUBLE_EQ(moved_by(forward, "attention norm").bytes, (2 * cast + 4 + 4) * elements);
  EXPECT_DOUBLE_EQ(moved_by(backward, "attention norm").bytes, (3 * cast + 4 + 4 + 4) * elements);
  EXPECT_EQ(moved_by(forward, "attention norm").kernels, 3);
  EXPECT_EQ(moved_by(backward, "attention norm").kernels, 4);
  for (const LayerItem& item : forward)
    if (const auto* op = std::get_if<Operator>(&item); op && op->role == OperatorRole::norm) {
      EXPECT_EQ(std::get<MemoryBoundWork>(op->work).kind, VectorKind::norm);
    }
}

TEST(Fp32Kernels, RotationsSwapHalvesByAProduct) {
  const WorkloadSpec spec = mindformers();
  const Passes passes = transformer_layer(context(spec), LayerKind::dense);
  const double rotated = moved_by(passes.forward, "rope").bytes / (2 + 2);
  const double each = (2 + 4) + 3 * (4 + 4) + (4 + 4 + 4) + (4 + 2);  // swap, cos, sin; sum
  for (const LayerItems* items : {&passes.forward, &passes.backward}) {
    EXPECT_DOUBLE_EQ(moved_by(in_statements(spec, *items), "rope").bytes, each * rotated);
    EXPECT_EQ(moved_by(in_statements(spec, *items), "rope").kernels, 2 * 6);
  }
}

TEST(Fp32Kernels, HeadsAreTransposedAroundFusedAttention) {
  WorkloadSpec spec = mindformers();
  spec.runtime.kernels.heads = KernelSpec::Heads::transposed;
  const auto& a = std::get<GroupedQueryAttention>(spec.model.attention);
  const Passes passes = transformer_layer(context(spec), LayerKind::dense);
  const auto tokens = static_cast<double>(spec.training.micro_batch * spec.training.sequence);
  const double wide = tokens * static_cast<double>(a.heads * a.head_dim);
  const double narrow = tokens * static_cast<double>(a.kv_heads * a.head_dim);
  for (const LayerItems* plain : {&passes.forward, &passes.backward}) {
    const LayerItems items = in_statements(spec, *plain);
    double bytes = 0;
    int kernels = 0;
    for (const LayerItem& item : items)
      if (const auto* op = std::get_if<Operator>(&item); op && op->name.ends_with("transposed")) {
        bytes += op->bytes.value();
        EXPECT_EQ(op->flops.value(), 0);
        ++kernels;
      }
    EXPECT_EQ(kernels, 4);
    EXPECT_DOUBLE_EQ(bytes, (2 + 2) * 2 * (wide + narrow));
  }
}

// MindFormers: silu is kept for the gradients of both projections, and a product with a mask cuts
// a rotation in two.
TEST(Fp32Kernels, LeaveToAFuserWhatNoOtherKernelReads) {
  const WorkloadSpec spec = mindformers();
  const DeviceSpec device = plain_cluster().device;
  const Passes passes = transformer_layer(context(spec), LayerKind::dense);
  const LayerItems forward = fuse_statements(in_statements(spec, passes.forward), device);
  const LayerItems backward = fuse_statements(in_statements(spec, passes.backward), device);
  const double values = moved_by(passes.forward, "feed-forward activation").bytes / 6;
  const double rotated = moved_by(passes.forward, "rope").bytes / 4;
  EXPECT_DOUBLE_EQ(moved_by(forward, "feed-forward activation").bytes, (2 + 2 + 2 + 2) * values);
  EXPECT_DOUBLE_EQ(moved_by(backward, "feed-forward activation").bytes, 6 * 2 * values);
  EXPECT_DOUBLE_EQ(moved_by(forward, "rope").bytes, (6 + 8 + (4 + 4 + 2)) * rotated);
  EXPECT_DOUBLE_EQ(moved_by(backward, "rope").bytes, ((2 + 4 + 4) + 8 + (4 + 4 + 2)) * rotated);
}

}  // namespace
}  // namespace stepcast
