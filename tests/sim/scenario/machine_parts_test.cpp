#include <gtest/gtest.h>

#include "errors_of.hpp"
#include "sim/small_scenario.hpp"

/// What files may say of planes, allocations and dragonflies: docs/models/fabric.md.
namespace stepcast {
namespace {

using test::errors_of;
using test::TemporaryFiles;

/// The small scenario with these keys over its own.
std::string with(const std::string& cluster, const std::string& more = {}) {
  const TemporaryFiles files;
  files.write("s.yaml", test::small_scenario);
  return errors_of(files, files.write("t.yaml", "extends: s.yaml\ncluster:\n" + cluster + more));
}

const std::string planes =
    "  node: {fabric: {kind: switch, port: {bandwidth: 196GB/s}, planes: 7}}\n";

std::string failed(const std::string& entries) {
  return "stalls: {failed_links: [" + entries + "]}\n";
}

TEST(MachineParts, PlanesMayFailButNotAll) {
  EXPECT_EQ(with(planes, failed("{link: \"plane:3\"}, {link: \"plane:6\"}")), "no error");
  EXPECT_EQ(with(planes, failed("{link: \"port:3\", ports: 2}")), "no error");
  EXPECT_NE(with(planes, failed("{link: \"plane:7\"}"))
                .find("stalls.failed_links.0.link: is 'plane:7', which the fabric does not have, "
                      "allowed: plane:0 to plane:6"),
            std::string::npos);
  EXPECT_NE(with(planes, failed("{link: \"plane:1\"}, {link: \"plane:1\"}"))
                .find("stalls.failed_links.1.link: is plane:1, which is named before"),
            std::string::npos);
  EXPECT_NE(
      with(planes, failed("{link: \"nic_plane:1\"}"))
          .find("stalls.failed_links.0.link: is 'nic_plane:1', which the fabric does not have"),
      std::string::npos);
  EXPECT_NE(with(planes, failed("{link: \"port:3\", ports: 8}"))
                .find("stalls.failed_links.0.ports: is 8 of the 7 it is made of"),
            std::string::npos);
  EXPECT_NE(with(planes, failed("{link: \"plane:1\", ports: 2}"))
                .find("stalls.failed_links.0.ports: is 2 of a plane, allowed: 1"),
            std::string::npos);
  const std::string two = "  network: {nic: {planes: 2}}\n";
  EXPECT_EQ(with(two, failed("{link: \"nic_plane:1\"}")), "no error");
  EXPECT_NE(with(two, failed("{link: \"nic_plane:1\"}, {link: \"nic_plane:0\"}"))
                .find("stalls.failed_links.1.link: is the last of 2 planes, allowed: all but one"),
            std::string::npos);
}

TEST(MachineParts, PlanesOfNodesAndSuperNodesAreTheSame) {
  const std::string above =
      "  super_node: {nodes: 2, fabric: {kind: switch, port: {bandwidth: "
      "196GB/s}, planes: 6}}\n";
  EXPECT_NE(with(planes + above)
                .find("cluster.super_node.fabric.planes: is 6 above ports of 7 planes, allowed: as "
                      "many as node.fabric has"),
            std::string::npos);
}

TEST(MachineParts, AnAllocationNamesTheNodesOfTheCluster) {
  const auto allocated = [](const std::string& runs) {
    return with("  allocation: [" + runs + "]\n");
  };
  EXPECT_EQ(allocated("{first: 3, nodes: 1}, {first: 9, nodes: 1}"), "no error");
  EXPECT_NE(allocated("{first: 3, nodes: 1}, {first: 3, nodes: 1}")
                .find("cluster.allocation.1.first: is 3, allowed: at least 4, behind the nodes "
                      "before"),
            std::string::npos);
  EXPECT_NE(allocated("{first: 3, nodes: 3}")
                .find("cluster.allocation: has 3 nodes, allowed: the 2 of the cluster"),
            std::string::npos);
  EXPECT_NE(
      allocated("{first: 1048575, nodes: 2}").find("cluster.allocation.0.nodes: lead to node"),
      std::string::npos);
  EXPECT_NE(with("  network: {topology: {kind: single_switch}}\n  allocation: [{first: 3, nodes: "
                 "2}]\n")
                .find("cluster.allocation: is given but all nodes hang on one switch"),
            std::string::npos);
}

TEST(MachineParts, AnAllocationHasNoBill) {
  const std::string costs = "  costs: {currency: usd, amortisation: 1000d}\n";
  EXPECT_EQ(with(costs), "no error");
  EXPECT_NE(with("  allocation: [{first: 3, nodes: 1}, {first: 9, nodes: 1}]\n" + costs)
                .find("cluster.costs: counts switches and super-nodes from the first node on"),
            std::string::npos);
}

/// The small scenario on one node of each kind, both as its cluster but for what is given.
std::string errors_of_kinds(const std::string& first, const std::string& second,
                            const std::string& more = {}) {
  const TemporaryFiles files;
  const std::string small{test::small_scenario};
  const std::size_t from = small.find("cluster:\n") + 9, to = small.find("model:\n");
  std::string cluster = "stepcast: 1\n";  // and two columns to the left
  for (std::size_t at = from; at < to; at = small.find('\n', at) + 1)
    cluster += small.substr(at + 2, small.find('\n', at) + 1 - at - 2);
  files.write("c.yaml", cluster);
  files.write("s.yaml", small);
  const auto kind = [](const std::string& own) {
    return "{extends: c.yaml, nodes: 1, " + own + "}";
  };
  return errors_of(
      files, files.write("t.yaml", "extends: s.yaml\ncluster:\n  kinds: [" + kind(first) + ", " +
                                       kind(second) + "]\n" + more));
}

TEST(MachineParts, KindsHaveTheSamePlanes) {
  const auto nic = [](const std::string& count) {
    return "network: {nic: {planes: " + count + "}}";
  };
  EXPECT_EQ(errors_of_kinds(nic("2"), nic("2")).find("planes"), std::string::npos);
  EXPECT_NE(errors_of_kinds(nic("2"), nic("4"))
                .find("network.nic.planes: is 4, allowed: 2 as in the first kind"),
            std::string::npos);
}

TEST(MachineParts, EveryKindThatCopiesHasALinkToItsHost) {
  const auto link = [](const std::string& bandwidth) {
    return "host: {device_link: {bandwidth: " + bandwidth + "}}";
  };
  const std::string copies = "training: {offload: {activations: 0.5}}\n";
  EXPECT_EQ(errors_of_kinds(link("64GB/s"), link("32GB/s"), copies).find("offload"),
            std::string::npos);
  EXPECT_NE(errors_of_kinds(link("64GB/s"), link("0B/s"), copies)
                .find("training.offload.activations: is given but "
                      "cluster.kinds.1.host.device_link.bandwidth "
                      "is 0"),
            std::string::npos);
}

TEST(MachineParts, GroupsHaveFewRouters) {
  EXPECT_NE(with("  network: {topology: {kind: dragonfly, router_ports: 4, group_routers: 4097, "
                 "local: {bandwidth: 25GB/s}, global: {links: 2, bandwidth: 25GB/s}}}\n")
                .find("cluster.network.topology.group_routers: is 4097, allowed: 2 to 4096"),
            std::string::npos);
}

TEST(MachineParts, ADragonflyHashesNothing) {
  const auto flying = [](const std::string& more) {
    return with(
        "  network:\n    topology: {kind: dragonfly, router_ports: 4, group_routers: 2, "
        "local: {bandwidth: 25GB/s}, global: {links: 2, bandwidth: 25GB/s}}\n" +
        more);
  };
  EXPECT_EQ(flying(""), "no error");
  EXPECT_NE(flying("    routing: ecmp\n")
                .find("cluster.network.routing: is ecmp but channels of a dragonfly are loaded "
                      "evenly, allowed: ideal"),
            std::string::npos);
  EXPECT_NE(with("  network: {topology: {kind: dragonfly, router_ports: 4}}\n")
                .find("cluster.network.topology.local: is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace stepcast
