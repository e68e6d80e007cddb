#include <gtest/gtest.h>

#include <algorithm>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/rewrites.hpp"

// The routed experts of a layer by themselves are the items that the layer runs between its router
// and what stands behind the sums of its tokens.
namespace stepcast {
namespace {

using namespace lowering;

WorkloadSpec routed_spec(MoeSpec::Dispatch dispatch = MoeSpec::Dispatch::flat) {
  WorkloadSpec spec = workload(small_moe());
  spec.plan.dp = 4;
  spec.plan.ep = 4;
  spec.moe.dispatch = dispatch;
  return spec;
}

std::vector<std::string> names(const LayerItems& items) {
  std::vector<std::string> list;
  for (const LayerItem& item : items) {
    if (const auto* op = std::get_if<Operator>(&item)) list.push_back(op->name);
    if (const auto* call = std::get_if<LayerCommunication>(&item)) list.push_back(call->name);
  }
  return list;
}

std::vector<std::string> between(const LayerItems& items, const std::string& first,
                                 const std::string& last) {
  const std::vector<std::string> all = names(items);
  const auto from = std::ranges::find(all, first);
  const auto to = std::find(from, all.end(), last);
  EXPECT_TRUE(from != all.end() && to != all.end());
  return {from, to + 1};
}

TEST(ExpertModule, IsTheLayerFromPermutationToSums) {
  const WorkloadSpec spec = routed_spec();
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  const Passes module = expert_module(context(spec));
  EXPECT_EQ(names(module.forward), between(layer.forward, "permute", "unpermute"));
  std::vector<std::string> back = between(layer.backward, "unpermute backward", "permute backward");
  std::erase_if(back, [](const std::string& name) { return name.starts_with("shared expert"); });
  EXPECT_EQ(names(module.backward), back);
}

TEST(ExpertModule, HasEveryProductOfTheRoutedExperts) {
  const WorkloadSpec spec = routed_spec();
  const ExpertSpec& experts = *spec.model.moe;
  const double pairs = static_cast<double>(spec.training.sequence * experts.top_k);
  const double products =
      6 * pairs * static_cast<double>(spec.model.hidden * experts.expert_hidden);
  const auto sum = [](const LayerItems& items) {
    double flops = 0;
    for (const LayerItem& item : items)
      if (const auto* op = std::get_if<Operator>(&item);
          op != nullptr && std::holds_alternative<GroupedMatmulWork>(op->work))
        flops += op->flops.value();
    return flops;
  };
  const Passes module = expert_module(context(spec));
  EXPECT_DOUBLE_EQ(sum(module.forward), products);
  EXPECT_DOUBLE_EQ(sum(module.backward), 2 * products);
}

}  // namespace
}  // namespace stepcast
