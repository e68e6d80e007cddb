#include <gtest/gtest.h>

#include "sim/scenario/errors_of.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/topology/platform.hpp"

/// `cluster.network.platform` from file to forecast: docs/models/platform.md.
namespace stepcast {
namespace {

using test::errors_of;
using test::TemporaryFiles;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The small scenario on switched nodes, shared without SimGrid.
std::string switched_text() {
  std::string text(test::small_scenario);
  text = replaced(text, "{kind: mesh, link: {bandwidth: 28GB/s, latency: 0.5us}, efficiency: 0.8}",
                  "{kind: switch, port: {bandwidth: 100GB/s, latency: 0.5us}, efficiency: 0.8}");
  return text + "simulate: {sharing: incremental}\n";
}

std::string platform_text(const std::string& keys, const std::string& more = {}) {
  return "extends: s.yaml\ncluster:\n  network:\n    platform: {file: p.xml, " + keys + "}\n" +
         more;
}

struct PlatformScenario : ::testing::Test {
  void SetUp() override {
    files.write("s.yaml", switched_text());
    const Scenario scenario = prepare_scenario(files.path("s.yaml"), {}, {});
    files.write("p.xml", platform_xml(Fabric(scenario.cluster)));
  }
  std::string errors(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return errors_of(files, files.write("t.yaml", text), overrides);
  }
  TemporaryFiles files;
};

TEST_F(PlatformScenario, WrittenAndReadBackItTakesTheSame) {
  const Forecast keys = forecast(prepare_scenario(files.path("s.yaml"), {}, {}));
  files.write("t.yaml", platform_text("devices_per_node: 8"));
  const Scenario scenario = prepare_scenario(files.path("t.yaml"), {}, {});
  EXPECT_EQ(scenario.cluster.node_devices, 8);
  const Forecast file = forecast(scenario);
  EXPECT_NEAR(file.timeline.step_time / keys.timeline.step_time, 1, 1e-9);
}

TEST_F(PlatformScenario, TheTextOfTheFileIsPartOfTheHash) {
  const std::string path = files.write("t.yaml", platform_text("devices_per_node: 8"));
  const std::string before = read_scenario(path, {}, {}).sha256;
  EXPECT_EQ(read_scenario(path, {}, {}).sha256, before);
  files.write("p.xml", std::string(test::small_scenario));
  EXPECT_NE(read_scenario(path, {}, {}).sha256, before);
}

TEST_F(PlatformScenario, LinksOfTheFileCanBeDegraded) {
  const auto step = [&](const std::string& more) {
    files.write("t.yaml", platform_text("devices_per_node: 8", more));
    return forecast(prepare_scenario(files.path("t.yaml"), {}, {})).timeline.step_time;
  };
  EXPECT_GT(step("stalls: {degraded_links: [{link: \"nic:3.up\", bandwidth_factor: 0.1}]}\n"),
            step(""));
  EXPECT_NE(errors(platform_text("devices_per_node: 8",
                                 "stalls: {degraded_links: [{link: \"cable:3\", bandwidth_factor: "
                                 "0.1}]}\n"))
                .find("stalls.degraded_links.0.link: is 'cable:3', which the fabric does not have, "
                      "allowed: "),
            std::string::npos);
}

TEST_F(PlatformScenario, KeysThatItReplacesAreRefusedBesideIt) {
  const auto with = [&](const std::string& network, const std::string& cluster) {
    return errors(
        "extends: s.yaml\ncluster:\n  network:\n    platform: {file: p.xml, "
        "devices_per_node: 8}\n" +
        network + cluster);
  };
  EXPECT_EQ(with("", ""), "no error");
  EXPECT_EQ(
      with("    nic: {bandwidth: 1GB/s}\n", ""),
      "t.yaml:4:5: cluster.network.platform: does not go with nic, allowed: exactly one of nic, "
      "platform");
  EXPECT_EQ(with("    queue_pairs: 2\n", ""),
            "t.yaml:5:5: cluster.network.queue_pairs: is not a known key, allowed: platform");
  EXPECT_NE(with("", "  node: {devices: 4, fabric: {kind: platform}}\n")
                .find("cluster.node.devices: is 4 but cluster.network.platform.devices_per_node is "
                      "8, allowed: no node"),
            std::string::npos);
  EXPECT_NE(with("", "  super_node: {nodes: 2, fabric: {kind: switch, port: {bandwidth: 1GB/s}}}\n")
                .find("cluster.super_node: does not go with network.platform"),
            std::string::npos);
  EXPECT_NE(with("", "  collectives: {library: nccl}\n").find("cluster.collectives.library: "),
            std::string::npos);
  EXPECT_NE(with("", "stalls: {failed_links: [{link: \"nic:3\"}]}\n")
                .find("stalls.failed_links: are given on a platform file"),
            std::string::npos);
}

TEST_F(PlatformScenario, WhatItNamesMustBeThere) {
  EXPECT_EQ(errors("extends: s.yaml\ncluster: {network: {platform: {file: no.xml}}}\n"),
            "t.yaml:2:38: cluster.network.platform.file: names 'no.xml', which does not exist, "
            "allowed: the path of a platform file of SimGrid (XML)");
  EXPECT_EQ(errors(platform_text("hosts: \"gpu-*\", devices_per_node: 8")),
            "t.yaml:4:36: cluster.network.platform.hosts: is 'gpu-*', which 0 of the 16 hosts of "
            "the file match, allowed: at least the 16 devices of the cluster");
  EXPECT_NE(errors("extends: s.yaml\ncluster: {node: {fabric: {kind: platform}}}\n")
                .find("cluster.node.fabric.kind: is platform but no file is given"),
            std::string::npos);
  EXPECT_NE(errors(platform_text("devices_per_node: 8"), {"cluster.devices=2048"})
                .find("cluster.devices: is 2048 on a platform file"),
            std::string::npos);
}

TEST_F(PlatformScenario, LatenciesAreTimes) {
  for (const char* latency : {"-1s", "-1ms", "nanus", "1e300s", "infs"}) {
    files.write("p.xml",
                "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
                "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\"><cluster id=\"c\" "
                "prefix=\"n-\" suffix=\"\" radical=\"0-15\" speed=\"1Gf\" bw=\"1GBps\" lat=\"" +
                    std::string(latency) + "\"/></platform>\n");
    const std::string said = errors(platform_text("devices_per_node: 8"));
    EXPECT_NE(said.find("latency"), std::string::npos) << latency << ": " << said;
  }
}

TEST_F(PlatformScenario, WhatIsNoTextIsRefusedAtItsByte) {
  const std::string cure = ", allowed: XML text in UTF-8";
  files.write("p.xml", "<?xml version='1.0'?>\n<!-- \x1b -->\n");
  EXPECT_EQ(errors(platform_text("devices_per_node: 8")),
            "p.xml:2:6: cluster.network.platform.file: holds the byte 0x1b" + cure);
  files.write("p.xml", "<?xml version='1.0'?>\n<!--\xff-->\n");
  EXPECT_EQ(errors(platform_text("devices_per_node: 8")),
            "p.xml:2:5: cluster.network.platform.file: holds the byte 0xff" + cure);
}

TEST_F(PlatformScenario, WhatTheFileMayNotHoldIsRefusedAtItsLine) {
  const auto holding = [&](const std::string& line) {
    files.write("p.xml", "<?xml version='1.0'?>\n<!-- <config/> -->\n<platform version=\"4.1\">\n" +
                             line + "\n</platform>\n");
    return errors(platform_text("devices_per_node: 8"));
  };
  for (const char* tag : {"config", "trace", "trace_connect", "actor", "process", "include"})
    EXPECT_EQ(holding("<" + std::string(tag) + " id=\"x\"/>"),
              "p.xml:4:1: cluster.network.platform.file: has <" + std::string(tag) +
                  ">, allowed: zones, hosts, routers, links, routes and prop");
  EXPECT_EQ(holding("<link id=\"x\"\n bandwidth_file = 'x.bw'/>"),
            "p.xml:4:1: cluster.network.platform.file: has the attribute bandwidth_file at <link>, "
            "which names a profile over time, allowed: bandwidths and latencies that stay");
  EXPECT_EQ(holding("<zone id=\"x\" routing=\"Vivaldi\">"),
            "p.xml:4:1: cluster.network.platform.file: has routing=\"Vivaldi\" at <zone>, whose "
            "links are no links, allowed: Full, Floyd, Dijkstra, DijkstraCache, Cluster, None");
  EXPECT_EQ(
      holding("<link id=\"x\" sharing_policy=\"WIFI\"/>"),
      "p.xml:4:1: cluster.network.platform.file: has sharing_policy=\"WIFI\" at <link>, whose "
      "links are no links, allowed: SHARED, SPLITDUPLEX, FATPIPE");
  EXPECT_EQ(holding("<link id=\"x\"/>\n<host id=\"x\"/><link id=\"x\"/>"),
            "p.xml:5:1: cluster.network.platform.file: has 'x' twice, first at line 4, allowed: a "
            "name for each");
}

}  // namespace
}  // namespace stepcast
