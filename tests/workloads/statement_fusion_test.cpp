#include <gtest/gtest.h>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/fusion.hpp"
#include "stepcast/workloads/operator_time.hpp"
#include "stepcast/workloads/rewrites.hpp"

namespace stepcast {
namespace {

using namespace lowering;

/// Operators of a program with what the device does for them.
struct Counted {
  double time = 0, bytes = 0, statements = 0;
  std::size_t launches = 0;
};

Counted counted(const LayerItems& items, const DeviceSpec& device) {
  Counted sum;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item)) {
      sum.time += operator_time(*op, device, false).value();
      sum.bytes += op->bytes.value();
      sum.statements += op->flow != nullptr ? 1 : 0;
      ++sum.launches;
    }
  return sum;
}

const Operator* named(const LayerItems& items, std::string_view name) {
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item); op != nullptr && op->name == name) return op;
  return nullptr;
}

WorkloadSpec of_statements(const ModelSpec& model) {
  WorkloadSpec spec = workload(model);
  spec.runtime.kernels.norm = KernelSpec::Norm::unfused;
  spec.runtime.kernels.rope = KernelSpec::Rope::unfused;
  spec.runtime.kernels.activation = KernelSpec::Activation::unfused;
  spec.moe.permutation = MoeSpec::Permutation::indexed;
  return spec;
}

LayerItems statements(const WorkloadSpec& spec, const LayerItems& items) {
  return with_unfused_kernels(items, spec.runtime.kernels, spec.model);
}

// x and the result alone move: what the library's kernel moves.
TEST(StatementFusion, ANormRotationAndActivationBecomeTheKernelsOfTheLibrary) {
  const WorkloadSpec spec = of_statements(small_dense());
  const DeviceSpec device = plain_cluster().device;
  const Passes passes = transformer_layer(context(spec), LayerKind::dense);
  const LayerItems made = fuse_statements(statements(spec, passes.forward), device);
  EXPECT_EQ(counted(made, device).launches, counted(passes.forward, device).launches);
  for (const LayerItem& item : passes.forward) {
    const auto* op = std::get_if<Operator>(&item);
    if (op == nullptr) continue;
    const Operator* one = named(made, op->name);
    ASSERT_NE(one, nullptr) << op->name;
    EXPECT_NEAR(one->bytes.value(), op->bytes.value(), 1e-9 * op->bytes.value()) << op->name;
    EXPECT_EQ(one->role, op->role);
  }
}

// Its gradient reads what comes back and x, from which it makes the saved values again, and writes
// one result; of a gated part it reads both halves and writes both.
TEST(StatementFusion, GradientsReadSourcesInsteadOfSavedValues) {
  const WorkloadSpec spec = of_statements(small_dense());
  const Passes passes = transformer_layer(context(spec), LayerKind::dense);
  const LayerItems made =
      fuse_statements(statements(spec, passes.backward), plain_cluster().device);
  const double tokens = static_cast<double>(spec.training.sequence);
  for (const LayerItem& item : passes.backward) {
    const auto* op = std::get_if<Operator>(&item);
    if (op == nullptr || std::holds_alternative<MatmulWork>(op->work)) continue;
    const Operator* one = named(made, op->name);
    ASSERT_NE(one, nullptr) << op->name;
    if (op->role == OperatorRole::norm_backward) {
      EXPECT_DOUBLE_EQ(one->bytes.value(), (2 + 2 + 2) * tokens * 1024);
    }
    if (op->role == OperatorRole::activation_backward) {
      EXPECT_DOUBLE_EQ(one->bytes.value(), (2 + 2 + 2 + 4) * tokens * 4096);
    }
    if (op->role == OperatorRole::rope_backward) {
      EXPECT_NEAR(one->bytes.value(), op->bytes.value(), 1e-9 * op->bytes.value());
    }
  }
}

// Rows of 1024 in FP32 take 4 KiB: behind the mean they are read again.
TEST(StatementFusion, RowsThatDoNotFitOnChipAreReadTwice) {
  const WorkloadSpec spec = of_statements(small_dense());
  const Passes passes = transformer_layer(context(spec), LayerKind::dense);
  const LayerItems norm = statements(spec, passes.forward);
  DeviceSpec device = plain_cluster().device;
  device.vector_memory = Bytes{4096};
  const auto whole = named(fuse_statements(norm, device), "attention norm") != nullptr;
  device.vector_memory = Bytes{4095};
  const LayerItems cut = fuse_statements(norm, device);
  const Operator* part = named(cut, "attention norm part");
  EXPECT_TRUE(whole);
  EXPECT_EQ(named(cut, "attention norm"), nullptr);
  ASSERT_NE(part, nullptr);
  const double tokens = static_cast<double>(spec.training.sequence);
  EXPECT_DOUBLE_EQ(part->bytes.value(), (2 + 4) * tokens * 1024);  // x, and its copy in FP32
}

TEST(StatementFusion, PermutationByIndicesLosesItsZerosAndSums) {
  WorkloadSpec spec = of_statements(small_moe());
  spec.plan.ep = spec.plan.dp = 4;
  WorkloadSpec library = spec;
  library.moe.permutation = MoeSpec::Permutation::fused;
  const DeviceSpec device = plain_cluster().device;
  const LayerItems made =
      fuse_statements(transformer_layer(context(spec), LayerKind::moe).forward, device);
  const LayerItems kernels = transformer_layer(context(library), LayerKind::moe).forward;
  const Operator *one = named(made, "unpermute"), *kernel = named(kernels, "unpermute");
  ASSERT_NE(kernel, nullptr);
  ASSERT_NE(one, nullptr);
  EXPECT_DOUBLE_EQ(one->bytes.value(), kernel->bytes.value());
}

// Whatever the numbers of kinds are, a fuser that does not gain leaves things as they are.
TEST(StatementFusion, NeverMakesTheDeviceSlowerNorMovesOrLaunchesMore) {
  EXPECT_TRUE(rc::check([] {
    WorkloadSpec spec = any_workload();
    const WorkloadSpec unfused = of_statements(spec.model);
    spec.runtime = unfused.runtime;
    spec.runtime.kernels.activation =
        *rc::gen::element(KernelSpec::Activation::unfused, KernelSpec::Activation::formula);
    spec.moe.permutation = MoeSpec::Permutation::indexed;
    DeviceSpec device = plain_cluster().device;
    const auto share = [] { return *rc::gen::inRange(1, 100) / 100.0; };
    MemoryEfficiency& memory = device.efficiency.memory;
    memory.norm = share();
    memory.activation = share();
    memory.gather = share();
    memory.scatter_add = share();
    memory.cache = Bytes{1e7 * share()};
    memory.cache_share = share();
    memory.cache_speedup = 1 + 4 * share();
    device.vector_memory = Bytes{1000.0 * *rc::gen::inRange(0, 64)};
    const Passes passes =
        transformer_layer(context(spec), spec.model.moe ? LayerKind::moe : LayerKind::dense);
    for (const LayerItems* items : {&passes.forward, &passes.backward}) {
      const Counted before = counted(as_run(*items, spec, device), device);
      WorkloadSpec fused = spec;
      fused.runtime.fusion = RuntimeSpec::Fusion::dvm;
      const LayerItems made = as_run(*items, fused, device);
      const Counted after = counted(made, device);
      RC_ASSERT(after.time <= before.time * (1 + 1e-12));
      RC_ASSERT(after.bytes <= before.bytes * (1 + 1e-12));
      RC_ASSERT(after.launches <= before.launches);
      RC_ASSERT(product_flops(made) == product_flops(*items));
    }
  }));
}

TEST(StatementFusion, EveryStatementSaysHowItsBytesCome) {
  const WorkloadSpec spec = of_statements(small_moe());
  for (const auto activation : {KernelSpec::Activation::unfused, KernelSpec::Activation::formula}) {
    KernelSpec kernels = spec.runtime.kernels;
    kernels.activation = activation;
    const Passes passes = transformer_layer(context(spec), LayerKind::dense);
    for (const LayerItems* items : {&passes.forward, &passes.backward})
      for (const LayerItem& item : with_unfused_kernels(*items, kernels, spec.model)) {
        const auto* op = std::get_if<Operator>(&item);
        if (op == nullptr || op->flow == nullptr) continue;
        double sum = op->flow->written.bytes;
        for (const VectorFlow::Operand& r : op->flow->reads) sum += r.bytes;
        EXPECT_NEAR(sum, op->bytes.value(), 1e-9 * sum) << op->name;
      }
  }
}

}  // namespace
}  // namespace stepcast
