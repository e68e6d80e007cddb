#include "stepcast/topology/cluster_spec.hpp"

#include <algorithm>

#include "describe_states.hpp"
#include "node_fabric.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/format_version.hpp"

namespace stepcast {
namespace {

constexpr Range count = between(1, max_devices);
constexpr Range rate_or_none = between(0, 1e24);
constexpr Range some_bytes = between(1, 1e18);
constexpr Range size_range = between(0, 1e18);
constexpr Range ratio_range = between(1e-3, 1e3);

void describe(Visitor& visitor, OperatorClassTimes& times) {
  visitor.field({"matmul", &times.matmul, "cube operators", time_range});
  visitor.field({"vector", &times.vector, "vector operators", time_range});
  visitor.field({"communication", &times.communication, "collectives and transfers", time_range});
}

void describe(Visitor& visitor, DeviceSpec& spec) {
  visitor.field({"name", Identifier{&spec.name}, "name of the device", any_number(), true});
  visitor.field({"matmul_peak", &spec.matmul_peak,
                 "dense BF16/FP16 peak of the cube cores, per device", rate_range, true});
  visitor.field({"matmul_peak_fp8", &spec.matmul_peak_fp8,
                 "dense FP8 peak; 0FLOPS: the device has none", rate_or_none});
  visitor.field({"mxfp8", &spec.mxfp8, "FP8 products take a scale for each 32 numbers"});
  visitor.field(
      {"vector_peak", &spec.vector_peak, "peak of the vector cores, per device", rate_range, true});
  visitor.section("cores", "cores of one device", [&](Visitor& v) {
    v.field({"cube", &spec.cube_cores, "matrix cores", between(1, 65536)});
    v.field({"vector", &spec.vector_cores, "vector cores", between(1, 65536)});
    v.field({"vector_memory", &spec.vector_memory,
             "memory on chip of one vector core, which holds the rows that a fused kernel reduces "
             "(runtime.fusion dvm); 0B: no limit is known",
             size_range});
  });
  visitor.section("memory", "device memory", [&](Visitor& v) {
    v.field({"capacity", &spec.memory_capacity, "size of the device memory", some_bytes, true});
    v.field(
        {"bandwidth", &spec.memory_bandwidth, "bandwidth of the device memory", rate_range, true});
    v.field({"reserve", &spec.memory_reserve, "taken by runtime and driver before the model",
             size_range});
  });
  visitor.field(
      {"softmax_state", choice(spec.softmax_state, {{"compact"}, {"wide"}}),
       "what fused attention keeps of its softmax per head and token: one FP32 number, or "
       "maximum and sum eight times each (docs/models/memory.md)"});
  visitor.section("efficiency", "how much of the peaks kernels reach (docs/models/operators.md)",
                  [&](Visitor& v) { describe(v, spec.efficiency); });
  visitor.field({"step_clock", &spec.step_clock,
                 "clock of the cores in a step, with all devices of the node busy, over that of a "
                 "kernel measured alone",
                 fraction()});
  visitor.section("launch", "device-side fixed cost of one operator, per class",
                  [&](Visitor& v) { describe(v, spec.launch); });
  visitor.field({"tile_task", &spec.tile_task,
                 "start of one task of a kernel that runs already (moe.overlap tiles)",
                 time_range});
  visitor.section(
      "interference",
      "time of an operator beside a communication of its layer over its time alone, "
      "per class",
      [&](Visitor& v) {
        v.field({"matmul", &spec.interference_matmul, "cube operators", between(1, 1000)});
        v.field({"vector", &spec.interference_vector, "vector operators", between(1, 1000)});
      });
  describe_states(visitor, spec);
}

void describe(Visitor& visitor, HostSpec& spec) {
  visitor.field(
      {"devices_per_host", &spec.devices_per_host, "devices that one host drives", count});
  visitor.section("dispatch", "host time of one operator, eager, per class",
                  [&](Visitor& v) { describe(v, spec.dispatch); });
  visitor.field({"blocking", OptionalTime{&spec.blocking, &spec.blocking_given, "none"},
                 "host time of one operator whose launch blocks (queue_depth 1), its wait apart; "
                 "none: dispatch",
                 time_range});
  const OptionalTime library{&spec.library_launch, &spec.library_launch_given, "none"};
  visitor.field({"library_launch", library, "the same behind the first of a call", time_range});
  visitor.section("task_queue", "runtime.dispatch task_queue", [&](Visitor& v) {
    v.field(
        {"main", &spec.task_queue_main, "part of dispatch left on the main thread", between(0, 1)});
    v.field({"worker", &spec.task_queue_worker, "part of dispatch on the second thread",
             between(0, 1)});
  });
  visitor.section("graph_sink", "runtime.dispatch graph_sink", [&](Visitor& v) {
    v.field({"factor", &spec.graph_sink_factor,
             "part of dispatch left per operator of a sunk graph", between(0, 1)});
    v.field({"launch", &spec.graph_launch, "host time to launch one sunk graph", time_range});
  });
  visitor.section("compile", "host time to make a kernel for a new shape", [&](Visitor& v) {
    v.field({"bytecode", &spec.compile_bytecode, "with runtime.fusion dvm", time_range});
    v.field({"kernel", &spec.compile_kernel, "with any other fusion", time_range});
  });
  visitor.field({"queue_depth", &spec.queue_depth, "operators the host may run ahead of the device",
                 between(1, 1e9)});
  visitor.field(
      {"synchronise", &spec.synchronise, "host time of one stream synchronisation", time_range});
  visitor.field({"step_overhead", &spec.step_overhead,
                 "host time between two steps: next batch, loss, logging, clean-up", time_range});
  visitor.section("affinity", "what slow_hosts takes for an affinity, as factors on host time",
                  [&](Visitor& v) {
                    v.field({"unbound", &spec.affinity_unbound,
                             "threads wander over the cores; 0: not known", between(0, 1000)});
                    v.field({"cross_numa", &spec.affinity_cross_numa,
                             "threads and their memory on different NUMA nodes; 0: not known",
                             between(0, 1000)});
                  });
  visitor.section("device_link", "link between host and device", [&](Visitor& v) {
    v.field({"bandwidth", &spec.device_link_bandwidth, "per direction", rate_or_none});
    v.field({"latency", &spec.device_link_latency, "of one transfer", time_range});
    v.section("shared", "where the links of several devices meet: PCIe root, switch, host memory",
              [&](Visitor& w) {
                w.field({"bandwidth", &spec.shared_bandwidth,
                         "of all of them together, per direction; 0B/s: they meet nowhere",
                         rate_or_none});
                w.field({"devices", &spec.shared_devices, "devices that meet there", count});
              });
  });
}

void describe(Visitor& visitor, LinkSpec& spec) {
  visitor.field({"bandwidth", &spec.bandwidth, "per direction", rate_range, true});
  visitor.field({"latency", &spec.latency, "of one message", time_range});
}

void efficiency(Visitor& visitor, double& target) {
  visitor.field(
      {"efficiency", &target, "fraction of the bandwidth that transfers reach", fraction()});
}

void describe(Visitor& visitor, SwitchFabric& spec) {
  visitor.section("port", "the port of each device", [&](Visitor& v) { describe(v, spec.port); });
  efficiency(visitor, spec.efficiency);
}

/// The fabric as the alternative `Fabric`, which it becomes if it is another.
template <class Fabric>
Fabric& as(NodeFabric& fabric) {
  if (auto* held = std::get_if<Fabric>(&fabric)) return *held;
  return fabric.emplace<Fabric>();
}

void describe(Visitor& visitor, NodeFabric& fabric) {
  std::size_t kind = fabric.index();
  visitor.alternatives(
      "kind",
      "mesh: a link per pair; switch: a port per device; groups: meshes joined by bridges; torus, "
      "full_mesh, graph: links of the devices themselves (docs/models/wired.md)",
      kind,
      {{"mesh",
        [&](Visitor& v) {
          auto& spec = as<MeshFabric>(fabric);
          v.section("link", "the link of each pair of devices",
                    [&](Visitor& w) { describe(w, spec.link); });
          efficiency(v, spec.efficiency);
        }},
       {"switch", [&](Visitor& v) { describe(v, as<SwitchFabric>(fabric)); }},
       {"groups",
        [&](Visitor& v) {
          auto& spec = as<GroupFabric>(fabric);
          v.field({"size", &spec.group_size, "devices of one mesh", count});
          v.section("link", "the link of each pair of one mesh",
                    [&](Visitor& w) { describe(w, spec.link); });
          v.section("bridge", "the port of each device to the other meshes",
                    [&](Visitor& w) { describe(w, spec.bridge); });
          efficiency(v, spec.efficiency);
        }},
       {"torus",
        [&](Visitor& v) {
          auto& spec = as<TorusFabric>(fabric);
          describe_dimensions(v, spec.dimensions);
          efficiency(v, spec.efficiency);
        }},
       {"full_mesh",
        [&](Visitor& v) {
          auto& spec = as<FullMeshFabric>(fabric);
          describe_dimensions(v, spec.dimensions);
          efficiency(v, spec.efficiency);
        }},
       {"graph", [&](Visitor& v) {
          auto& spec = as<GraphFabric>(fabric);
          describe_graph(v, spec);
          efficiency(v, spec.efficiency);
        }}});
}

void describe(Visitor& visitor, SuperNodeSpec& spec) {
  visitor.field({"nodes", &spec.nodes, "nodes of one super-node", count, true});
  visitor.section("fabric", "what joins the nodes of a super-node", [&](Visitor& v) {
    std::size_t kind{};
    v.alternatives("kind", "switch: a port per device", kind,
                   {{"switch", [&](Visitor& w) { describe(w, spec.fabric); }}});
  });
}

void describe(Visitor& visitor, NicSpec& spec) {
  visitor.field(
      {"per", choice(spec.per, {{"device"}, {"node"}}), "each device or each node has one"});
  describe(visitor, spec.link);
  efficiency(visitor, spec.efficiency);
}

void leaves(Visitor& visitor, NetworkSpec& spec) {
  visitor.field({"leaf_ports", &spec.leaf_ports, "NICs below one leaf switch", count});
  visitor.field({"oversubscription", &spec.oversubscription,
                 "capacity of a leaf to its NICs over that to the spine, 1 = non-blocking",
                 between(1, 1000)});
}

void describe(Visitor& visitor, NetworkSpec& spec) {
  using Kind = NetworkSpec::Kind;
  visitor.section("nic", "network card", [&](Visitor& v) { describe(v, spec.nic); });
  visitor.section("topology", "switches between the NICs", [&](Visitor& v) {
    auto kind = static_cast<std::size_t>(spec.kind);
    v.alternatives("kind", "rail_optimized: the i-th NIC of every node below the same leaves", kind,
                   {{"single_switch", [&](Visitor&) { spec.kind = Kind::single_switch; }},
                    {"leaf_spine",
                     [&](Visitor& w) {
                       spec.kind = Kind::leaf_spine;
                       leaves(w, spec);
                       w.field({"pod_leaves", &spec.pod_leaves,
                                "a third tier: leaves of one pod, below spines of its own; 0: the "
                                "spines join all leaves",
                                between(0, max_devices)});
                       w.field({"pod_oversubscription", &spec.pod_oversubscription,
                                "capacity of a pod's leaves to its spines over that of the pod to "
                                "the core",
                                between(1, 1000)});
                     }},
                    {"rail_optimized", [&](Visitor& w) {
                       spec.kind = Kind::rail_optimized;
                       leaves(w, spec);
                     }}});
  });
  describe_routing(visitor, spec);
}

void describe(Visitor& visitor, RingProtocolSpec& spec) {
  visitor.field({"start", &spec.start, "each ring or tree, once", time_range});
  visitor.field({"step_latency", &spec.step_latency, "one step between nodes", time_range});
  visitor.field({"node_step_latency", &spec.node_step_latency,
                 "one step inside a node or super-node", time_range});
  visitor.field({"bandwidth", &spec.bandwidth, "part of the NIC's bandwidth", fraction()});
  visitor.field({"node_bandwidth", &spec.node_bandwidth,
                 "part of the bandwidth of links inside a node or super-node", fraction()});
}

void describe(Visitor& visitor, CollectiveLibrarySpec& spec) {
  visitor.field({"library", choice(spec.library, {{"hccl"}, {"nccl"}}),
                 "whose selection communication.algorithm auto follows"});
  visitor.field({"buffer", &spec.buffer,
                 "of a communicator, which holds two; HCCL runs a larger collective in loops",
                 some_bytes});
  visitor.field({"ring_start", &spec.ring_start,
                 "each of NCCL's rings and trees, once (protocol Simple)", time_range});
  visitor.field(
      {"step_latency", &spec.step_latency, "one step of a collective between nodes", time_range});
  visitor.field({"selection_latency",
                 OptionalTime{&spec.selection_latency, &spec.selection_latency_given, "none"},
                 "what the library's own selection takes for that step; none: step_latency",
                 time_range});
  visitor.field({"node_step_latency", &spec.node_step_latency,
                 "one step inside a node or super-node", time_range});
  visitor.field({"node_bandwidth", &spec.node_bandwidth,
                 "part of the links inside a node or super-node that NCCL's collectives reach",
                 fraction()});
  visitor.field({"pair_bandwidth", &spec.pair_bandwidth,
                 "part of that which NCCL's all-reduce of two ranks reaches", fraction()});
  visitor.section("transfer", "a lone message between two devices", [&](Visitor& v) {
    v.field({"start", &spec.transfer.start, "once; NCCL's all-to-all pays it too", time_range});
    v.field({"bandwidth", &spec.transfer.bandwidth,
             "part of the links inside a node or super-node that a message beyond cache reaches",
             fraction()});
    v.field({"cache", &spec.transfer.cache,
             "a message of no more bytes reaches all of them, one of a third more none of that",
             size_range});
  });
  bool present = spec.ll128.has_value();
  visitor.optional_section("ll128", "NCCL's protocol for small chunks of rings and trees", present,
                           [&](Visitor& v) {
                             if (!spec.ll128) spec.ll128.emplace();
                             describe(v, *spec.ll128);
                           });
  if (!present) spec.ll128.reset();
}

/// All keys but `kinds`.
void describe(Visitor& visitor, QuotientRange& spec) {
  visitor.field({"low", &spec.low, "one measured step of ten is below", ratio_range, true});
  visitor.field({"high", &spec.high, "one measured step of ten is above", ratio_range, true});
}

void describe(Visitor& visitor, ForecastInterval& spec) {
  describe(visitor, spec.steps);
  bool experts = spec.experts.has_value();
  visitor.optional_section("experts", "the same for models with experts; none: as the others",
                           experts, [&](Visitor& v) {
                             if (!spec.experts) spec.experts.emplace();
                             describe(v, *spec.experts);
                           });
  if (!experts) spec.experts.reset();
  bool memory = spec.memory.has_value();
  visitor.optional_section(
      "memory", "measured over forecast memory of the fullest device; none: not known", memory,
      [&](Visitor& v) {
        if (!spec.memory) spec.memory.emplace();
        v.field({"low", &spec.memory->low, "one measured peak of ten is below", positive(), true});
        v.field(
            {"high", &spec.memory->high, "one measured peak of ten is above", positive(), true});
      });
  if (!memory) spec.memory.reset();
}

void describe_one_kind(Visitor& visitor, ClusterSpec& spec) {
  describe_format_version(visitor);
  visitor.field({"name", Identifier{&spec.name}, "name of the cluster"});
  visitor.section("device", "one accelerator", [&](Visitor& v) { describe(v, spec.device); });
  visitor.section("host", "what drives the devices of a node",
                  [&](Visitor& v) { describe(v, spec.host); });
  visitor.section("node", "devices of one node and what joins them", [&](Visitor& v) {
    v.field({"devices", &spec.node_devices, "devices of one node", count, true});
    v.section("fabric", "what joins them", [&](Visitor& w) { describe(w, spec.node_fabric); });
  });
  bool present = spec.super_node.has_value();
  visitor.optional_section("super_node", "nodes joined by a fabric of their own", present,
                           [&](Visitor& v) {
                             if (!spec.super_node) spec.super_node.emplace();
                             describe(v, *spec.super_node);
                           });
  if (!present) spec.super_node.reset();
  visitor.section("network", "what joins nodes and super-nodes",
                  [&](Visitor& v) { describe(v, spec.network); });
  visitor.section("collectives", "collective communication library",
                  [&](Visitor& v) { describe(v, spec.collectives); });
  bool interval = spec.interval.has_value();
  visitor.optional_section("interval",
                           "measured over forecast step times, for step_time_s_low and _high",
                           interval, [&](Visitor& v) {
                             if (!spec.interval) spec.interval.emplace();
                             describe(v, *spec.interval);
                           });
  if (!interval) spec.interval.reset();
  visitor.field({"devices", &spec.devices, "size of the cluster, a whole number of nodes", count});
}

/// Read as a cluster file of its own, of which a kind keeps what differs between nodes.
void describe(Visitor& visitor, NodeKind& kind) {
  ClusterSpec whole;
  whole.name = kind.name;
  whole.device = kind.device;
  whole.host = kind.host;
  whole.node_devices = kind.node_devices;
  whole.node_fabric = kind.node_fabric;
  whole.network.nic = kind.nic;
  whole.super_node = kind.super_node;
  visitor.field(
      {"nodes", &kind.nodes, "nodes of this kind, behind those of the kinds before", count, true});
  describe_one_kind(visitor, whole);
  kind = {.nodes = kind.nodes,
          .name = whole.name,
          .device = whole.device,
          .host = whole.host,
          .node_devices = whole.node_devices,
          .node_fabric = whole.node_fabric,
          .nic = whole.network.nic,
          .super_node = whole.super_node};
}

}  // namespace

BytesPerSecond HostSpec::offload_bandwidth() const {
  if (shared_bandwidth.value() <= 0) return device_link_bandwidth;
  const double share = shared_bandwidth.value() / static_cast<double>(shared_devices);
  return BytesPerSecond{std::min(device_link_bandwidth.value(), share)};
}

DeviceSpec in_step(const DeviceSpec& device) {
  DeviceSpec slower = device;
  for (FlopsPerSecond* peak : {&slower.matmul_peak, &slower.matmul_peak_fp8, &slower.vector_peak})
    *peak *= device.step_clock;
  return slower;
}

void describe(Visitor& visitor, ClusterSpec& spec) {
  describe_one_kind(visitor, spec);
  describe_costs(visitor, spec.costs);
  visitor.optional_list(
      "kinds", "nodes of several kinds, each as a cluster file has them (heterogeneous.md)",
      spec.kinds.size(), [&](std::size_t size) { spec.kinds.resize(size); },
      [&](Visitor& v, std::size_t i) { describe(v, spec.kinds[i]); });
}

}  // namespace stepcast
