#include "stepcast/topology/dragonfly.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "stepcast/topology/bill.hpp"
#include "stepcast/topology/fabric.hpp"

/// Ways of a dragonfly: docs/models/fabric.md.
namespace stepcast {
namespace {

ClusterSpec dragonfly(std::int64_t groups, std::int64_t routers, std::int64_t ends, bool plus) {
  ClusterSpec spec;
  spec.devices = groups * routers * ends;
  spec.node_devices = 1;
  spec.network.nic.link = {BytesPerSecond{25e9}, Seconds{2e-6}};
  spec.network.kind = plus ? NetworkSpec::Kind::dragonfly_plus : NetworkSpec::Kind::dragonfly;
  spec.network.leaf_ports = ends;
  spec.network.dragonfly = {.group_routers = routers,
                            .global_links = 2,
                            .local = {BytesPerSecond{20e9}, Seconds{3e-7}},
                            .global = {BytesPerSecond{10e9}, Seconds{6e-7}}};
  return spec;
}

Fabric random_dragonfly() {
  const auto pick = [](std::int64_t low, std::int64_t high) {
    return *rc::gen::inRange<std::int64_t>(low, high + 1);
  };
  return Fabric(dragonfly(pick(1, 5), pick(2, 4), pick(1, 3), *rc::gen::arbitrary<bool>()));
}

/// Follows the channels of a route from router to router.
std::uint32_t end_of(const Fabric& fabric, const std::vector<LinkId>& route, std::uint32_t at) {
  const Dragonfly& fly = fabric.dragonfly();
  for (const LinkId id : route) {
    const Link link = fabric.link(id);
    if (link.kind == LinkKind::local) {
      RC_ASSERT(link.from == at);
      at = link.to;
    } else if (link.kind == LinkKind::global) {
      RC_ASSERT(at == fly.gateway(link.from, link.to));
      at = fly.gateway(link.to, link.from);
    }
  }
  return at;
}

TEST(Dragonfly, ChannelsLeadFromRouterToRouter) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric = random_dragonfly();
    if (fabric.dragonfly().plus()) return;
    for (std::uint32_t a = 0; a < fabric.devices(); ++a)
      for (std::uint32_t b = 0; b < fabric.devices(); ++b) {
        const auto route = fabric.route({a}, {b});
        RC_ASSERT(end_of(fabric, route, fabric.leaf_of({a})) == fabric.leaf_of({b}));
        RC_ASSERT(route.size() <= 5U);
      }
  }));
}

TEST(Dragonfly, NamesFindTheirLinks) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric = random_dragonfly();
    for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
      RC_ASSERT(fabric.find_link(fabric.link_name({l})) == LinkId{l});
  }));
  const Fabric fabric(dragonfly(3, 2, 1, false));
  EXPECT_TRUE(fabric.find_link("local:2-3"));
  for (const char* wrong : {"local:1-2", "local:0-0", "local:0-6", "global:0-3", "global:1",
                            "global:0-1.up", "local:0-1-2", "global:-1"})
    EXPECT_FALSE(fabric.find_link(wrong)) << wrong;
}

/// What goes around a failed channel leads where the channel did.
TEST(Dragonfly, DetoursLeadToTheSameRouter) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric = random_dragonfly();
    const Dragonfly& fly = fabric.dragonfly();
    for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
      const Link link = fabric.link({l});
      if (info(link.kind).family.owner != LinkOwner::channel) continue;
      const auto around = detour_around(fabric, {l}, {l});
      const bool local = link.kind == LinkKind::local;
      RC_ASSERT(around.empty() == (local ? fly.routers() < 3 : fly.groups() < 3));
      if (around.empty() || fly.plus()) continue;
      const std::uint32_t from = local ? link.from : fly.gateway(link.from, link.to);
      RC_ASSERT(end_of(fabric, around, from) ==
                (local ? link.to : fly.gateway(link.to, link.from)));
    }
  }));
}

TEST(Dragonfly, EveryGroupSeesTheSame) {
  EXPECT_TRUE(rc::check([] {
    const auto groups = *rc::gen::inRange(2U, 9U), routers = *rc::gen::inRange(2U, 5U);
    const Dragonfly fly(groups, routers, false);
    for (std::uint32_t g = 0; g < groups; ++g)
      for (std::uint32_t h = 0; h < groups; ++h)
        if (g != h)
          RC_ASSERT(fly.gateway(g, h) - g * routers == fly.gateway(0, (h + groups - g) % groups));
  }));
}

/// With a group's routers dividing the other groups: p (2 g - 1) p messages cross each local
/// channel, e^2 each global one.
TEST(Dragonfly, AnExchangeLoadsChannelsEvenly) {
  const Fabric fabric(dragonfly(7, 3, 2, false));
  std::map<std::uint32_t, int> loads;
  for (std::uint32_t a = 0; a < fabric.devices(); ++a)
    for (std::uint32_t b = 0; b < fabric.devices(); ++b)
      if (a != b)
        for (const LinkId link : fabric.route({a}, {b})) ++loads[link.value];
  const Fabric::Block &local = fabric.block(LinkKind::local),
                      &global = fabric.block(LinkKind::global);
  EXPECT_EQ(local.count, 7U * 3 * 2);
  EXPECT_EQ(global.count, 7U * 6);
  for (std::uint32_t l = 0; l < local.count; ++l) EXPECT_EQ(loads[local.first + l], 2 * 2 * 13);
  for (std::uint32_t l = 0; l < global.count; ++l) EXPECT_EQ(loads[global.first + l], 6 * 6);
  EXPECT_DOUBLE_EQ(global.bandwidth.value(), 20e9);
}

TEST(Dragonfly, LatenciesOfAllHopsCount) {
  const Fabric fabric(dragonfly(3, 2, 1, false));
  EXPECT_DOUBLE_EQ(fabric.route_latency({0}, {1}).value(), 2e-6 + 3e-7);
  // Router 0 has the channel to group 1 and router 2 + 1 that back, so that device 2 is a hop off.
  EXPECT_DOUBLE_EQ(fabric.route_latency({0}, {3}).value(), 2e-6 + 6e-7);
  EXPECT_DOUBLE_EQ(fabric.route_latency({1}, {2}).value(), 2e-6 + 6e-7 + 2 * 3e-7);
  EXPECT_EQ(fabric.locality({0}, {1}), Locality::spine);
  EXPECT_EQ(fabric.locality({0}, {2}), Locality::core);
}

TEST(Dragonfly, PlusGoesFromSpineToSpine) {
  const Fabric fabric(dragonfly(3, 2, 2, true));
  std::vector<std::string> names;
  for (const LinkId link : fabric.route({0}, {7})) names.push_back(fabric.link_name(link));
  EXPECT_EQ(names, (std::vector<std::string>{"nic:0.up", "leaf:0.up", "global:0-1", "leaf:3.down",
                                             "nic:7.down"}));
}

/// 4 groups of 2 routers of 2 NICs: 8 routers with 2 NICs, one local and two global links (6 over 2
/// routers are 3) each; 16 cables to NICs, 4 local and 12 global ones.
TEST(Dragonfly, TheBillCountsRoutersAndCables) {
  const NetworkParts parts = network_parts(Fabric(dragonfly(4, 2, 2, false)), 8);
  EXPECT_EQ(parts.switches(), 8);
  EXPECT_EQ(parts.leaf_ports, 2 + 1 + 3);
  EXPECT_EQ(parts.cables, 16 + 4 + 12);
}

}  // namespace
}  // namespace stepcast
