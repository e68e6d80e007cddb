#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "collective_fabrics.hpp"
#include "lowering_fixtures.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {
namespace {

using namespace lowering;
using Dispatch = MoeSpec::Dispatch;
constexpr double MiB = 1048576;

struct Case {
  std::int64_t hidden, experts, top_k, groups, top_groups, nodes, tokens;
};
constexpr Case telechat{2560, 192, 4, 1, 1, 2, 4096};
constexpr Case deepseek{7168, 256, 8, 8, 4, 8, 4096};
constexpr Case pangu{7680, 256, 8, 1, 1, 4, 1024};

/// Expert groups over whole nodes of eight devices.
WorkloadSpec spec_of(const Case& c, Dispatch dispatch) {
  ModelSpec model = small_moe();
  model.hidden = c.hidden;
  model.moe = ExpertSpec{.first_dense = 1,
                         .experts = c.experts,
                         .top_k = c.top_k,
                         .expert_hidden = 256,
                         .shared_experts = 1,
                         .shared_hidden = 256,
                         .groups = c.groups,
                         .top_groups = c.top_groups};
  WorkloadSpec spec = workload(model);
  spec.training.sequence = c.tokens;
  spec.plan.dp = spec.plan.ep = 8 * c.nodes;
  spec.moe.dispatch = dispatch;
  if (spec.moe.cuts_groups()) spec.plan.expert_part = 8;
  return spec;
}

struct Volume {
  double inter = 0, intra = 0;  ///< MiB that a rank sends (gathers: receives)
};

/// Of the calls whose names begin so, in a layer of the spec.
Volume volume(const LayerItems& items, const WorkloadSpec& spec, const std::string& prefix) {
  const double ep = static_cast<double>(spec.plan.ep), local = 8, nodes = ep / local;
  Volume v;
  for (const LayerItem& item : items) {
    const auto* call = std::get_if<LayerCommunication>(&item);
    if (!call || !call->name.starts_with(prefix)) continue;
    const double bytes = call->call.bytes.value() / MiB;
    switch (call->group) {
      case GroupKind::expert:
        v.inter += bytes * (nodes - 1) / nodes;
        v.intra += bytes * (local - 1) / ep;
        break;
      case GroupKind::expert_inner:
        v.intra += bytes * (local - 1) / local;
        break;
      case GroupKind::expert_outer:
        v.inter += bytes * (nodes - 1) / nodes;
        break;
      case GroupKind::tensor:
      case GroupKind::context:
      case GroupKind::data:
      case GroupKind::pipeline:
      case GroupKind::expert_tensor:
      case GroupKind::expert_data:
      case GroupKind::dense_data:
      case GroupKind::embedding:
      case GroupKind::mirror:
      case GroupKind::world:
      case GroupKind::dense_shard:
      case GroupKind::dense_replica:
      case GroupKind::expert_shard:
      case GroupKind::expert_replica:
        ADD_FAILURE() << "a group that no dispatch uses";
    }
  }
  return v;
}

LayerItems forward_items(const WorkloadSpec& spec) {
  return transformer_layer(context(spec), LayerKind::moe).forward;
}

Volume dispatched(const Case& c, Dispatch dispatch) {
  const WorkloadSpec spec = spec_of(c, dispatch);
  return volume(forward_items(spec), spec, "dispatch");
}

void expect_volume(const Case& c, Dispatch dispatch, double inter, double intra, double digit) {
  const Volume v = dispatched(c, dispatch);
  EXPECT_NEAR(v.inter, inter, digit / 2);
  EXPECT_NEAR(v.intra, intra, 0.5);
}

TEST(ExpertExchange, ATokenIsExpectedOnSoManyNodes) {
  const auto expected = [](double nodes, double experts, double k) {
    return expected_parts(nodes, experts, k, nodes);
  };
  EXPECT_NEAR(expected(8, 256, 8), 5.295, 5e-4);
  EXPECT_NEAR(expected(4, 256, 8), 3.614, 5e-4);
  EXPECT_NEAR(expected(2, 256, 8), 1.993, 5e-4);
  EXPECT_NEAR(expected(2, 192, 4), 1.879, 5e-4);
  EXPECT_NEAR(expected(4, 192, 4), 2.748, 5e-4);
  EXPECT_NEAR(expected(8, 192, 4), 3.332, 5e-4);
}

TEST(ExpertExchange, NodesOfATokenByCounting) {
  // 2 of 6 experts on 3 nodes: 15 pairs, 3 of them on one node
  EXPECT_NEAR(expected_parts(3, 6, 2, 3), (3 * 1 + 12 * 2) / 15.0, 1e-12);
}

TEST(ExpertExchange, GroupLimitedRoutingCapsTheNodes) {
  const ExpertSpec v3{.experts = 256, .top_k = 8, .groups = 8, .top_groups = 4};
  EXPECT_EQ(most_parts(v3, 8), 4);
  EXPECT_EQ(most_parts(v3, 4), 4);   // two groups per node: no cap below the four nodes
  EXPECT_EQ(most_parts(v3, 16), 8);  // a group lies on two nodes
}

// Printed volumes of one dispatch and rank, MiB: docs/models/expert_parallel.md.
TEST(ExpertExchange, VolumesOfTeleChat3) {
  expect_volume(telechat, Dispatch::flat, 40, 35, 1);
  expect_volume(telechat, Dispatch::two_hop, 40, 70, 1);
  expect_volume(telechat, Dispatch::two_hop_dedup, 18.8, 64.2, 0.1);
  expect_volume(telechat, Dispatch::hierarchical_allgather, 20, 70, 1);
}

TEST(ExpertExchange, VolumesOfDeepSeekV3) {
  expect_volume(deepseek, Dispatch::flat, 392, 49, 1);
  expect_volume(deepseek, Dispatch::two_hop_dedup, 196, 361, 1);
  expect_volume(deepseek, Dispatch::hierarchical_allgather, 392, 392, 1);
}

TEST(ExpertExchange, VolumesOfPanguUltraMoE) {
  expect_volume(pangu, Dispatch::flat, 90, 26, 1);
  expect_volume(pangu, Dispatch::two_hop_dedup, 40.7, 95.4, 0.1);
  expect_volume(pangu, Dispatch::hierarchical_allgather, 45, 105, 1);
}

TEST(ExpertExchange, GatheringMovesEveryTokenToEveryRank) {
  const WorkloadSpec spec = spec_of(telechat, Dispatch::allgather);
  const Volume v = volume(forward_items(spec), spec, "dispatch");
  EXPECT_NEAR(v.inter + v.intra, 15 * 4096.0 * 2560 * 2 / MiB, 1e-9);
}

constexpr Dispatch all_schemes[] = {Dispatch::flat, Dispatch::two_hop, Dispatch::two_hop_dedup,
                                    Dispatch::hierarchical_allgather, Dispatch::allgather};

// With bf16 on the wire the way back carries what the way there carried, in both passes.
TEST(ExpertExchange, TheWayBackCarriesAsMuch) {
  for (const Dispatch dispatch : all_schemes) {
    const WorkloadSpec spec = spec_of(pangu, dispatch);
    const Passes layer = transformer_layer(context(spec), LayerKind::moe);
    const Volume there = volume(layer.forward, spec, "dispatch");
    for (const Volume& v :
         {volume(layer.forward, spec, "combine"), volume(layer.backward, spec, "combine backward"),
          volume(layer.backward, spec, "dispatch backward")}) {
      EXPECT_NEAR(v.inter, there.inter, 1e-9);
      EXPECT_NEAR(v.intra, there.intra, 1e-9);
    }
  }
}

TEST(ExpertExchange, Fp8CarriesAByteAndAScalePer128ElementsThere) {
  for (const Dispatch dispatch : all_schemes) {
    WorkloadSpec spec = spec_of(deepseek, dispatch);
    const Passes wide = transformer_layer(context(spec), LayerKind::moe);
    spec.moe.wire = MoeSpec::Wire::fp8;
    const Passes narrow = transformer_layer(context(spec), LayerKind::moe);
    const double part = (1 + 4.0 / 128) / 2;
    EXPECT_NEAR(volume(narrow.forward, spec, "dispatch").inter,
                part * volume(wide.forward, spec, "dispatch").inter, 1e-9);
    EXPECT_NEAR(volume(narrow.backward, spec, "combine backward").intra,
                part * volume(wide.backward, spec, "combine backward").intra, 1e-9);
    EXPECT_EQ(volume(narrow.forward, spec, "combine").inter,
              volume(wide.forward, spec, "combine").inter);
    EXPECT_EQ(volume(narrow.backward, spec, "dispatch backward").inter,
              volume(wide.backward, spec, "dispatch backward").inter);
  }
}

double bytes_named(const LayerItems& items, const std::string& name) {
  double sum = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item); op != nullptr && op->name == name)
      sum += op->bytes.value();
  return sum;
}

TEST(ExpertExchange, Fp8CarriesAByteAndAScalePer128ElementsBack) {
  for (const Dispatch dispatch : {Dispatch::flat, Dispatch::two_hop, Dispatch::two_hop_dedup}) {
    WorkloadSpec spec = spec_of(deepseek, dispatch);
    const Passes wide = transformer_layer(context(spec), LayerKind::moe);
    spec.moe.combine = MoeSpec::Wire::fp8;
    const Passes narrow = transformer_layer(context(spec), LayerKind::moe);
    EXPECT_NEAR(volume(narrow.backward, spec, "dispatch backward").inter,
                (1 + 4.0 / 128) / 2 * volume(wide.backward, spec, "dispatch backward").inter, 1e-9);
    EXPECT_EQ(volume(narrow.forward, spec, "dispatch").inter,
              volume(wide.forward, spec, "dispatch").inter);
    if (dispatch != Dispatch::flat) continue;
    const double rows = 4096.0 * 8 * 7168;  // read in one precision and written in the other
    EXPECT_NEAR(bytes_named(narrow.forward, "combine to fp8"), rows * (2 + 1 + 4.0 / 128), 1);
    EXPECT_NEAR(bytes_named(narrow.backward, "dispatch backward to fp8"),
                rows * (2 + 1 + 4.0 / 128), 1);
  }
}

int read_backs(const LayerItems& items) {
  return static_cast<int>(std::ranges::count_if(
      items, [](const LayerItem& i) { return std::holds_alternative<HostReadback>(i); }));
}

TEST(ExpertExchange, VariableSplitsAreReadBack) {
  EXPECT_EQ(read_backs(forward_items(spec_of(pangu, Dispatch::flat))), 1);
  EXPECT_EQ(read_backs(forward_items(spec_of(pangu, Dispatch::two_hop_dedup))), 2);
  EXPECT_EQ(read_backs(forward_items(spec_of(pangu, Dispatch::hierarchical_allgather))), 1);
}

TEST(ExpertExchange, OnOneNodeEverySchemeButTheGatherIsFlat) {
  Case one = telechat;
  one.nodes = 1;
  const auto sent = [&](const LayerItems& items) {
    return traffic(items, GroupKind::expert, CollectiveKind::all_to_all).bytes;
  };
  const LayerItems flat = forward_items(spec_of(one, Dispatch::flat));
  for (const Dispatch dispatch : {Dispatch::two_hop, Dispatch::hierarchical_allgather}) {
    const LayerItems items = forward_items(spec_of(one, dispatch));
    EXPECT_EQ(items.size(), flat.size());
    EXPECT_EQ(sent(items), sent(flat));
  }
  const LayerItems once = forward_items(spec_of(one, Dispatch::two_hop_dedup));
  EXPECT_EQ(once.size(), flat.size());
  const double row = 2 * 2560.0, spared = 4 - expected_parts(8, 192, 4, 8);
  EXPECT_NEAR(sent(flat) - sent(once), 2 * 4096 * row * spared, 1);
}

// Distinct ranks of a token: 8 of 256 experts on 8 to 64 ranks, and 4 of 8 nodes.
TEST(ExpertExchange, ATokenReachesSoManyRanks) {
  const auto ranks = [](std::int64_t experts, std::int64_t k, double ep, std::int64_t top = 1,
                        std::int64_t groups = 1) {
    return expected_ranks({.experts = experts, .top_k = k, .groups = groups, .top_groups = top},
                          ep);
  };
  EXPECT_NEAR(ranks(256, 8, 8), 5.295, 5e-3);
  EXPECT_NEAR(ranks(256, 8, 16), 6.52, 5e-3);
  EXPECT_NEAR(ranks(256, 8, 32), 7.27, 5e-3);
  EXPECT_NEAR(ranks(256, 8, 64), 7.68, 5e-3);
  EXPECT_NEAR(ranks(256, 8, 64, 4, 8), 7.36, 5e-3);
  EXPECT_NEAR(ranks(64, 6, 8), 4.54, 5e-3);
  EXPECT_NEAR(ranks(160, 6, 8), 4.46, 5e-3);
  EXPECT_NEAR(ranks(128, 8, 8), 5.34, 5e-3);
}

// etp 1 lets the expert group run over the tensor ranks too (MindSpeed --moe-tp-extend-ep): each
// rank sends its part of the tokens, and no expert is cut.
TEST(ExpertExchange, ExpertGroupsExtendOverTensorRanks) {
  WorkloadSpec spec = spec_of(telechat, Dispatch::flat);
  const double alone = volume(forward_items(spec), spec, "dispatch").inter;
  spec.plan.tp = 8;
  spec.plan.dp = 2;
  EXPECT_NEAR(volume(forward_items(spec), spec, "dispatch").inter, alone / 8, 1e-9);
  EXPECT_EQ(
      traffic(forward_items(spec), GroupKind::expert_tensor, CollectiveKind::all_gather).calls, 0);
}

/// Every WaitFor follows its communication, and every overlapped one is waited for once.
void expect_waits(const LayerItems& items) {
  std::set<CommunicationId> under_way;
  for (const LayerItem& item : items) {
    if (const auto* call = std::get_if<LayerCommunication>(&item)) {
      if (!call->overlapped) continue;
      EXPECT_NE(call->id.role, CommunicationRole::other) << call->name;
      EXPECT_TRUE(under_way.insert(call->id).second) << call->name;
    } else if (const auto* wait = std::get_if<WaitFor>(&item)) {
      EXPECT_EQ(under_way.erase(wait->id), 1U);
    }
  }
  EXPECT_TRUE(under_way.empty());
}

TEST(ExpertExchange, PiecesCarryAndComputeWhatTheWholeDoes) {
  for (const Dispatch dispatch : all_schemes)
    for (const auto overlap : {MoeSpec::Overlap::chunks, MoeSpec::Overlap::tiles}) {
      WorkloadSpec spec = spec_of(pangu, dispatch);
      const Passes whole = transformer_layer(context(spec), LayerKind::moe);
      spec.moe.overlap = overlap;
      spec.moe.pieces = 4;
      const Passes pieces = transformer_layer(context(spec), LayerKind::moe);
      for (const LayerItems* items : {&pieces.forward, &pieces.backward, &pieces.backward_input})
        expect_waits(*items);
      EXPECT_NEAR(total_flops(pieces.forward) / total_flops(whole.forward), 1, 1e-12);
      EXPECT_NEAR(total_flops(pieces.backward) / total_flops(whole.backward), 1, 1e-12);
      for (const char* name : {"dispatch", "combine"}) {
        EXPECT_NEAR(volume(pieces.forward, spec, name).inter,
                    volume(whole.forward, spec, name).inter, 1e-9);
        EXPECT_NEAR(volume(pieces.backward, spec, name).intra,
                    volume(whole.backward, spec, name).intra, 1e-9);
      }
    }
}

TEST(ExpertExchange, SharedExpertsRunBesideTheWidestHop) {
  WorkloadSpec spec = spec_of(telechat, Dispatch::two_hop_dedup);
  spec.moe.overlap = MoeSpec::Overlap::shared_expert;
  const Passes layer = transformer_layer(context(spec), LayerKind::moe);
  expect_waits(layer.forward);
  expect_waits(layer.backward);
  for (const LayerItems* items : {&layer.forward, &layer.backward}) {
    EXPECT_EQ(traffic(*items, GroupKind::expert_outer, CollectiveKind::all_to_all).overlapped, 2);
    EXPECT_EQ(traffic(*items, GroupKind::expert_inner, CollectiveKind::all_to_all).overlapped, 0);
  }
}

TEST(ExpertExchange, RandomRoutingHasNoRouter) {
  WorkloadSpec spec = spec_of(telechat, Dispatch::flat);
  EXPECT_GT(product_flops(forward_items(spec), "router"), 0);
  spec.moe.routing.distribution = RoutingSpec::Distribution::random;
  EXPECT_EQ(product_flops(forward_items(spec), "router"), 0);
}

TEST(TensorChunks, CarryAndComputeWhatTheWholeDoes) {
  for (const bool sequence_parallel : {true, false}) {
    WorkloadSpec spec = workload(small_dense());
    spec.plan.tp = 4;
    spec.plan.sequence_parallel = sequence_parallel;
    LayerContext layer = context(spec);
    const Passes whole = transformer_layer(layer, LayerKind::dense);
    layer.tensor_chunks = 4;
    const Passes pieces = transformer_layer(layer, LayerKind::dense);
    for (const auto kind :
         {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      EXPECT_NEAR(traffic(pieces.forward, GroupKind::tensor, kind).bytes,
                  traffic(whole.forward, GroupKind::tensor, kind).bytes, 1e-6);
      EXPECT_NEAR(traffic(pieces.backward, GroupKind::tensor, kind).bytes,
                  traffic(whole.backward, GroupKind::tensor, kind).bytes, 1e-6);
    }
    EXPECT_NEAR(total_flops(pieces.forward) / total_flops(whole.forward), 1, 1e-12);
    EXPECT_NEAR(total_flops(pieces.backward) / total_flops(whole.backward), 1, 1e-12);
    const auto all =
        traffic(pieces.forward, GroupKind::tensor,
                sequence_parallel ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce);
    EXPECT_EQ(all.overlapped, all.calls);
    expect_waits(pieces.forward);
    expect_waits(pieces.backward);
  }
}

/// Longest of the sums of bytes that leave and reach a member.
double busiest_port(const std::vector<double>& factor, bool senders, double per_pair) {
  double busiest = 0;
  for (std::size_t a = 0; a < factor.size(); ++a) {
    double out = 0, in = 0;
    for (std::size_t b = 0; b < factor.size(); ++b) {
      if (a == b) continue;
      out += per_pair * factor[senders ? a : b];
      in += per_pair * factor[senders ? b : a];
    }
    busiest = std::max({busiest, out, in});
  }
  return busiest;
}

// One port per member and no latency: a skewed exchange takes as long as its hottest port.
TEST(SkewedExchange, TakesAsLongAsTheHottestPort) {
  test::Shape shape{.nodes = 1, .per_node = 8, .node_step = Seconds{0}, .step = Seconds{0}};
  const ClusterSpec cluster = test::switched(shape);
  EXPECT_TRUE(rc::check([&] {
    CollectiveCall call{CollectiveKind::all_to_all, Bytes{8e6}};
    for (int i = 0; i < 8; ++i) call.skew.factor.push_back(*rc::gen::inRange(0, 30) / 10.0);
    call.skew.factor[0] += 0.1;
    call.skew.senders = *rc::gen::arbitrary<bool>();
    const double expected = busiest_port(call.skew.factor, call.skew.senders, 1e6) / 30e9;
    for (const char* algorithm : {"mesh", "pairwise"}) {
      const double time = test::time_of(cluster, call, algorithm);
      RC_ASSERT(std::abs(time - expected) <= 1e-9 * expected);
    }
  }));
}

TEST(SkewedExchange, OfEqualFactorsIsTheEvenOne) {
  for (const std::int64_t nodes : {1, 4})
    for (const char* algorithm : {"pairwise", "hierarchical", "auto"}) {
      if (nodes == 1 && algorithm == std::string("hierarchical")) continue;
      const ClusterSpec cluster = test::cluster({.nodes = nodes, .per_node = 4});
      CollectiveCall call{CollectiveKind::all_to_all, Bytes{64e6}};
      const double even = test::time_of(cluster, call, algorithm);
      call.skew.factor.assign(static_cast<std::size_t>(4 * nodes), 1);
      EXPECT_NEAR(test::time_of(cluster, call, algorithm), even, 1e-9 * even) << algorithm;
    }
}

}  // namespace
}  // namespace stepcast
