#include <gtest/gtest.h>

#include "dispatcher_fixtures.hpp"
#include "stepcast/workloads/rewrites.hpp"

/// Blocks of a fixed size, as MindFormers has them: docs/models/dispatchers.md.
namespace stepcast {
namespace {

using namespace lowering;
using namespace dispatchers;

WorkloadSpec blocks_spec(KernelSpec::Router router) {
  WorkloadSpec spec = spec_of(Dispatcher::mindformers_1_3);
  spec.moe.capacity_factor = 1.3;
  spec.moe.capacity_pad = true;
  spec.runtime.kernels.router = router;
  return spec;
}

// MoEV2 with TopkRouterV2, statement by statement; nothing is counted, told or waited for.
TEST(BlockDispatcher, FillsBlocksThatNobodyIsToldOf) {
  const int dispatch = 4 + 1 + 3, combine = 3 + 1 + 7, activation = 1;
  const int one = 1 + 1 + 8 + 1 + 5, several = 1 + 1 + 8 + 7 + 6 + 6 + 1 + 7 + 2;
  for (const auto router : {KernelSpec::Router::fused, KernelSpec::Router::statements}) {
    const WorkloadSpec spec = blocks_spec(router);
    const int choice = router == KernelSpec::Router::fused ? one : several;
    EXPECT_EQ(forward_of(spec), (Counts{choice + dispatch + activation + combine, 0, 0}));
    const int back = 10 + 1 + 3 + 1 + 3 + 1 + 5, choice_back = 2 + 3 + 3 + 1, sum = 1;
    EXPECT_EQ(backward_of(spec), (Counts{back + choice_back + sum, 0, 0}));
  }
  WorkloadSpec spec = blocks_spec(KernelSpec::Router::fused);
  const Counts half = forward_of(spec);
  spec.moe.router.precision = RouterSpec::Precision::fp32;  // router_dense_type: float32
  EXPECT_EQ(forward_of(spec).kernels, half.kernels + 1);
}

TEST(BlockDispatcher, MultipliesBlocksAsABatch) {
  WorkloadSpec spec = blocks_spec(KernelSpec::Router::fused);
  spec.moe.products = MoeSpec::Products::batched;
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  int products = 0;
  for (const LayerItems* items : {&layer.forward, &layer.backward})
    for (const LayerItem& item : *items)
      if (const auto* op = std::get_if<Operator>(&item))
        if (const auto* work = std::get_if<GroupedMatmulWork>(&op->work)) {
          ++products;
          EXPECT_TRUE(work->batched) << op->name;
        }
  EXPECT_EQ(products, 6);
}

TEST(BlockDispatcher, MovesBlocksAndPairs) {
  const WorkloadSpec spec = blocks_spec(KernelSpec::Router::fused);
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  // 1024 tokens of a rank, 256 pairs per expert and 333 places
  const double row = 2 * 1024, n = 1024, R = 4 * n, C = 333.0 / 256 * R, weights = 6 * R;
  const auto expect = [&](const LayerItems& items, const char* name, double bytes) {
    EXPECT_NEAR(row_bytes(items, name), bytes, 1e-9 * bytes) << name;
  };
  expect(layer.forward, "permute ", (2 * n + 6 * C) * row);
  expect(layer.forward, "sort by expert", 6 * C * row);
  expect(layer.forward, "unsort", 6 * C * row);
  expect(layer.forward, "unpermute ", (6 * C + 5 * R + n) * row + weights);
  expect(layer.backward, "unpermute backward", (n + 10 * R + 7 * C) * row + weights);
  expect(layer.backward, "permute backward", (3 * n + 7 * C) * row);
  EXPECT_DOUBLE_EQ(traffic(layer.forward, GroupKind::expert, CollectiveKind::all_to_all).bytes,
                   2 * C * row);
}

// What a fuser can do: weights and sums of pairs in one kernel each way.
TEST(BlockDispatcher, LeavesSumsOfPairsToAFuser) {
  WorkloadSpec spec = blocks_spec(KernelSpec::Router::fused);
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  const DeviceSpec device = plain_cluster().device;
  spec.runtime.fusion = RuntimeSpec::Fusion::dvm;
  const double row = 2 * 1024, n = 1024, R = 4 * n;
  EXPECT_DOUBLE_EQ(row_bytes(as_run(layer.forward, spec, device), "unpermute weigh and sum"),
                   (R + n) * row);
}

}  // namespace
}  // namespace stepcast
