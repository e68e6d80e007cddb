#include <gtest/gtest.h>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/engine/platform_file.hpp"
#include "stepcast/topology/fabric_graph.hpp"

/// Platform files as clusters have them: docs/models/platform.md.
namespace stepcast {
namespace {

std::string document(const std::string& body) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n" +
         body + "</platform>\n";
}

/// Two hosts and what joins them.
std::string pair_of_hosts(const std::string& links, const std::string& routes) {
  return document(
      "<zone id=\"root\" routing=\"Full\">\n<host id=\"b\" speed=\"1Gf\"/>\n"
      "<host id=\"a\" speed=\"1Gf\"/>\n" +
      links + routes + "</zone>\n");
}

ClusterSpec on_file(const std::string& text, std::int64_t devices, std::string hosts = "*") {
  ClusterSpec spec;
  spec.devices = devices;
  spec.node_devices = 1;
  spec.node_fabric = PlatformFabric{};
  spec.network.platform.emplace();
  spec.network.platform->file = "p.xml";
  spec.network.platform->hosts = std::move(hosts);
  spec.network.platform->text = std::make_shared<const std::string>(text);
  return spec;
}

Fabric loaded(ClusterSpec spec) {
  load_platform(spec, "cluster.");
  return Fabric(spec);
}

std::string refusal(const std::string& text, std::int64_t devices, const std::string& hosts = "*") {
  try {
    ClusterSpec spec = on_file(text, devices, hosts);
    load_platform(spec, "cluster.");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::vector<std::string> names(const Fabric& fabric, std::uint32_t a, std::uint32_t b) {
  std::vector<std::string> result;
  for (const LinkId link : fabric.route({a}, {b})) result.push_back(fabric.link_name(link));
  return result;
}

const std::string link_and_route =
    "<link id=\"wire\" bandwidth=\"10GBps\" latency=\"2us\"/>\n"
    "<route src=\"b\" dst=\"a\"><link_ctn id=\"wire\"/></route>\n";

TEST(PlatformTable, HostsComeInTheOrderOfTheFile) {
  const Fabric fabric = loaded(on_file(pair_of_hosts("", link_and_route), 2));
  EXPECT_EQ(fabric.wires().platform()->hosts, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(names(fabric, 0, 1), std::vector<std::string>{"wire"});
  EXPECT_DOUBLE_EQ(fabric.route_latency({0}, {1}).value(), 2e-6);
  EXPECT_DOUBLE_EQ(fabric.link({0}).bandwidth.value(), 10e9);
  EXPECT_EQ(fabric.find_link("wire"), LinkId{0});
  EXPECT_EQ(fabric.locality({0}, {1}), Locality::leaf);
}

TEST(PlatformTable, APatternChoosesHosts) {
  std::string hosts = "<zone id=\"root\" routing=\"Full\">\n";
  std::string routes = "<link id=\"l\" bandwidth=\"1GBps\" latency=\"0s\"/>\n";
  for (const char* name : {"login", "gpu10", "gpu9", "gpu1"})
    hosts += "<host id=\"" + std::string(name) + "\" speed=\"1Gf\"/>\n";
  for (const char* pair :
       {"src=\"gpu10\" dst=\"gpu9\"", "src=\"gpu9\" dst=\"gpu1\"", "src=\"gpu10\" dst=\"gpu1\""})
    routes += "<route " + std::string(pair) + "><link_ctn id=\"l\"/></route>\n";
  const std::string text = document(hosts + routes + "</zone>\n");
  EXPECT_EQ(loaded(on_file(text, 3, "gpu*")).wires().platform()->hosts,
            (std::vector<std::string>{"gpu10", "gpu9", "gpu1"}));
  EXPECT_EQ(loaded(on_file(text, 2, "gpu?")).wires().platform()->hosts,
            (std::vector<std::string>{"gpu9", "gpu1"}));
  EXPECT_EQ(refusal(text, 4, "gpu*"),
            "cluster.network.platform.hosts: is 'gpu*', which 3 of the 4 hosts of the file match, "
            "allowed: at least the 4 devices of the cluster, or --set cluster.devices=3");
  EXPECT_NE(refusal(text, 4).find("has no route from login to gpu10"), std::string::npos);
}

/// Zones that SimGrid makes by itself.
TEST(PlatformTable, SimGridsOwnFabricsWork) {
  const auto cluster = [](const std::string& what) {
    return document(
        "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-7\" speed=\"1Gf\" "
        "bw=\"10GBps\" lat=\"1us\" " +
        what + "/>\n");
  };
  const Fabric star = loaded(on_file(cluster("sharing_policy=\"SPLITDUPLEX\""), 8));
  EXPECT_EQ(star.link_count(), 16U);
  EXPECT_EQ(names(star, 3, 5).size(), 2U);
  const Fabric torus = loaded(on_file(cluster("topology=\"TORUS\" topo_parameters=\"2,2,2\""), 8));
  EXPECT_EQ(names(torus, 0, 7).size(), 3U);
  const Fabric tree =
      loaded(on_file(cluster("topology=\"FAT_TREE\" topo_parameters=\"2;4,2;1,2;1,1\""), 8));
  EXPECT_EQ(names(tree, 0, 1).size(), 2U);
  EXPECT_EQ(names(tree, 0, 7).size(), 4U);
  const Fabric fly =
      loaded(on_file(cluster("topology=\"DRAGONFLY\" topo_parameters=\"2,1;1,1;2,1;2\""), 8));
  EXPECT_GE(names(fly, 0, 7).size(), 3U);
}

TEST(PlatformTable, WhatNoFlowCanCrossIsRefused) {
  const std::string wire = "<link id=\"w\" bandwidth=\"1GBps\" latency=\"0s\"/>\n";
  EXPECT_NE(refusal(pair_of_hosts(wire, ""), 2).find("has no route from b to a"),
            std::string::npos);
  const std::string route =
      "<route src=\"b\" dst=\"a\"><link_ctn id=\"w\"/><link_ctn "
      "id=\"pipe\"/></route>\n";
  const auto pipe = [&](const std::string& speed) {
    return refusal(
        pair_of_hosts(wire + "<link id=\"pipe\" sharing_policy=\"FATPIPE\" bandwidth=\"" + speed +
                          "\" latency=\"0s\"/>\n",
                      route),
        2);
  };
  EXPECT_EQ(pipe("2GBps"), "accepted");
  EXPECT_NE(pipe("0.5GBps").find("has the link pipe that nobody shares"), std::string::npos);
  EXPECT_NE(refusal(pair_of_hosts("<link id=\"wire\" bandwidth=\"0Bps\" latency=\"0s\"/>\n",
                                  "<route src=\"b\" dst=\"a\"><link_ctn id=\"wire\"/></route>\n"),
                    2)
                .find("cluster.network.platform.file: "),
            std::string::npos);
}

/// What ends SimGrid's process is told in its words, and ours goes on.
TEST(PlatformTable, WhatSimGridRefusesIsTold) {
  for (const std::string& text :
       {std::string("no platform"),
        document("<zone id=\"root\" routing=\"Full\"><nonsense/></zone>"),
        document("<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" "
                 "bw=\"1GBps\" lat=\"1us\" topology=\"TORUS\" topo_parameters=\"4,4\"/>\n")}) {
    const std::string told = refusal(text, 2);
    EXPECT_TRUE(told.starts_with("cluster.network.platform.file: is refused by SimGrid: ")) << told;
    EXPECT_EQ(told.find("/proc/self"), std::string::npos) << told;
  }
}

TEST(PlatformTable, TheBisectionIsThatOfItsRoutes) {
  const std::string star = document(
      "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" bw=\"10GBps\" "
      "lat=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>\n");
  const Fabric fabric = loaded(on_file(star, 4));
  // Two devices send 10 GB/s each to the other two.
  EXPECT_DOUBLE_EQ(bisection(fabric).bandwidth.value(), 20e9);
}

}  // namespace
}  // namespace stepcast
