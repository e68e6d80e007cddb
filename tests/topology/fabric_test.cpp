#include <gtest/gtest.h>

#include <queue>
#include <regex>
#include <set>
#include <sstream>

#include "fabrics.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/topology/fabric_graph.hpp"

namespace stepcast {
namespace {

/// Fewest links from a to b that no other device relays.
int hops(const FabricGraph& graph, std::size_t devices, std::size_t a, std::size_t b) {
  std::vector<int> distance(num_vertices(graph), 1 << 20);
  std::deque<std::size_t> next{a};
  distance[a] = 0;
  while (!next.empty()) {
    const std::size_t v = next.front();
    next.pop_front();
    if (v < devices && v != a) continue;
    for (const auto edge : boost::make_iterator_range(out_edges(v, graph))) {
      const int cost = graph[edge].link == no_link ? 0 : 1;
      const std::size_t to = target(edge, graph);
      if (distance[v] + cost >= distance[to]) continue;
      distance[to] = distance[v] + cost;
      if (cost == 0)
        next.push_front(to);
      else
        next.push_back(to);
    }
  }
  return distance[b];
}

bool is_path(const FabricGraph& graph, const std::vector<LinkId>& route, std::size_t a,
             std::size_t b) {
  std::set<std::size_t> at{a};
  const auto slip = [&] {
    for (const std::size_t v : std::set(at))
      for (const auto edge : boost::make_iterator_range(out_edges(v, graph)))
        if (graph[edge].link == no_link) at.insert(target(edge, graph));
  };
  for (const LinkId link : route) {
    slip();
    std::set<std::size_t> after;
    for (const std::size_t v : at)
      for (const auto edge : boost::make_iterator_range(out_edges(v, graph)))
        if (graph[edge].link == link) after.insert(target(edge, graph));
    at = after;
  }
  slip();
  return at.contains(b);
}

TEST(Fabric, RoutesAreShortestPaths) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric(test::random_cluster());
    const FabricGraph graph = fabric_graph(fabric);
    const auto devices = static_cast<std::uint32_t>(fabric.devices());
    const DeviceId a{*rc::gen::inRange(0U, devices)}, b{*rc::gen::inRange(0U, devices)};
    const auto route = fabric.route(a, b);
    RC_ASSERT(is_path(graph, route, a.value, b.value));
    RC_ASSERT(route.empty() == (fabric.locality(a, b) == Locality::device));
    const Locality far = fabric.locality(a, b);
    const bool through_port = far == Locality::super_node && fabric.super_behind_ports();
    // A dragonfly has ways of its own (dragonfly_test.cpp).
    if (!fabric.dragonfly().empty() && far >= Locality::spine) return;
    RC_ASSERT((route.size() == 4) == (far == Locality::spine || through_port));
    RC_ASSERT((route.size() == 6) == (far == Locality::core));
    // Such a route stays in the super-node even where the NICs would be nearer.
    if (!through_port)
      RC_ASSERT(static_cast<int>(route.size()) ==
                (a == b ? 0 : hops(graph, devices, a.value, b.value)));
  }));
}

TEST(Fabric, LinksHaveNames) {
  EXPECT_TRUE(rc::check([] {
    const Fabric fabric(test::random_cluster());
    for (std::uint32_t id = 0; id < fabric.link_count(); ++id)
      RC_ASSERT(fabric.find_link(fabric.link_name({id})) == LinkId{id});
    RC_ASSERT(!fabric.find_link("port:x.up"));
    RC_ASSERT(!fabric.find_link("nic:999999.up"));
  }));
}

ClusterSpec rails(std::int64_t nodes) {
  ClusterSpec spec;
  spec.devices = nodes * 8;
  spec.node_fabric = MeshFabric{{BytesPerSecond{28e9}, Seconds{0}}, 1};
  spec.network.nic.link = {BytesPerSecond{25e9}, Seconds{0}};
  spec.network.kind = NetworkSpec::Kind::rail_optimized;
  spec.network.leaf_ports = 4;
  spec.network.oversubscription = 2;
  return spec;
}

TEST(Fabric, LocalitiesOfRails) {
  const Fabric fabric(rails(8));
  EXPECT_EQ(fabric.locality({0}, {7}), Locality::node);
  EXPECT_EQ(fabric.locality({0}, {8}), Locality::leaf);
  EXPECT_EQ(fabric.locality({0}, {9}), Locality::spine);
  EXPECT_EQ(fabric.locality({0}, {32}), Locality::spine);
  EXPECT_EQ(fabric.leaves(), 16);
  EXPECT_EQ(fabric.link_name(fabric.mesh_link({9}, {8})), "hccs:9-8");
}

TEST(Fabric, PodsHaveTrunksOfTheirOwn) {
  ClusterSpec spec = rails(8);
  spec.network.kind = NetworkSpec::Kind::leaf_spine;
  spec.network.leaf_ports = 8;
  spec.network.pod_leaves = 3;
  spec.network.pod_oversubscription = 7;
  const Fabric fabric(spec);
  EXPECT_EQ(fabric.pods(), 3);
  EXPECT_EQ(fabric.locality({0}, {23}), Locality::spine);
  EXPECT_EQ(fabric.locality({0}, {24}), Locality::core);
  std::string names;
  for (const LinkId id : fabric.route({0}, {24})) names += fabric.link_name(id) + " ";
  EXPECT_EQ(names, "nic:0.up leaf:0.up pod:0.up pod:1.down leaf:3.down nic:24.down ");
  const LinkId pod = fabric.pod_link(LinkKind::pod_up, 0);
  EXPECT_NEAR(fabric.link(pod).bandwidth.value(), 3 * 8 * 25e9 / 2 / 7, 1);
  EXPECT_TRUE(fabric.can_saturate(pod));
  // The worst cut is that of a pod of 24 from the rest.
  EXPECT_NEAR(bisection(fabric).per_device().value(), 25e9 / 14, 1);
  spec.network.pod_oversubscription = 1;
  EXPECT_FALSE(Fabric(spec).can_saturate(pod));
}

/// Two super-nodes of two nodes of two devices behind a port each.
ClusterSpec switched_super_nodes(double plane) {
  ClusterSpec spec;
  spec.devices = 8;
  spec.node_devices = 2;
  spec.node_fabric = SwitchFabric{{BytesPerSecond{120e9}, Seconds{1e-6}}, 1};
  spec.super_node = SuperNodeSpec{2, {{BytesPerSecond{plane}, Seconds{3e-6}}, 1}};
  spec.network.nic.link = {BytesPerSecond{25e9}, Seconds{0}};
  return spec;
}

TEST(Fabric, TheLastSuperNodeMayBeSmaller) {
  ClusterSpec spec = switched_super_nodes(100e9);
  spec.devices = 10;
  const Fabric fabric(spec);
  EXPECT_EQ(fabric.super_nodes(), 3);
  EXPECT_EQ(fabric.locality({4}, {7}), Locality::super_node);
  EXPECT_EQ(fabric.locality({8}, {9}), Locality::node);
  EXPECT_EQ(fabric.locality({7}, {8}), Locality::leaf);
  EXPECT_EQ(fabric.route({7}, {8}), (std::vector{fabric.device_link(LinkKind::nic_up, {7}),
                                                 fabric.device_link(LinkKind::nic_down, {8})}));
}

TEST(Fabric, OnePortLeadsOutOfADeviceOfASwitchedSuperNode) {
  const Fabric fabric(switched_super_nodes(100e9));
  const auto names = [&](DeviceId a, DeviceId b) {
    std::string text;
    for (const LinkId id : fabric.route(a, b)) text += fabric.link_name(id) + " ";
    return text;
  };
  EXPECT_EQ(names({0}, {1}), "port:0.up port:1.down ");
  EXPECT_EQ(names({0}, {3}), "port:0.up super:0.up super:3.down port:3.down ");
  EXPECT_EQ(names({0}, {5}), "nic:0.up nic:5.down ");
  EXPECT_NEAR(fabric.route_latency({0}, {3}).value(), 4e-6, 1e-15);
  EXPECT_TRUE(fabric.can_saturate(fabric.device_link(LinkKind::super_up, {0})));
  const Fabric faster(switched_super_nodes(120e9));
  EXPECT_FALSE(faster.can_saturate(faster.device_link(LinkKind::super_down, {0})));
  EXPECT_TRUE(faster.can_saturate(faster.device_link(LinkKind::port_up, {0})));
}

// The random clusters seldom have several super-nodes of several nodes.
TEST(Fabric, RoutesOfSuperNodesArePathsOfTheGraph) {
  ClusterSpec behind_meshes = rails(4);
  behind_meshes.node_devices = 2;
  behind_meshes.devices = 12;
  behind_meshes.super_node = SuperNodeSpec{2, {{BytesPerSecond{100e9}, Seconds{0}}, 1}};
  ClusterSpec shared_card = switched_super_nodes(100e9);
  shared_card.network.nic.per = NicSpec::Per::node;
  for (const ClusterSpec& spec : {switched_super_nodes(100e9), behind_meshes, shared_card}) {
    const Fabric fabric(spec);
    const FabricGraph graph = fabric_graph(fabric);
    for (std::uint32_t a = 0; a < fabric.devices(); ++a)
      for (std::uint32_t b = 0; b < fabric.devices(); ++b)
        EXPECT_TRUE(is_path(graph, fabric.route({a}, {b}), a, b)) << a << " to " << b;
  }
}

TEST(Fabric, NamesOfLinksThatAreNotThere) {
  const Fabric fabric(rails(2));
  EXPECT_TRUE(fabric.find_link("hccs:14-15"));
  EXPECT_TRUE(fabric.find_link("nic:15.up"));
  for (const char* wrong :
       {"hccs:7-8", "hccs:16-15", "hccs:15-16", "hccs:16-17", "hccs:3-3", "hccs:1-2.up", "hccs:1",
        "nic:16.up", "nic:1", "port:0.up", "leaf:8.up", "leaf:", "nic"})
    EXPECT_FALSE(fabric.find_link(wrong)) << wrong;
}

TEST(Fabric, TrunksOfLeavesThatAreNotFullSaturateLater) {
  ClusterSpec spec = rails(6);  // of eight rails, each with leaves of four cards and of two
  spec.network.oversubscription = 1.5;
  const auto saturates = [&](std::uint32_t leaf) {
    const Fabric fabric(spec);
    return fabric.can_saturate(fabric.leaf_link(LinkKind::leaf_up, leaf));
  };
  EXPECT_TRUE(saturates(0));   // 4 x 1.5 > 4
  EXPECT_FALSE(saturates(1));  // 2 x 1.5
  EXPECT_TRUE(saturates(14));
  EXPECT_FALSE(saturates(15));
  spec.network.oversubscription = 2;
  EXPECT_FALSE(saturates(1));  // as much as the ports carry
  spec.network.kind = NetworkSpec::Kind::leaf_spine;
  spec.network.leaf_ports = 10;
  EXPECT_TRUE(saturates(3));
  EXPECT_TRUE(saturates(4));  // eight cards of 48
  spec.network.oversubscription = 1.25;
  EXPECT_FALSE(saturates(4));
  EXPECT_TRUE(saturates(0));
}

TEST(Fabric, IsWholeNodesOfWholeMeshes) {
  const auto builds = [](std::int64_t devices, std::int64_t per_node, std::int64_t mesh) {
    ClusterSpec spec;
    spec.devices = devices;
    spec.node_devices = per_node;
    spec.node_fabric = GroupFabric{mesh, {}, {}, 1};
    try {
      return Fabric(spec).devices() == devices;
    } catch (const InputError&) {
      return false;
    }
  };
  EXPECT_TRUE(builds(1, 1, 1));
  EXPECT_TRUE(builds(16, 8, 4));
  EXPECT_FALSE(builds(0, 1, 1));
  EXPECT_FALSE(builds(8, 0, 1));
  EXPECT_FALSE(builds(12, 8, 4));
  EXPECT_FALSE(builds(16, 8, 3));
  EXPECT_FALSE(builds(16, 8, 0));
}

TEST(Fabric, GroupsOfOneMeetOverTheirBridges) {
  ClusterSpec spec;
  spec.devices = spec.node_devices = 2;
  spec.node_fabric = GroupFabric{1, {}, {BytesPerSecond{16e9}, Seconds{3e-6}}, 1};
  const Fabric fabric(spec);
  std::string names;
  for (const LinkId id : fabric.route({0}, {1})) names += fabric.link_name(id) + " ";
  EXPECT_EQ(names, "bridge:0.up bridge:1.down ");
}

TEST(Fabric, VerticesAreNumberedByWhatTheyAre) {
  const auto names = [](const ClusterSpec& spec) {
    const FabricGraph graph = fabric_graph(Fabric(spec));
    std::string text;
    for (std::size_t v = 0; v < num_vertices(graph); ++v) text += graph[v].name + " ";
    return text;
  };
  ClusterSpec spec = switched_super_nodes(100e9);
  spec.devices = 4;
  spec.super_node->nodes = 1;
  spec.network.kind = NetworkSpec::Kind::leaf_spine;
  EXPECT_EQ(names(spec),
            "device:0 device:1 device:2 device:3 node:0 node:1 super:0 super:1 leaf:0 "
            "spine ");
  spec.network.kind = NetworkSpec::Kind::single_switch;
  spec.network.nic.per = NicSpec::Per::node;
  EXPECT_EQ(names(spec),
            "device:0 device:1 device:2 device:3 node:0 node:1 super:0 super:1 nic:0 "
            "nic:1 nic:2 nic:3 switch ");
}

TEST(Fabric, BisectionsInClosedForm) {
  // Each rail's two leaves are joined by trunks of 4 x 25 / 2 GB/s.
  EXPECT_NEAR(bisection(Fabric(rails(8))).bandwidth.value(), 8 * 50e9, 1);
  ClusterSpec spec = rails(8);
  spec.network.kind = NetworkSpec::Kind::single_switch;
  EXPECT_NEAR(bisection(Fabric(spec)).bandwidth.value(), 32 * 25e9, 1);
  spec.super_node = SuperNodeSpec{8, {{BytesPerSecond{100e9}, Seconds{0}}, 1}};
  EXPECT_NEAR(bisection(Fabric(spec)).bandwidth.value(), 32 * 125e9, 1);
  // One super-node of two nodes: the plane, or the ports before it, and the NICs.
  for (const auto& [plane, width] : {std::pair{100e9, 100e9}, std::pair{200e9, 120e9}}) {
    ClusterSpec ports = switched_super_nodes(plane);
    ports.devices = 4;
    EXPECT_NEAR(bisection(Fabric(ports)).bandwidth.value(), 2 * (width + 25e9), 1);
  }
  // Halves of one node also reach each other over their NICs.
  EXPECT_NEAR(bisection(Fabric(rails(1))).bandwidth.value(), 16 * 28e9 + 4 * 25e9, 1);
  EXPECT_NEAR(bisection(Fabric(rails(2048))).bandwidth.value(), 1024 * 8 * 12.5e9, 1e3);
}

TEST(Fabric, DotListsEveryVertexAndLink) {
  const std::regex node(R"(  \d+ \[label="[a-z]+(:\d+)?"\];)");
  const std::regex edge(R"re(  (\d+) -> (\d+)( \[label="(\S+) [^"]+"\])?;)re");
  EXPECT_TRUE(rc::check([&] {
    const Fabric fabric(test::random_cluster());
    const FabricGraph graph = fabric_graph(fabric);
    std::istringstream text(fabric_dot(fabric));
    std::string line;
    std::size_t nodes = 0, edges = 0;
    std::set<LinkId> links;
    RC_ASSERT((std::getline(text, line) && line == "digraph fabric {"));
    while (std::getline(text, line) && line != "}") {
      std::smatch match;
      if (std::regex_match(line, node)) {
        ++nodes;
        continue;
      }
      RC_ASSERT(std::regex_match(line, match, edge));
      ++edges;
      RC_ASSERT(std::stoul(match[1]) < num_vertices(graph));
      RC_ASSERT(std::stoul(match[2]) < num_vertices(graph));
      if (match[4].matched) links.insert(fabric.find_link(match[4].str()).value());
    }
    RC_ASSERT(line == "}");
    RC_ASSERT(nodes == num_vertices(graph));
    RC_ASSERT(edges == num_edges(graph));
    RC_ASSERT(links.size() == fabric.link_count());
  }));
}

}  // namespace
}  // namespace stepcast
