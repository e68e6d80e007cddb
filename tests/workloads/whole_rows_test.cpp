#include <gtest/gtest.h>

#include "lowering_fixtures.hpp"

// Tensor ranks that share experts exchange a part of the rows each, or all of them
// (moe.group_wise_a2a).
namespace stepcast {
namespace {

using namespace lowering;

constexpr double token_bytes = 2048 * 1024 * 2;    ///< of a tensor group
constexpr double all_row_bytes = 4 * token_bytes;  ///< each to four experts

/// Two tensor ranks that share experts, two expert ranks.
WorkloadSpec tensor_experts(bool group_wise) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.tp = spec.plan.etp = 2;
  spec.plan.dp = spec.plan.ep = 2;
  spec.plan.sequence_parallel = true;
  spec.moe.capacity_factor = 1;
  spec.moe.capacity_pad = true;
  spec.moe.group_wise_a2a = group_wise;
  return spec;
}

Passes moe_layer_of(const WorkloadSpec& spec) {
  return transformer_layer(context(spec), LayerKind::moe);
}

double flops_named(const LayerItems& items, const std::string& prefix) {
  double sum = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item); op && op->name.starts_with(prefix))
      sum += op->flops.value();
  return sum;
}

double sent_bytes(const LayerItems& items, GroupKind group, CollectiveKind kind) {
  return traffic(items, group, kind).bytes;
}

TEST(WholeRows, AreExchangedByEachTensorRank) {
  const Passes part = moe_layer_of(tensor_experts(true)),
               whole = moe_layer_of(tensor_experts(false));
  for (const auto pass : {&Passes::forward, &Passes::backward}) {
    const auto sent = [&](const Passes& layer) {
      return sent_bytes(layer.*pass, GroupKind::expert, CollectiveKind::all_to_all);
    };
    EXPECT_DOUBLE_EQ(sent(part), all_row_bytes);
    EXPECT_DOUBLE_EQ(sent(whole), 2 * all_row_bytes);
  }
}

TEST(WholeRows, AreAddedUpOverTheTensorRanksNotGathered) {
  const Passes part = moe_layer_of(tensor_experts(true)),
               whole = moe_layer_of(tensor_experts(false));
  constexpr auto group = GroupKind::expert_tensor;
  for (const auto pass : {&Passes::forward, &Passes::backward}) {
    for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      EXPECT_DOUBLE_EQ(sent_bytes(part.*pass, group, kind), all_row_bytes);
      EXPECT_EQ(traffic(whole.*pass, group, kind).calls, 0);
    }
    EXPECT_EQ(traffic(part.*pass, group, CollectiveKind::all_reduce).calls, 0);
    EXPECT_DOUBLE_EQ(sent_bytes(whole.*pass, group, CollectiveKind::all_reduce), all_row_bytes);
  }
}

TEST(WholeRows, NeedAllTokensOfTheirGroup) {
  WorkloadSpec part = tensor_experts(true), whole = tensor_experts(false);
  constexpr auto group = GroupKind::tensor;
  const auto more = [&](LayerItems Passes::*pass, CollectiveKind kind) {
    return sent_bytes(moe_layer_of(whole).*pass, group, kind) -
           sent_bytes(moe_layer_of(part).*pass, group, kind);
  };
  EXPECT_DOUBLE_EQ(more(&Passes::forward, CollectiveKind::all_gather), token_bytes);
  EXPECT_DOUBLE_EQ(more(&Passes::backward, CollectiveKind::reduce_scatter), token_bytes);
  part.plan.sequence_parallel = whole.plan.sequence_parallel = false;
  // each rank has them; where it takes a part, outputs are gathered
  EXPECT_DOUBLE_EQ(more(&Passes::forward, CollectiveKind::all_gather), -token_bytes);
  EXPECT_DOUBLE_EQ(more(&Passes::backward, CollectiveKind::reduce_scatter), 0);
}

TEST(WholeRows, AreRoutedTwiceAndMultipliedOnce) {
  const LayerItems part = moe_layer_of(tensor_experts(true)).forward;
  const LayerItems whole = moe_layer_of(tensor_experts(false)).forward;
  EXPECT_DOUBLE_EQ(flops_named(whole, "router"), 2 * flops_named(part, "router"));
  EXPECT_DOUBLE_EQ(flops_named(whole, "experts"), flops_named(part, "experts"));
  EXPECT_GT(flops_named(part, "experts"), 0);
}

TEST(WholeRows, TravelInPiecesAsParts) {
  WorkloadSpec spec = tensor_experts(false);
  const Passes whole = moe_layer_of(spec);
  spec.moe.overlap = MoeSpec::Overlap::chunks;
  spec.moe.pieces = 4;
  const Passes pieces = moe_layer_of(spec);
  const auto sent = [](const LayerItems& items) {
    return sent_bytes(items, GroupKind::expert, CollectiveKind::all_to_all);
  };
  EXPECT_DOUBLE_EQ(sent(pieces.forward), sent(whole.forward));
  EXPECT_DOUBLE_EQ(sent_bytes(pieces.forward, GroupKind::expert_tensor, CollectiveKind::all_reduce),
                   sent_bytes(whole.forward, GroupKind::expert_tensor, CollectiveKind::all_reduce));
}

}  // namespace
}  // namespace stepcast
