#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "stepcast/topology/fabric_graph.hpp"

/// The printed bisection against all cuts of small graphs, and over sizes of a cluster.
namespace stepcast {
namespace {

ClusterSpec random_cluster() {
  ClusterSpec c;
  c.node_devices = *rc::gen::inRange<std::int64_t>(1, 4);
  c.devices = c.node_devices * *rc::gen::inRange<std::int64_t>(2, 6);
  const auto speed = [] { return BytesPerSecond{*rc::gen::inRange(1, 9) * 1e9}; };
  if (*rc::gen::arbitrary<bool>())
    c.node_fabric = MeshFabric{{speed(), Seconds{0}}, 1};
  else
    c.node_fabric = SwitchFabric{{speed(), Seconds{0}}, 1};
  if (*rc::gen::arbitrary<bool>())
    c.super_node = SuperNodeSpec{*rc::gen::inRange<std::int64_t>(1, 4), {{speed(), Seconds{0}}, 1}};
  c.network.nic.link = {speed(), Seconds{0}};
  c.network.kind =
      *rc::gen::element(NetworkSpec::Kind::single_switch, NetworkSpec::Kind::leaf_spine,
                        NetworkSpec::Kind::dragonfly, NetworkSpec::Kind::dragonfly_plus);
  c.network.dragonfly = {.group_routers = 2,
                         .global_links = 1,
                         .local = {speed(), Seconds{0}},
                         .global = {speed(), Seconds{0}}};
  c.network.leaf_ports = *rc::gen::inRange<std::int64_t>(2, 6);
  c.network.oversubscription = *rc::gen::element(1.0, 2.0, 3.0);
  return c;
}

/// The least capacity over all ways to put the switches on the two sides.
double least_cut(const Fabric& fabric, std::int64_t first) {
  const FabricGraph graph = fabric_graph(fabric);
  const auto devices = static_cast<std::size_t>(fabric.devices());
  const std::size_t switches = num_vertices(graph) - devices;
  double least = INFINITY;
  for (std::size_t sides = 0; sides < (std::size_t{1} << switches); ++sides) {
    const auto on_first = [&](std::size_t v) {
      return v < devices ? static_cast<std::int64_t>(v) < first : (sides >> (v - devices) & 1) == 1;
    };
    double cut = 0;
    for (const auto edge : boost::make_iterator_range(edges(graph)))
      if (on_first(source(edge, graph)) && !on_first(target(edge, graph)))
        cut += graph[edge].bandwidth;
    least = std::min(least, cut);
  }
  return least;
}

TEST(Bisection, IsTheLeastOfAllCuts) {
  int cases = 0;
  EXPECT_TRUE(rc::check([&] {
    if (cases++ >= 50) return;
    const Fabric fabric(random_cluster());
    const Bisection cut = bisection(fabric);
    const double least = least_cut(fabric, cut.first);
    RC_ASSERT(std::abs(cut.bandwidth.value() - least) <= 1e-9 * least);
  }));
}

TEST(Bisection, FullSuperNodesNeverHaveMore) {
  ClusterSpec spec;
  spec.node_devices = 2;
  spec.node_fabric = SwitchFabric{{BytesPerSecond{120e9}, Seconds{0}}, 1};
  spec.super_node = SuperNodeSpec{3, {{BytesPerSecond{100e9}, Seconds{0}}, 1}};
  spec.network.nic.link = {BytesPerSecond{25e9}, Seconds{0}};
  double last = INFINITY;
  for (int supers = 1; supers <= 7; ++supers) {
    spec.devices = 6 * supers;
    const double now = bisection(Fabric(spec)).per_device().value();
    EXPECT_LE(now, last * (1 + 1e-12)) << supers;
    if (supers > 1) {
      EXPECT_NEAR(now, 25e9, 1);
    }
    last = now;
  }
}

}  // namespace
}  // namespace stepcast
