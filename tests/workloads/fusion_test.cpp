#include "stepcast/workloads/fusion.hpp"

#include <gtest/gtest.h>

#include "lowering_fixtures.hpp"

namespace stepcast {
namespace {

using namespace lowering;
using Fusion = RuntimeSpec::Fusion;

using Role = OperatorRole;

const DeviceSpec plain = plain_cluster().device;

Operator vector_op(Role role, double flops, double bytes, std::string name = "row") {
  return {.name = std::move(name),
          .work = MemoryBoundWork{},
          .flops = Flops{flops},
          .bytes = Bytes{bytes},
          .role = role};
}

std::vector<Operator> fused_operators(const LayerItems& items) {
  std::vector<Operator> all;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item)) all.push_back(*op);
  return all;
}

double all_bytes(const LayerItems& items) {
  double sum = 0;
  for (const Operator& op : fused_operators(items)) sum += op.bytes.value();
  return sum;
}

// Of u bytes each: the sum is written once and not read again by the norm.
TEST(Fusion, ResidualAndNormReadTheirSumOnce) {
  const LayerItems items{vector_op(Role::residual, 1, 3, "attention residual"),
                         vector_op(Role::norm, 4, 2, "ffn norm")};
  const auto fused = fused_operators(fuse(items, Fusion::pattern, plain));
  ASSERT_EQ(fused.size(), 1U);
  EXPECT_EQ(fused[0].bytes.value(), 4);
  EXPECT_EQ(fused[0].flops.value(), 5);
  EXPECT_EQ(fused[0].name, "attention residual + ffn norm");
  EXPECT_EQ(fused_operators(fuse(items, Fusion::none, plain)).size(), 2U);
}

// post norm reads u and writes u, residual reads 2 u and writes u, norm reads u and writes u: in
// one, x and the residual are read, the sum and the norm written.
TEST(Fusion, AChainOfThreeKeepsWhatLeavesIt) {
  const LayerItems items{vector_op(Role::post_norm, 4, 2), vector_op(Role::residual, 1, 3),
                         vector_op(Role::norm, 4, 2)};
  EXPECT_EQ(fused_operators(fuse(items, Fusion::pattern, plain)).size(), 2U);
  const auto fused = fused_operators(fuse(items, Fusion::dvm, plain));
  ASSERT_EQ(fused.size(), 1U);
  EXPECT_DOUBLE_EQ(fused[0].bytes.value(), 4);
}

TEST(Fusion, CommunicationEndsAChain) {
  const LayerItems items{
      vector_op(Role::residual, 1, 3),
      LayerCommunication{"gather", GroupKind::tensor, {CollectiveKind::all_gather, Bytes{1}}},
      vector_op(Role::norm, 4, 2)};
  EXPECT_EQ(fused_operators(fuse(items, Fusion::dvm, plain)).size(), 2U);
}

TEST(Fusion, EachPatternNamesItsSourceAndSavesNoMoreThanThereIs) {
  for (const FusionPattern& p : fusion_patterns()) {
    const auto at = &p - fusion_patterns().data();
    EXPECT_FALSE(p.source.empty()) << "row " << at;
    EXPECT_LE((p.kept ? 1 : 2) * p.read, 1) << "row " << at;
    EXPECT_NE(p.from, Fusion::none);
    for (const auto* roles : {&p.first, &p.second}) {
      EXPECT_FALSE(roles->empty()) << "row " << at;
      EXPECT_EQ(std::ranges::count(*roles, Role::other), 0) << "row " << at;
    }
  }
}

TEST(Fusion, KeepsTheWorkOfALayerAndItsCommunications) {
  EXPECT_TRUE(rc::check([] {
    const WorkloadSpec spec = any_workload();
    const Passes passes =
        transformer_layer(context(spec), spec.model.moe ? LayerKind::moe : LayerKind::dense);
    const Fusion fusion = *rc::gen::element(Fusion::pattern, Fusion::dvm);
    for (const LayerItems* items : {&passes.forward, &passes.backward}) {
      const LayerItems fused = fuse(*items, fusion, plain);
      RC_ASSERT(std::abs(total_flops(fused).value() - total_flops(*items).value()) <=
                1e-12 * total_flops(*items).value());
      // Libraries have no kernel for the chains of the backward pass.
      const bool joins = items == &passes.forward || fusion == Fusion::dvm;
      RC_ASSERT((all_bytes(fused) < all_bytes(*items)) == joins);
      RC_ASSERT((fused.size() < items->size()) == joins);
      RC_ASSERT(product_flops(fused) == product_flops(*items));
      RC_ASSERT(fused.size() - fused_operators(fused).size() ==
                items->size() - fused_operators(*items).size());
    }
  }));
}

StageProgram lowered(const WorkloadSpec& spec, const ClusterSpec& cluster) {
  return lower_stage(spec, assign_layers(spec, cluster), cluster, Stage{0});
}

double host_time(const StageProgram& program, const Instructions& code) {
  double sum = 0;
  for (const Instruction& i : code)
    if (const auto* run = std::get_if<Compute>(&i))
      for (const OperatorCost& op : program.segments[run->segment].operators()) sum += op.main;
  return sum;
}

// 7 layers of experts; forward: sort, two products, activation, unsort, of which the sorts fall
// away with one expert rank.
TEST(Compile, NewShapesOfRoutedOperatorsCostTheHost) {
  WorkloadSpec spec = workload(small_moe());
  ClusterSpec cluster = plain_cluster();
  cluster.host.compile_bytecode = Seconds{50e-6};
  cluster.host.compile_kernel = Seconds{1};
  const auto forward = [&](Fusion fusion, double misses) {
    spec.runtime.fusion = fusion;
    spec.runtime.compile_misses = misses;
    const StageProgram program = lowered(spec, cluster);
    return host_time(program, program.chunks[0].forward);
  };
  const double dvm = forward(Fusion::dvm, 0);
  EXPECT_NEAR(forward(Fusion::dvm, 0.5) - dvm, 7 * 3 * 0.5 * 50e-6, 1e-12);
  const double none = forward(Fusion::none, 0);
  EXPECT_NEAR(forward(Fusion::none, 0.5) - none, 7 * 3 * 0.5, 1e-9);
}

}  // namespace
}  // namespace stepcast
