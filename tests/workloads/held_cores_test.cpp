#include <gtest/gtest.h>

#include "collective_fabrics.hpp"
#include "lowering_fixtures.hpp"

// What part of a device's cores an exchange holds: docs/models/collectives.md.
namespace stepcast::test {
namespace {

constexpr double sixteenth = 1.0 / 16;

ClusterSpec with_cores(std::int64_t nodes) {
  ClusterSpec spec = switched({.nodes = nodes, .per_node = 4});
  spec.device.cube_cores = 16;
  spec.collectives.cores = {
      .node = 8, .network = 3, .gather_pieces = 1, .reduce_pieces = 6, .deepep = 5, .hybridep = 4};
  return spec;
}

double held(const ClusterSpec& spec, const std::vector<DeviceId>& members,
            ExchangeKernel kernel = ExchangeKernel::library,
            CollectiveKind kind = CollectiveKind::all_gather) {
  return held_share(Fabric(spec), members, kind, kernel) / sixteenth;
}

TEST(HeldCores, InsideANodeAreThoseOfTheNode) {
  const ClusterSpec spec = with_cores(2);
  EXPECT_DOUBLE_EQ(held(spec, first_devices(4)), 8);
  EXPECT_DOUBLE_EQ(held(spec, first_devices(2)), 8);
  EXPECT_DOUBLE_EQ(held(spec, first_devices(1)), 0);
}

TEST(HeldCores, BetweenNodesCountTheMembersOfOne) {
  const ClusterSpec spec = with_cores(4);
  EXPECT_DOUBLE_EQ(held(spec, first_devices(4, 4)), 3);
  EXPECT_DOUBLE_EQ(held(spec, first_devices(8, 2)), 6);
  EXPECT_DOUBLE_EQ(held(spec, first_devices(16)), 8);  // not the 12 of four members
}

TEST(HeldCores, ASuperNodeIsANode) {
  ClusterSpec spec = with_cores(4);
  spec.super_node = SuperNodeSpec{.nodes = 2, .fabric = {{BytesPerSecond{20e9}, Seconds{0}}, 1}};
  EXPECT_DOUBLE_EQ(held(spec, first_devices(8)), 8);
  EXPECT_DOUBLE_EQ(held(spec, first_devices(2, 4)), 8);
  EXPECT_DOUBLE_EQ(held(spec, first_devices(2, 8)), 3);
}

TEST(HeldCores, KernelsOfTheirOwnHaveTheirOwn) {
  const ClusterSpec spec = with_cores(2);
  const auto all = first_devices(8);
  EXPECT_DOUBLE_EQ(held(spec, all, ExchangeKernel::pieces), 1);
  EXPECT_DOUBLE_EQ(held(spec, all, ExchangeKernel::pieces, CollectiveKind::reduce_scatter), 6);
  EXPECT_DOUBLE_EQ(held(spec, all, ExchangeKernel::pieces, CollectiveKind::all_reduce), 6);
  EXPECT_DOUBLE_EQ(held(spec, all, ExchangeKernel::deepep, CollectiveKind::all_to_all), 5);
  EXPECT_DOUBLE_EQ(held(spec, all, ExchangeKernel::hybridep, CollectiveKind::all_to_all), 4);
}

TEST(HeldCores, PiecesAreThoseBesideAProduct) {
  WorkloadSpec spec = lowering::workload(lowering::small_dense());
  spec.plan.tp = 4;
  spec.plan.sequence_parallel = true;
  LayerContext layer = lowering::context(spec);
  layer.tensor_chunks = 4;
  int pieces = 0;
  for (const LayerItem& item : transformer_layer(layer, LayerKind::dense).forward)
    if (const auto* call = std::get_if<LayerCommunication>(&item)) {
      EXPECT_EQ(call->kernel == ExchangeKernel::pieces, call->overlapped) << call->name;
      pieces += call->kernel == ExchangeKernel::pieces ? 1 : 0;
    }
  EXPECT_EQ(pieces, 4 * 4);
}

TEST(HeldCores, EnginesOfTheirOwnHoldNone) {
  ClusterSpec spec = with_cores(2);
  spec.collectives.cores = {};
  for (const auto kernel : {ExchangeKernel::library, ExchangeKernel::pieces, ExchangeKernel::deepep,
                            ExchangeKernel::hybridep})
    EXPECT_EQ(held(spec, first_devices(8), kernel), 0);
}

}  // namespace
}  // namespace stepcast::test
