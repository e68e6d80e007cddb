#include <gtest/gtest.h>

#include <numeric>

#include "lowering_fixtures.hpp"
#include "stepcast/workloads/expert_loads.hpp"

/// What exceeds the capacity of its expert stays where it is. docs/models/expert_parallel.md.
namespace stepcast {
namespace {

using namespace lowering;
using Dispatch = MoeSpec::Dispatch;

WorkloadSpec two_nodes(Dispatch dispatch) {
  ModelSpec model = small_moe();
  model.moe = ExpertSpec{.first_dense = 1, .experts = 64, .top_k = 8, .expert_hidden = 256};
  WorkloadSpec spec = workload(model);
  spec.training.sequence = 4096;
  spec.plan.dp = spec.plan.ep = 16;
  spec.moe.dispatch = dispatch;
  if (spec.moe.cuts_groups()) spec.plan.expert_part = 8;
  return spec;
}

/// Bytes that a mean rank sends in a forward pass, over all hops of the dispatch.
double dispatched(const WorkloadSpec& spec) {
  const ExpertLoads loads = expert_loads(spec);
  LayerContext layer = context(spec);
  layer.load = loads.largest();
  layer.loads = &loads;
  double sum = 0;
  for (const LayerItem& item : transformer_layer(layer, LayerKind::moe).forward) {
    const auto* call = std::get_if<LayerCommunication>(&item);
    if (call == nullptr || !call->name.starts_with("dispatch")) continue;
    const std::vector<double>& skew = call->call.skew.factor;
    const double mean = skew.empty() ? 1
                                     : std::accumulate(skew.begin(), skew.end(), 0.0) /
                                           static_cast<double>(skew.size());
    sum += call->call.bytes.value() * mean;
  }
  return sum;
}

// Whole pairs: 10 pairs of 4 experts are 2.5 each.
TEST(DroppedPairs, CapacityIsOfWholePairs) {
  MoeSpec moe;
  EXPECT_DOUBLE_EQ(capacity_over_mean(moe, 10, 4), 3 / 2.5);
  moe.capacity_factor = 1.3;
  EXPECT_DOUBLE_EQ(capacity_over_mean(moe, 10, 4), 4 / 2.5);
}

/// Every expert has as many pairs, and a part of each is dropped.
TEST(DroppedPairs, DoNotTravel) {
  for (const Dispatch dispatch : {Dispatch::flat, Dispatch::two_hop}) {
    WorkloadSpec spec = two_nodes(dispatch);
    const double whole = dispatched(spec);
    for (const double kept : {1.0, 0.75, 0.5, 0.125}) {
      spec.moe.capacity_factor = kept;
      EXPECT_NEAR(dispatched(spec), kept * whole, 1e-9 * whole);
    }
  }
}

/// Popular experts drop more: what a mean rank sends is what all of them keep.
TEST(DroppedPairs, OfUnevenExpertsDoNotTravelEither) {
  for (const Dispatch dispatch : {Dispatch::flat, Dispatch::two_hop}) {
    WorkloadSpec spec = two_nodes(dispatch);
    const double whole = dispatched(spec);
    spec.moe.routing.distribution = RoutingSpec::Distribution::zipf;
    for (const double capacity : {2.0, 1.0, 0.5}) {
      spec.moe.capacity_factor = capacity;
      const double kept = 1 - expert_loads(spec).dropped;
      EXPECT_NEAR(dispatched(spec), kept * whole, 1e-9 * whole);
    }
  }
}

/// A token that keeps fewer experts goes to fewer nodes and ranks, but to one for each at most.
TEST(DroppedPairs, LeaveTokensThatGoToFewerRanks) {
  WorkloadSpec spec = two_nodes(Dispatch::two_hop_dedup);
  const double whole = dispatched(spec);
  double before = whole;
  for (const double kept : {0.75, 0.5, 0.125}) {
    spec.moe.capacity_factor = kept;
    const double now = dispatched(spec);
    EXPECT_LT(now, before);
    EXPECT_GT(now, kept * whole);
    before = now;
  }
}

}  // namespace
}  // namespace stepcast
