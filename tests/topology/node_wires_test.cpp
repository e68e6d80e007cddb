#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <set>

#include "stepcast/base/errors.hpp"
#include "stepcast/topology/fabric_graph.hpp"
#include "stepcast/topology/wire_shift.hpp"

/// Nodes with wires: torus, full mesh and graph. docs/models/wired.md.
namespace stepcast {
namespace {

constexpr LinkSpec wire{BytesPerSecond{50e9}, Seconds{1e-6}};

std::vector<GridDimension> sides(std::initializer_list<std::int64_t> sizes) {
  std::vector<GridDimension> dimensions;
  for (const std::int64_t size : sizes) dimensions.push_back({size, wire});
  return dimensions;
}

ClusterSpec nodes_of(NodeFabric fabric, std::int64_t devices, std::int64_t nodes = 1) {
  ClusterSpec spec;
  spec.node_devices = devices;
  spec.devices = devices * nodes;
  spec.node_fabric = std::move(fabric);
  spec.network.nic.link = {BytesPerSecond{10e9}, Seconds{0}};
  return spec;
}

/// Every device below one of `leaves` switches, all leaves below all `spines`.
GraphFabric leaf_spine(std::int64_t devices, std::int64_t leaves, std::int64_t spines) {
  GraphFabric graph{.switches = leaves + spines};
  for (std::int64_t d = 0; d < devices; ++d)
    graph.links.push_back({{d, devices + d * leaves / devices}, wire});
  for (std::int64_t l = 0; l < leaves; ++l)
    for (std::int64_t s = 0; s < spines; ++s)
      graph.links.push_back({{devices + l, devices + leaves + s}, wire});
  return graph;
}

/// How many messages of an exchange of all pairs cross each wire.
std::vector<int> exchange_loads(const NodeWires& wires) {
  std::vector<int> loads(wires.count());
  std::vector<std::uint32_t> way;
  for (std::uint32_t a = 0; a < wires.devices(); ++a)
    for (std::uint32_t b = 0; b < wires.devices(); ++b) {
      way.clear();
      if (a != b) wires.route(a, b, way);
      for (const std::uint32_t w : way) ++loads[w];
    }
  return loads;
}

TEST(NodeWires, BandwidthIsThatOfTheWireTimesWhatTheFabricReaches) {
  TorusFabric torus{.dimensions = sides({3, 2})};
  torus.dimensions[1].link.bandwidth = BytesPerSecond{20e9};
  torus.efficiency = 0.5;
  const Fabric fabric(nodes_of(torus, 6));
  std::set<double> seen;
  for (std::uint32_t w = 0; w < 18; ++w) {
    const LinkId id = fabric.wire_link(NodeId{0}, w);
    EXPECT_EQ(fabric.planned_bandwidth(id), fabric.link(id).bandwidth) << w;
    seen.insert(fabric.planned_bandwidth(id).value());
  }
  EXPECT_EQ(seen, (std::set<double>{10e9, 25e9}));
}

TEST(NodeWires, WaysAreShortestAndJoined) {
  EXPECT_TRUE(rc::check([] {
    const bool rings = *rc::gen::arbitrary<bool>();
    std::vector<GridDimension> dimensions;
    std::int64_t devices = 1;
    for (int k = *rc::gen::inRange(1, 4); k > 0; --k) {
      dimensions.push_back({*rc::gen::inRange(2, 6), wire});
      devices *= dimensions.back().size;
    }
    const NodeFabric fabric =
        rings ? NodeFabric{TorusFabric{dimensions}} : NodeFabric{FullMeshFabric{dimensions}};
    const NodeWires wires(fabric, devices);
    const auto a = *rc::gen::inRange(0U, wires.devices());
    const auto b = *rc::gen::inRange(0U, wires.devices());
    std::vector<std::uint32_t> way;
    wires.route(a, b, way);
    std::uint32_t at = a;
    for (const std::uint32_t w : way) {
      RC_ASSERT(wires.wire(w).from == at);
      at = wires.wire(w).to;
    }
    RC_ASSERT(at == b);
    RC_ASSERT(way.size() == (a == b ? 0 : wires.way_around(a, b, {}).size()));
  }));
}

// A sender's share of a line of d is d / 8 of its messages on each wire.
/// By Boost.Graph: how many wires there are at least from a vertex to each other one, without the
/// failed ones; 0 where there is no way.
std::vector<std::size_t> fewest_wires(const NodeWires& wires, std::uint32_t from,
                                      const std::set<std::uint32_t>& failed) {
  boost::adjacency_list<> graph(wires.devices() + wires.switches());
  for (std::uint32_t w = 0; w < wires.count(); ++w)
    if (!failed.contains(w)) add_edge(wires.wire(w).from, wires.wire(w).to, graph);
  std::vector<std::size_t> distances(num_vertices(graph));
  const auto recorded = boost::record_distances(distances.data(), boost::on_tree_edge());
  breadth_first_search(graph, from, visitor(boost::make_bfs_visitor(recorded)));
  return distances;
}

TEST(NodeWires, AGraphHasNoShorterWaysWhateverFails) {
  EXPECT_TRUE(rc::check([] {
    const auto devices = *rc::gen::inRange<std::int64_t>(2, 8);
    GraphFabric graph{.switches = *rc::gen::inRange<std::int64_t>(0, 4)};
    const std::int64_t all = devices + graph.switches;
    // A line joins all; other wires at random.
    for (std::int64_t v = 1; v < all; ++v) graph.links.push_back({{v - 1, v}, wire});
    for (std::int64_t a = 0; a < all; ++a)
      for (std::int64_t b = a + 2; b < all; ++b)
        if (*rc::gen::inRange(0, 3) == 0) graph.links.push_back({{a, b}, wire});
    const NodeWires wires(graph, devices);
    std::set<std::uint32_t> failed;
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
      failed.insert(*rc::gen::inRange(0U, wires.count()));
    std::vector<std::uint32_t> way;
    for (std::uint32_t a = 0; a < devices; ++a) {
      const auto whole = fewest_wires(wires, a, {}), left = fewest_wires(wires, a, failed);
      for (std::uint32_t b = 0; b < devices; ++b) {
        way.clear();
        wires.route(a, b, way);
        RC_ASSERT(way.size() == whole[b]);
        RC_ASSERT(wires.way_around(a, b, failed).size() == left[b]);
      }
    }
  }));
}

TEST(NodeWires, AnExchangeLoadsAllWiresOfATorusAlike) {
  const NodeWires wires(TorusFabric{sides({4, 8, 4})}, 128);
  EXPECT_EQ(wires.count(), 128U * 6);
  const std::vector<int> loads = exchange_loads(wires);
  for (std::uint32_t w = 0; w < wires.count(); ++w) {
    const std::uint32_t apart = std::max(wires.wire(w).from, wires.wire(w).to) -
                                std::min(wires.wire(w).from, wires.wire(w).to);
    const bool second = apart == 4 || apart == 28;
    EXPECT_EQ(loads[w], second ? 128 * 8 / 8 : 128 * 4 / 8) << w;
  }
}

TEST(NodeWires, AFullMeshCrossesEachDimensionOnce) {
  const NodeWires wires(FullMeshFabric{sides({8, 4})}, 32);
  EXPECT_EQ(wires.count(), 32U * (7 + 3));
  for (const int load : exchange_loads(wires)) EXPECT_TRUE(load == 4 || load == 8) << load;
  std::vector<std::uint32_t> way;
  wires.route(0, 31, way);
  EXPECT_EQ(way.size(), 2U);
}

// Shortest ways of SimGrid's own zones take one spine for all (docs/models/wired.md).
TEST(NodeWires, AGraphSpreadsReceiversOverItsSpines) {
  const NodeWires wires(leaf_spine(16, 4, 4), 16);
  const std::vector<int> loads = exchange_loads(wires);
  std::vector<int> up;
  for (std::uint32_t w = 0; w < wires.count(); ++w)
    if (wires.wire(w).from >= 16 && wires.wire(w).from < 20 && wires.wire(w).to >= 20)
      up.push_back(loads[w]);
  ASSERT_EQ(up.size(), 16U);
  for (const int load : up) EXPECT_EQ(load, 12);
}

TEST(NodeWires, LinksHaveNames) {
  for (const ClusterSpec& spec :
       {nodes_of(TorusFabric{sides({2, 3})}, 6, 2), nodes_of(leaf_spine(4, 2, 2), 4, 3)}) {
    const Fabric fabric(spec);
    for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
      EXPECT_EQ(fabric.find_link(fabric.link_name({l})), LinkId{l}) << fabric.link_name({l});
    EXPECT_EQ(fabric.find_link("wire:0-99"), std::nullopt);
    EXPECT_EQ(fabric.find_link("wire:s99-0"), std::nullopt);
  }
  const Fabric graph(nodes_of(leaf_spine(4, 2, 2), 4, 3));
  EXPECT_EQ(find_links(graph, "wire:5-s4").size(), 2U);
}

TEST(NodeWires, AFailedWireIsGoneAround) {
  const ClusterSpec spec = nodes_of(TorusFabric{sides({4, 4})}, 16, 2);
  const Fabric intact(spec);
  std::set<std::uint32_t> failed;
  for (const LinkId link : find_links(intact, "wire:16-17")) failed.insert(link.value);
  ASSERT_EQ(failed.size(), 2U);
  LinkFaults faults;
  for (const std::uint32_t link : failed)
    faults.detour[link] = detour_around(intact, {link}, failed);
  const Fabric fabric(spec, faults);
  const auto way = fabric.route({16}, {17});
  ASSERT_EQ(way.size(), 3U);
  std::uint32_t at = 16;
  for (const LinkId link : way) {
    EXPECT_FALSE(failed.contains(link.value));
    EXPECT_EQ(fabric.link(link).from, at);
    at = fabric.link(link).to;
  }
  EXPECT_EQ(at, 17U);
}

// Half of a torus along its last side: two wires of each line lead out, and the NICs of the half.
TEST(NodeWires, TheBisectionOfATorus) {
  const Fabric fabric(nodes_of(TorusFabric{sides({4, 4, 4})}, 64));
  EXPECT_NEAR(bisection(fabric).bandwidth.value(), 32 * 50e9 + 32 * 10e9, 1);
  EXPECT_NEAR(bisection(Fabric(nodes_of(leaf_spine(16, 4, 2), 16))).bandwidth.value(),
              4 * 50e9 + 8 * 10e9, 1);
}

TEST(NodeWires, AFullMeshIsSeenFromItsFirstDevice) {
  const ClusterSpec cluster = nodes_of(FullMeshFabric{sides({4, 2})}, 8);
  const NodeWires wires(cluster.node_fabric, cluster.node_devices);
  for (std::uint32_t device = 0; device < 8; ++device) EXPECT_EQ(wire_origin(wires, device), 0U);
}

TEST(NodeWires, WhatIsNoFabricIsRefused) {
  const auto error = [](const NodeFabric& fabric, std::int64_t devices) {
    std::string key;
    const auto wrong = wiring_error(fabric, devices, key);
    return wrong ? key + ": " + *wrong : "none";
  };
  EXPECT_EQ(error(TorusFabric{sides({4, 4})}, 16), "none");
  EXPECT_EQ(
      error(TorusFabric{sides({4, 4})}, 12),
      "dimensions: make 4 x 4 = 16 devices, allowed: sides whose product is node.devices (12)");
  EXPECT_EQ(error(GraphFabric{0, {{{0, 1}, wire}}}, 3),
            "links: leave some device without a way to device 0, allowed: links that join all "
            "devices");
  EXPECT_EQ(error(GraphFabric{0, {{{0, 2}, wire}}}, 2),
            "links.0.between: is [0, 2], allowed: two of 0 to 1 (the 2 devices of a node, then its "
            "switches)");
  EXPECT_EQ(error(GraphFabric{0, {{{0, 1}, wire}, {{1, 0}, wire}}}, 2),
            "links.1.between: is joined by a link before, allowed: one link for each pair");
  EXPECT_EQ(error(GraphFabric{0, {{{0}, wire}}}, 2),
            "links.0.between: has 1 ends, allowed: 2, such as [0, 1]");
  EXPECT_EQ(error(leaf_spine(2000, 40, 9), 2000).substr(0, 50),
            "switches: make 2049 devices and switches, whose wa");
}

}  // namespace
}  // namespace stepcast
