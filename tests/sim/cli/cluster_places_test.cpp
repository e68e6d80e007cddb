#include <gtest/gtest.h>

#include <string>

#include "shell.hpp"

/// What is wrong with a cluster file stands at its line, whichever command reads it.
namespace stepcast {
namespace {

const std::string xml =
    "<?xml version='1.0'?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n"
    "<cluster id=\"c\" prefix=\"node-\" suffix=\"\" radical=\"0-7\" speed=\"1Gf\" bw=\"25GBps\""
    " lat=\"1us\"/>\n"
    "</platform>\n";

class ClusterPlaces : public ::testing::Test {
 protected:
  ClusterPlaces() { files_.write("p.xml", xml); }

  /// A cluster whose fifth line is `network`.
  void write(const std::string& network) {
    path_ = files_.write(
        "c.yaml", std::string("stepcast: 1\nname: c\nextends: ") + STEPCAST_SOURCE_DIR +
                      "/scenarios/clusters/atlas-800t-a2.yaml\ndevices: 8\n" + network + "\n");
  }
  void each_command_says(const std::string& place) {
    for (const std::string& command :
         {"topology '" + path_ + "'", "validate '" + path_ + "'",
          "collective all_reduce --ranks 4 --size 1MiB --cluster '" + path_ + "'"}) {
      const test::Ran ran = test::stepcast_run(files_, command);
      EXPECT_EQ(ran.code, 2) << command;
      EXPECT_NE(ran.err.find(place), std::string::npos) << command << '\n' << ran.err;
    }
  }
  test::TemporaryFiles files_;
  std::string path_;
};

TEST_F(ClusterPlaces, OfAPlatformThatFits) {
  write("network: {platform: {file: p.xml, hosts: \"node-*\", devices_per_node: 8}}");
  for (const std::string command : {"topology", "validate"}) {
    const test::Ran ran = test::stepcast_run(files_, command + " '" + path_ + "'");
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
}

TEST_F(ClusterPlaces, OfWhatAPlatformLacks) {
  write("network: {platform: {file: p.xml, hosts: \"gpu-*\", devices_per_node: 8}}");
  each_command_says("c.yaml:5:42: network.platform.hosts: is 'gpu-*', which 0 of the 8 hosts");
  write("network: {platform: {file: no.xml, hosts: \"node-*\", devices_per_node: 8}}");
  each_command_says("c.yaml:5:28: network.platform.file: names 'no.xml', which does not exist");
  files_.write("q.xml", "<platform version=\"4.1\">\n<config id=\"x\"/>\n</platform>\n");
  write("network: {platform: {file: q.xml, hosts: \"node-*\", devices_per_node: 8}}");
  each_command_says("q.xml:2:1: network.platform.file: has <config>");
}

// What SimGrid itself says of a file has no line of it, but that of the key which names it.
TEST_F(ClusterPlaces, OfWhatSimGridDoesNotLike) {
  files_.write("p.xml",
               "<?xml version='1.0'?>\n<platform version=\"4.1\">\n<bogus/>\n</platform>\n");
  write("network: {platform: {file: p.xml, hosts: \"node-*\", devices_per_node: 8}}");
  each_command_says("c.yaml:5:28: network.platform.file: ");
}

TEST_F(ClusterPlaces, OfRoutesThatACollectiveAloneHasNot) {
  write(
      "network: {routing: ecmp, topology: {kind: leaf_spine, leaf_ports: 4, oversubscription: 2}}");
  const test::Ran ran = test::stepcast_run(
      files_, "collective all_reduce --ranks 4 --size 1MiB --cluster '" + path_ + "'");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("c.yaml:5:20: network.routing: is not ideal"), std::string::npos)
      << ran.err;
}

}  // namespace
}  // namespace stepcast
