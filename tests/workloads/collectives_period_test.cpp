#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "stepcast/workloads/collectives.hpp"

/// Plans that list the links of one period only, against those that list all.
namespace stepcast {
namespace {

using namespace literals;

/// Members lie alike in each of some parts of the fabric.
struct Repeated {
  ClusterSpec cluster;
  std::vector<DeviceId> members;
  std::size_t period;  ///< members of a part
  std::uint32_t part;  ///< its devices
};

NodeFabric random_node() {
  const std::vector<GridDimension> sides{{2, {20_GBps, 1_us}}, {2, {12_GBps, 2_us}}};
  return *rc::gen::element<NodeFabric>(MeshFabric{{20_GBps, 1_us}, 1},
                                       SwitchFabric{{60_GBps, 1_us}, 1},
                                       GroupFabric{2, {20_GBps, 1_us}, {9_GBps, 1_us}, 1},
                                       FullMeshFabric{sides}, TorusFabric{sides});
}

Repeated random_repeated() {
  Repeated r;
  ClusterSpec& c = r.cluster;
  c.node_devices = 4;
  c.node_fabric = random_node();
  c.network.nic.link = {25_GBps, 2_us};
  c.network.nic.per = *rc::gen::element(NicSpec::Per::device, NicSpec::Per::node);
  c.network.kind =
      *rc::gen::element(NetworkSpec::Kind::leaf_spine, NetworkSpec::Kind::rail_optimized,
                        NetworkSpec::Kind::single_switch);
  c.network.leaf_ports = 2;
  c.network.oversubscription = *rc::gen::element(1.0, 2.0, 3.0);
  c.network.pod_leaves = *rc::gen::element<std::int64_t>(0, 2);
  c.network.pod_oversubscription = *rc::gen::element(1.0, 2.0);
  c.collectives.library =
      *rc::gen::element(CollectiveLibrarySpec::Library::hccl, CollectiveLibrarySpec::Library::nccl);
  c.collectives.step_latency = 5_us;
  // Four nodes are whole leaves and pods, however those are cabled.
  const std::uint32_t nodes = 4;
  if (*rc::gen::arbitrary<bool>())
    c.super_node = SuperNodeSpec{.nodes = *rc::gen::element<std::int64_t>(2, 4),
                                 .fabric = SwitchFabric{{40_GBps, 1_us}, 1}};
  r.part = nodes * 4;
  const std::uint32_t copies = *rc::gen::inRange(2U, 6U);
  c.devices = r.part * copies;
  std::vector<std::uint32_t> places;
  for (std::uint32_t d = 0; d < r.part; ++d)
    if (*rc::gen::inRange(0, 3) > 0) places.push_back(d);
  if (places.empty()) places.push_back(0);
  r.period = places.size();
  for (std::uint32_t i = 0; i < copies; ++i)
    for (const std::uint32_t d : places) r.members.push_back({i * r.part + d});
  return r;
}

/// Where the link is: its part of the fabric, and its place there.
std::uint32_t part_of(const Fabric& fabric, LinkId id, std::uint32_t part) {
  const Link link = fabric.link(id);
  for (std::uint32_t d = 0; d < fabric.devices(); ++d) {
    const DeviceId device{d};
    switch (info(link.kind).family.owner) {
      case LinkOwner::pair:
      case LinkOwner::device:
        if (link.from == d) return d / part;
        break;
      case LinkOwner::wire:
        if (fabric.wire_place(id).node == fabric.node_of(device)) return d / part;
        break;
      case LinkOwner::nic:
        if (link.from == fabric.nic_of(device)) return d / part;
        break;
      case LinkOwner::leaf:
        if (link.from == fabric.leaf_of(device)) return d / part;
        break;
      case LinkOwner::pod:
        if (link.from == fabric.pod_of(device)) return d / part;
        break;
      case LinkOwner::pcie_switch:
      case LinkOwner::channel:  // no cluster of this test has any
        break;
    }
  }
  return UINT32_MAX;
}

void expect_one_part(const Fabric& fabric, const PhaseFlow& own, const PhaseFlow& whole,
                     const Repeated& r) {
  RC_ASSERT(own.bytes == whole.bytes);
  RC_ASSERT(own.latency == whole.latency);
  std::vector<std::map<LinkKind, std::multiset<double>>> parts(r.members.size() / r.period);
  std::vector<LinkWeight> first;
  for (const LinkWeight& use : whole.links) {
    const std::uint32_t part = part_of(fabric, use.link, r.part);
    parts.at(part)[fabric.link(use.link).kind].insert(use.weight);
    if (part == 0) first.push_back(use);
  }
  RC_ASSERT(own.links.size() == first.size());
  for (std::size_t l = 0; l < first.size(); ++l) {
    RC_ASSERT(own.links[l].link == first[l].link);
    RC_ASSERT(own.links[l].weight == first[l].weight);
  }
  for (const auto& part : parts) RC_ASSERT(part == parts.front());
}

TEST(CollectivePeriod, OnePartStandsForAll) {
  std::map<std::string, int> seen;
  const auto holds = [&] {
    const Repeated r = random_repeated();
    const Fabric fabric(r.cluster);
    CollectiveCall call{*rc::gen::element(CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                          CollectiveKind::reduce_scatter,
                                          CollectiveKind::all_to_all, CollectiveKind::broadcast),
                        Bytes{*rc::gen::inRange(1, 1 << 27) * 1.0}};
    for (const NamedAlgorithm& algorithm : collective_algorithms()) {
      const auto whole = algorithm.plan(fabric, r.members, call, NetworkForm::ports);
      if (!whole) continue;
      call.period = r.period;
      const auto own = algorithm.plan(fabric, r.members, call, NetworkForm::ports);
      call.period = 0;
      RC_LOG() << algorithm.name << " " << name(call.kind);
      RC_ASSERT(!whole->of_period);
      RC_ASSERT(own->phases.size() == whole->phases.size());
      if (!own->of_period) continue;
      ++seen[std::string(algorithm.name)];
      for (std::size_t p = 0; p < own->phases.size(); ++p) {
        const auto& flows = own->phases[p].flows;
        RC_ASSERT(flows.size() == whole->phases[p].flows.size());
        for (std::size_t f = 0; f < flows.size(); ++f)
          expect_one_part(fabric, flows[f], whole->phases[p].flows[f], r);
      }
    }
  };
  // A hundred draws may miss the rarest, pipelines.
  const auto missed = [&] {
    for (const std::string algorithm :
         {"ring", "nhr", "hd", "pairwise", "pipeline", "hierarchical"})
      if (seen[algorithm] == 0) return algorithm;
    return std::string();
  };
  for (int hundreds = 0; hundreds < 10 && (hundreds == 0 || !missed().empty()); ++hundreds)
    ASSERT_TRUE(rc::check(holds));
  EXPECT_EQ(missed(), "");
}

}  // namespace
}  // namespace stepcast
