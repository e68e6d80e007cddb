#include <gtest/gtest.h>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "temporary_files.hpp"

namespace stepcast {
namespace {

using namespace literals;

/// The small scenario's cluster as a file of its own, with other numbers on request.
std::string cluster_file(const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  std::string text{test::small_scenario};
  const std::size_t first = text.find("  name: two-servers"), last = text.find("model:");
  text = text.substr(first, last - first);
  std::string file = "stepcast: 1\n";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    file += text.substr(at + 2, end - at - 1);
    at = end + 1;
  }
  for (const auto& [from, to] : changes) file.replace(file.find(from), from.size(), to);
  return file;
}

class Kinds : public ::testing::Test {
 protected:
  void SetUp() override {
    files.write("base.yaml", cluster_file());
    files.write("slow_device.yaml", cluster_file({{"value: 300TFLOPS", "value: 150TFLOPS"}}));
    files.write("slow_nic.yaml", cluster_file({{"bandwidth: 200Gbps", "bandwidth: 25Gbps"}}));
    files.write("slow_host.yaml", cluster_file({{"matmul: 8us", "matmul: 800us"}}));
    scenario = files.write("s.yaml", test::small_scenario);
  }
  Scenario read(const std::string& first, const std::string& second,
                std::vector<std::string> more = {}) const {
    more.push_back("cluster.kinds=[{nodes: 1, extends: " + files.path(first) +
                   "}, {nodes: 1, extends: " + files.path(second) + "}]");
    return prepare_scenario(scenario, more, {});
  }
  /// Step time, model FLOPs utilisation apart: every number that a run gives.
  static std::vector<double> run(const Scenario& s) {
    return testing_child([&] {
      const Forecast f = forecast(s);
      return std::vector<double>{f.step_time.value(), f.mean.computing.value(),
                                 f.mean.exposed_total().value(), f.mean.bubble.value(),
                                 f.mean.host_stall.value()};
    });
  }
  static std::vector<double> testing_child(const std::function<std::vector<double>()>& body) {
    return stepcast::testing::in_child(body);
  }
  static void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_FALSE(a.empty());
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9 * a[0]) << i;
  }
  test::TemporaryFiles files;
  std::string scenario;
};

TEST_F(Kinds, EqualKindsAreOneCluster) {
  expect_near(run(read("base.yaml", "base.yaml")), run(prepare_scenario(scenario, {}, {})));
}

TEST_F(Kinds, FoldingChangesNothing) {
  for (const char* other : {"slow_device.yaml", "slow_nic.yaml", "slow_host.yaml"}) {
    expect_near(run(read("base.yaml", other)),
                run(read("base.yaml", other, {"simulate.fold=off"})));
  }
}

TEST_F(Kinds, AStepGoesAtThePaceOfTheSlowest) {
  const double even = run(read("base.yaml", "base.yaml")).at(0);
  for (const char* other : {"slow_device.yaml", "slow_nic.yaml", "slow_host.yaml"}) {
    const double mixed = run(read("base.yaml", other)).at(0);
    EXPECT_GT(mixed, even * 1.01) << other;
    EXPECT_LE(mixed, run(read(other, other)).at(0) * (1 + 1e-9)) << other;
  }
}

TEST_F(Kinds, TheOrderOfKindsSaysWhichNodesAreSlow) {
  const Scenario s = read("slow_device.yaml", "base.yaml");
  EXPECT_EQ(s.cluster.kind_of(7), 0U);
  EXPECT_EQ(s.cluster.kind_of(8), 1U);
  EXPECT_EQ(s.cluster.as_kind(0).device.matmul_peak.value(), 150e12);
}

TEST_F(Kinds, OfAnotherShapeAreRefused) {
  files.write("switch.yaml", cluster_file({{"kind: mesh, link", "kind: switch, port"}}));
  files.write("fours.yaml", cluster_file({{"devices: 8", "devices: 4"}}));
  files.write("super.yaml",
              cluster_file({{"super_node: none",
                             "super_node: {nodes: 2, fabric: {kind: switch, port: {bandwidth: "
                             "196GB/s}}}"}}));
  const auto said = [&](const std::string& second, const std::string& nodes) -> std::string {
    try {
      prepare_scenario(scenario,
                       {"cluster.kinds=[{nodes: 1, extends: " + files.path("base.yaml") +
                        "}, {nodes: " + nodes + ", extends: " + files.path(second) + "}]"},
                       {});
    } catch (const InputError& error) {
      const Diagnostic& d = error.diagnostics().front();
      return d.path + ": " + d.message;
    }
    return "no error";
  };
  EXPECT_EQ(said("base.yaml", "1"), "no error");
  EXPECT_EQ(said("base.yaml", "2"),
            "cluster.kinds: have 3 nodes, allowed: the 2 of the cluster; all alike: --set "
            "cluster.kinds=none");
  EXPECT_EQ(said("base.yaml", "0"), "cluster.kinds.1.nodes: is 0, allowed: 1 to 1048576");
  EXPECT_EQ(said("fours.yaml", "1"),
            "cluster.kinds.1.node.devices: is 4, allowed: 8 as on the other nodes");
  EXPECT_EQ(said("switch.yaml", "1"),
            "cluster.kinds.1.node.fabric.kind: must be that of the other nodes, allowed: mesh or "
            "switch on all of them");
  EXPECT_EQ(said("super.yaml", "1"),
            "cluster.kinds.1.super_node: has 2 nodes, allowed: none as the cluster has");
}

/// Every device of a job multiplies in its precision.
TEST_F(Kinds, Fp8IsForDevicesOfAllKinds) {
  const std::string peak = "300TFLOPS, source: datasheet, note: \"dense BF16\"}";
  const std::string fp8 = peak + "\n  matmul_peak_fp8: 600TFLOPS";
  files.write("fp8.yaml", cluster_file({{peak, fp8 + "\n  mxfp8: false"}}));
  files.write("mxfp8.yaml", cluster_file({{peak, fp8 + "\n  mxfp8: true"}}));
  const auto said = [&](const std::string& second, const std::string& recipe) {
    std::string text = "no error";
    try {
      read("mxfp8.yaml", second,
           {"cluster.device.matmul_peak_fp8=600TFLOPS", "cluster.device.mxfp8=true",
            "training.precision=fp8_mixed", "training.fp8_recipe=" + recipe});
    } catch (const InputError& error) {
      text = error.what();
    }
    return text;
  };
  EXPECT_EQ(said("mxfp8.yaml", "mxfp8"), "no error");
  EXPECT_EQ(said("fp8.yaml", "delayed"), "no error");
  EXPECT_NE(
      said("base.yaml", "delayed").find("the device has no cluster.kinds.1.device.matmul_peak_fp8"),
      std::string::npos);
  EXPECT_NE(said("fp8.yaml", "mxfp8").find("(cluster.kinds.1.device.mxfp8)"), std::string::npos);
}

const std::string super_node =
    "super_node: {nodes: 2, fabric: {kind: switch, port: {bandwidth: 100GB/s}}}";
const std::string slow_super_node =
    "super_node: {nodes: 2, fabric: {kind: switch, port: {bandwidth: 10GB/s}}}";

/// Four nodes in two super-nodes, with tensor groups over the nodes of one.
class SuperKinds : public Kinds {
 protected:
  void SetUp() override {
    Kinds::SetUp();
    files.write("super.yaml", cluster_file({{"super_node: none", super_node}}));
    files.write("slow_super.yaml", cluster_file({{"super_node: none", slow_super_node}}));
    files.write("slow_device.yaml", cluster_file({{"super_node: none", super_node},
                                                  {"value: 300TFLOPS", "value: 150TFLOPS"}}));
  }
  std::vector<std::string> four_nodes(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"cluster.devices=32", "cluster." + assignment, "parallel.tp=16",
                               "model.attention.kv_heads=16"});
    return more;
  }
  Scenario mixed(const std::string& first, const std::string& second,
                 const std::vector<std::string>& more = {}, const char* nodes = "2") const {
    std::vector<std::string> all = four_nodes(more);
    all.push_back("cluster.kinds=[{nodes: 2, extends: " + files.path(first) +
                  "}, {nodes: " + nodes + ", extends: " + files.path(second) + "}]");
    return prepare_scenario(scenario, all, {});
  }
  std::string refused(const std::string& second, const char* nodes = "2") const {
    try {
      mixed("super.yaml", second, {}, nodes);
    } catch (const InputError& error) {
      const Diagnostic& d = error.diagnostics().front();
      return d.path + ": " + d.message;
    }
    return "no error";
  }
  std::string assignment =
      "super_node={nodes: 2, fabric: {kind: switch, port: {bandwidth: 100GB/s}}}";
};

TEST_F(SuperKinds, EqualKindsAreOneCluster) {
  expect_near(run(mixed("super.yaml", "super.yaml")),
              run(prepare_scenario(scenario, four_nodes(), {})));
}

TEST_F(SuperKinds, FoldingChangesNothing) {
  for (const char* other : {"slow_super.yaml", "slow_device.yaml"})
    expect_near(run(mixed("super.yaml", other)),
                run(mixed("super.yaml", other, {"simulate.fold=off"})));
}

TEST_F(SuperKinds, SlowPortsSlowTheirSuperNode) {
  const std::vector<std::string> even{"parallel.layers_per_chunk=even"};
  const double fast = run(mixed("super.yaml", "super.yaml", even)).at(0);
  const double one = run(mixed("super.yaml", "slow_super.yaml", even)).at(0);
  const double both = run(mixed("slow_super.yaml", "slow_super.yaml", even)).at(0);
  EXPECT_GT(one, fast * 1.01);
  EXPECT_LE(one, both * (1 + 1e-9));
}

TEST_F(SuperKinds, AreRefusedUnlessTheyAreWhole) {
  EXPECT_EQ(refused("super.yaml"), "no error");
  EXPECT_EQ(refused("base.yaml"),
            "cluster.kinds.1.super_node: is missing, allowed: 2 nodes as the cluster has");
  EXPECT_EQ(refused("super.yaml", "1"),
            "cluster.kinds.1.nodes: is 1, allowed: whole super-nodes of 2 nodes");
}

// Each stage has a node of its own, or a part of both; of each device 6 GiB are reserved.
TEST_F(Kinds, AStageHasTheMemoryOfItsTightestDevice) {
  files.write("tight.yaml", cluster_file({{"capacity: 64GiB", "capacity: 48GiB"}}));
  const auto capacities = [&](const char* first, const char* second, const char* order) {
    std::vector<double> gib;
    const Scenario s = read(first, second, {std::string("parallel.order=") + order});
    for (const StageForecast& stage : memory_forecast(s).stages)
      gib.push_back(stage.memory->capacity / 1_GiB);
    return gib;
  };
  using Capacities = std::vector<double>;
  const char *const apart = "[tp, cp, ep, dp, pp]", *const mixed = "[tp, pp, cp, ep, dp]";
  EXPECT_EQ(capacities("base.yaml", "tight.yaml", apart), (Capacities{58, 42}));
  EXPECT_EQ(capacities("tight.yaml", "base.yaml", apart), (Capacities{42, 58}));
  EXPECT_EQ(capacities("base.yaml", "tight.yaml", mixed), (Capacities{42, 42}));
  EXPECT_EQ(capacities("tight.yaml", "base.yaml", mixed), (Capacities{42, 42}));
}

TEST_F(Kinds, FreeHostsOfEqualKindsAreThatOfOneCluster) {
  const std::vector<std::string> synchronised{
      "stalls.host_sync=unit", "cluster.host.synchronise=1ms", "simulate.sharing=incremental"};
  const auto step = [&](const Scenario& s, const Ideal& ideal) {
    return testing_child([&] { return std::vector<double>{forecast(s, ideal).step_time.value()}; })
        .at(0);
  };
  files.write("waiting.yaml", cluster_file({{"queue_depth: 1024", "synchronise: 1ms"}}));
  const Scenario kinds = read("waiting.yaml", "waiting.yaml", synchronised);
  const Scenario one = prepare_scenario(scenario, synchronised, {});
  const double expected = step(one, {.free_host = true});
  EXPECT_NEAR(step(kinds, {.free_host = true}), expected, 1e-9 * expected);
  EXPECT_GT(step(kinds, {}), 1.01 * expected);
}

TEST_F(Kinds, TheReportSaysWhichGroupsMix) {
  const Scenario s = read("base.yaml", "slow_nic.yaml");
  const auto numbers = testing_child([&] {
    std::vector<double> found;
    for (const GroupReach& g : forecast(s).groups)
      if (g.group == "tensor" || g.group == "pipeline") {
        found.push_back(static_cast<double>(g.groups));
        found.push_back(static_cast<double>(g.mixed));
      }
    return found;
  });
  // tp 2 inside nodes; the two stages of each replica on different nodes
  EXPECT_EQ(numbers, (std::vector<double>{8, 0, 8, 8}));
}

}  // namespace
}  // namespace stepcast
