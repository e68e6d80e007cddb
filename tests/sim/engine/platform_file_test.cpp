#include "stepcast/sim/engine/platform_file.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/in_child.hpp"
#include "stepcast/base/errors.hpp"
#include "topology/fabrics.hpp"

/// The platform that `stepcast topology --platform` writes, as SimGrid's own loader reads it.
namespace stepcast {
namespace {

using testing::in_child;
using enum NetworkSpec::Kind;

ClusterSpec cluster_of(NetworkSpec::Kind kind, bool super_node) {
  ClusterSpec c;
  c.name = "two & <three>";
  c.devices = 24;
  c.node_devices = 4;
  c.node_fabric = MeshFabric{{BytesPerSecond{20e9}, Seconds{1e-6}}, 0.9};
  if (super_node) {
    c.node_fabric = SwitchFabric{{BytesPerSecond{60e9}, Seconds{1e-6}}, 0.8};
    c.super_node = SuperNodeSpec{4, {{BytesPerSecond{30e9}, Seconds{2e-6}}, 1}};
  }
  c.network.nic.link = {BytesPerSecond{25e9}, Seconds{2e-6}};
  c.network.kind = kind;
  c.network.leaf_ports = 8;
  c.network.oversubscription = 2;
  return c;
}

std::string written(const Fabric& fabric) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("stepcast_platform_" + std::to_string(getpid()) + ".xml");
  std::ofstream(file) << platform_xml(fabric);
  return file.string();
}

std::vector<std::string> names(const Platform& platform, std::uint32_t from, std::uint32_t to) {
  std::vector<std::string> result;
  for (const std::uint32_t link : platform.route(from, to))
    result.push_back(platform.links[link].name);
  return result;
}

/// In a child: how many pairs and links were compared; nothing where one differs.
std::vector<double> compared(const Fabric& fabric, const std::string& file) {
  const Platform own = platform_of(fabric), read = read_platform(file);
  EXPECT_EQ(own.links.size(), fabric.link_count());
  EXPECT_EQ(read.hosts.size(), own.hosts.size());
  EXPECT_EQ(read.links.size(), own.links.size());
  double pairs = 0;
  for (std::uint32_t a = 0; a < own.hosts.size(); ++a) {
    EXPECT_EQ(read.hosts[a].name, own.hosts[a].name);
    EXPECT_EQ(read.hosts[a].node, own.hosts[a].node);
    for (std::uint32_t b = 0; b < own.hosts.size(); ++b) {
      if (a == b) continue;
      EXPECT_EQ(names(read, a, b), names(own, a, b)) << a << " to " << b;
      ++pairs;
    }
  }
  for (const Platform::Link& link : own.links) {
    const auto found = std::ranges::find(read.links, link.name, &Platform::Link::name);
    if (found == read.links.end()) return {};
    EXPECT_DOUBLE_EQ(found->bandwidth, link.bandwidth) << link.name;
    EXPECT_DOUBLE_EQ(found->latency, link.latency) << link.name;
  }
  return {pairs, static_cast<double>(own.links.size())};
}

void expect_read_back(const Fabric& fabric) {
  const std::string file = written(fabric);
  const auto counts = in_child([&] { return compared(fabric, file); });
  std::filesystem::remove(file);
  ASSERT_EQ(counts.size(), 2U);
  const auto devices = static_cast<double>(fabric.devices());
  EXPECT_EQ(counts[0], devices * (devices - 1));
}

TEST(PlatformFile, NodesBelowLeaves) { expect_read_back(Fabric(cluster_of(leaf_spine, false))); }

TEST(PlatformFile, SuperNodesOfWhichTheLastIsSmaller) {
  expect_read_back(Fabric(cluster_of(leaf_spine, true)));
}

TEST(PlatformFile, RailsReachTheLeafOfEachDevice) {
  expect_read_back(Fabric(cluster_of(rail_optimized, false)));
  expect_read_back(Fabric(cluster_of(rail_optimized, true)));
}

TEST(PlatformFile, RandomClusters) {
  EXPECT_TRUE(rc::check([] {
    static int cases = 0;
    if (++cases % 8 == 0) expect_read_back(Fabric(test::random_cluster()));
  }));
  EXPECT_FALSE(HasFailure());
}

TEST(PlatformFile, NodesOfOneDevice) {
  ClusterSpec cluster = cluster_of(single_switch, false);
  cluster.node_devices = 1;
  expect_read_back(Fabric(cluster));
}

/// Its nodes are grids, whose ways go side by side instead of pair by pair.
TEST(PlatformFile, GridsAndAFailedWire) {
  const auto side = [](std::int64_t size) {
    return GridDimension{size, {BytesPerSecond{40e9}, Seconds{1e-6}}};
  };
  ClusterSpec cluster = cluster_of(leaf_spine, false);
  cluster.network.leaf_ports = 12;
  cluster.node_devices = 12;
  cluster.node_fabric = TorusFabric{{side(4), side(3)}};
  expect_read_back(Fabric(cluster));
  const Fabric intact(cluster);
  const std::uint32_t failed = intact.route({0}, {1}).front().value;
  expect_read_back(Fabric(cluster, {{}, {{failed, detour_around(intact, {failed}, {failed})}}}));
  cluster.node_devices = 24;
  cluster.node_fabric = FullMeshFabric{{side(4), side(3), side(2)}};
  expect_read_back(Fabric(cluster));
}

TEST(PlatformFile, OneSwitchAndAFailedLink) {
  const ClusterSpec cluster = cluster_of(single_switch, false);
  expect_read_back(Fabric(cluster));
  const Fabric intact(cluster);
  const std::uint32_t failed = intact.mesh_link({0}, {1}).value;
  expect_read_back(Fabric(cluster, {{}, {{failed, detour_around(intact, {failed}, {failed})}}}));
}

TEST(PlatformFile, TooManyRoutesAreRefused) {
  // Inside a node every pair has a route.
  ClusterSpec cluster = cluster_of(rail_optimized, false);
  cluster.devices = cluster.node_devices = 1500;
  EXPECT_THROW(platform_xml(Fabric(cluster)), InputError);
}

}  // namespace
}  // namespace stepcast
