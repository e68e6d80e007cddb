#include "stepcast/topology/cluster_spec.hpp"

#include <algorithm>

#include "describe_network.hpp"
#include "node_fabric.hpp"
#include "stepcast/base/format_version.hpp"

namespace stepcast {
namespace {

constexpr Range host_devices = between(1, max_devices);
constexpr Range host_rate = between(0, 1e24);
constexpr Range host_size = between(0, 1e18);

void describe(Visitor& visitor, OperatorClassTimes& times) {
  visitor.field({"matmul", &times.matmul, "cube operators", time_range});
  visitor.field({"vector", &times.vector, "vector operators", time_range});
  visitor.field({"communication", &times.communication, "collectives and transfers", time_range});
}

void describe(Visitor& visitor, PcieTree& tree) {
  // Bandwidth 0 stands for no tree, since most data sheets do not say how devices share their root.
  visitor.field(
      {"switch_devices", &tree.switch_devices, "devices behind one switch", host_devices});
  visitor.field(
      {"switch_bandwidth", &tree.switch_bandwidth,
       "of its uplink to the root complex, per direction, which the copies of its devices "
       "share as they meet; 0B/s: there is no tree",
       host_rate});
  visitor.field({"nic", choice(tree.nic, {{"device"}, {"switch"}, {"root"}}),
                 "where the NIC of a device is: on it; behind its switch, so that what it sends "
                 "shares the device's own link; below the root, so that it shares the uplink too"});
}

void describe(Visitor& visitor, HostSpec& spec) {
  visitor.field(
      {"devices_per_host", &spec.devices_per_host, "devices that one host drives", host_devices});
  visitor.section("dispatch", "host time of one operator, eager, per class",
                  [&](Visitor& v) { describe(v, spec.dispatch); });
  visitor.field({"blocking", OptionalTime{&spec.blocking, &spec.blocking_given, "none"},
                 "host time of one operator whose launch blocks (queue_depth 1), its wait apart; "
                 "none: dispatch",
                 time_range});
  const OptionalTime library{&spec.library_launch, &spec.library_launch_given, "none"};
  visitor.field({"library_launch", library, "the same behind the first of a call", time_range});
  visitor.field({"statement", &spec.statement,
                 "host time of a statement of the framework that launches nothing", time_range});
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
    v.field({"bandwidth", &spec.device_link_bandwidth, "per direction", host_rate});
    v.field({"latency", &spec.device_link_latency, "of one transfer", time_range});
    v.section(
        "shared", "where the links of several devices meet: PCIe root, switch, host memory",
        [&](Visitor& w) {
          w.field({"bandwidth", &spec.shared_bandwidth,
                   "of all of them together, per direction; 0B/s: they meet nowhere", host_rate});
          w.field({"devices", &spec.shared_devices, "devices that meet there", host_devices});
        });
  });
  visitor.section("pcie", "switches between devices and their host (docs/models/offload.md)",
                  [&](Visitor& v) { describe(v, spec.pcie); });
  visitor.section("cores", "of one host, as its updates of states find them", [&](Visitor& v) {
    v.field({"count", &spec.cores, "0: not known", between(0, max_devices)});
    v.field({"bandwidth", &spec.core_bandwidth,
             "of the host's memory, that one core draws; 0B/s: cores are not the limit",
             host_rate});
  });
  visitor.section("memory", "of one host (docs/models/offload.md)", [&](Visitor& v) {
    v.field({"capacity", &spec.memory_capacity, "what is offloaded must fit into it; 0B: not known",
             host_size});
    v.field({"bandwidth", &spec.memory_bandwidth,
             "reading and writing together; training.offload.update host needs it", host_rate});
    v.field({"efficiency", &spec.memory_efficiency,
             "part of the bandwidth that updates of states reach", fraction()});
  });
  visitor.section("storage", "drives of one host (docs/models/offload.md)", [&](Visitor& v) {
    v.field({"capacity", &spec.storage_capacity, "what lives there must fit into it; 0B: not known",
             host_size});
    v.field({"read", &spec.storage_read,
             "of all drives together; training.offload.store storage needs it", host_rate});
    v.field({"write", &spec.storage_write, "as read", host_rate});
  });
}

constexpr Range count = between(1, max_devices);
constexpr Range rate_or_none = between(0, 1e24);
constexpr Range some_bytes = between(1, 1e18);
constexpr Range size_range = between(0, 1e18);
constexpr Range ratio_range = between(1e-3, 1e3);

void describe(Visitor& visitor, DeviceSpec& spec) {
  // Peaks and capacities are required and without default: a device that nobody described must not
  // get numbers.
  visitor.field({"name", Identifier{&spec.name}, "name of the device", any_number(), true});
  visitor.field(
      {"vendor", Identifier{&spec.vendor}, "who makes it; rules of frameworks ask for it"});
  visitor.field({"generation", Identifier{&spec.generation},
                 "which of its vendor's; rules of frameworks ask for it"});
  visitor.field({"framework", Identifier{&spec.framework},
                 "what most train with on it: the framework of scenarios that name none"});
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
  visitor.field({"product_streams", &spec.product_streams,
                 "pieces of one product that run at a time (communication.tensor.overlap)",
                 between(1, 64)});
  visitor.section(
      "interference", "time of an operator beside a communication of its layer over its time alone",
      [&](Visitor& v) {
        v.field({"matmul", &spec.interference_matmul, "cube operators", between(1, 1000)});
      });
  describe_states(visitor, spec);
}

/// The fabric as the alternative `Fabric`, which it becomes if it is another.
template <class Fabric>
Fabric& as(NodeFabric& fabric) {
  if (auto* held = std::get_if<Fabric>(&fabric)) return *held;
  return fabric.emplace<Fabric>();
}

void describe(Visitor& visitor, NodeFabric& fabric) {
  // Fabrics differ in their keys, so that `kind` comes first and says which may stand beside it.
  std::size_t kind = fabric.index();
  visitor.alternatives(
      "kind",
      "mesh: a link per pair; switch: a port per device; groups: meshes joined by bridges; torus, "
      "full_mesh, graph: links of the devices themselves (docs/models/wired.md); platform: those "
      "of network.platform",
      kind,
      {{"mesh",
        [&](Visitor& v) {
          auto& spec = as<MeshFabric>(fabric);
          v.section("link", "the link of each pair of devices",
                    [&](Visitor& w) { describe_link(w, spec.link); });
          describe_efficiency(v, spec.efficiency);
        }},
       {"switch", [&](Visitor& v) { describe_switch(v, as<SwitchFabric>(fabric)); }},
       {"groups",
        [&](Visitor& v) {
          auto& spec = as<GroupFabric>(fabric);
          v.field({"size", &spec.group_size, "devices of one mesh", count});
          v.section("link", "the link of each pair of one mesh",
                    [&](Visitor& w) { describe_link(w, spec.link); });
          v.section("bridge", "the port of each device to the other meshes",
                    [&](Visitor& w) { describe_link(w, spec.bridge); });
          describe_efficiency(v, spec.efficiency);
        }},
       {"torus",
        [&](Visitor& v) {
          auto& spec = as<TorusFabric>(fabric);
          describe_dimensions(v, spec.dimensions);
          describe_efficiency(v, spec.efficiency);
        }},
       {"full_mesh",
        [&](Visitor& v) {
          auto& spec = as<FullMeshFabric>(fabric);
          describe_dimensions(v, spec.dimensions);
          describe_efficiency(v, spec.efficiency);
        }},
       {"graph",
        [&](Visitor& v) {
          auto& spec = as<GraphFabric>(fabric);
          describe_graph(v, spec);
          describe_efficiency(v, spec.efficiency);
        }},
       {"platform",
        [&](Visitor& v) { describe_efficiency(v, as<PlatformFabric>(fabric).efficiency); }}});
}

void describe(Visitor& visitor, RingProtocolSpec& spec) {
  // Start and latencies add up to the alpha of alpha-beta, the two fractions scale its beta
  // (docs/models/collectives.md).
  visitor.field({"start", &spec.start, "each ring or tree, once", time_range});
  visitor.field({"step_latency", &spec.step_latency, "one step between nodes", time_range});
  visitor.field({"node_step_latency", &spec.node_step_latency,
                 "one step inside a node or super-node", time_range});
  visitor.field({"bandwidth", &spec.bandwidth, "part of the NIC's bandwidth", fraction()});
  visitor.field({"node_bandwidth", &spec.node_bandwidth,
                 "part of the bandwidth of links inside a node or super-node", fraction()});
}

void describe(Visitor& visitor, HeldCores& spec) {
  constexpr Range some = between(0, 65536);
  visitor.field({"node", &spec.node, "a collective inside a node or super-node", some});
  visitor.field(
      {"network", &spec.network,
       "a collective between them, for each of its members in one of them; at most `node`", some});
  visitor.field({"gather_pieces", &spec.gather_pieces,
                 "a gather in pieces beside a product (communication.tensor.overlap)", some});
  visitor.field({"reduce_pieces", &spec.reduce_pieces, "a reduction in pieces beside one", some});
  visitor.field({"deepep", &spec.deepep, "kernels of moe.dispatcher: deepep", some});
  visitor.field({"hybridep", &spec.hybridep, "kernels of moe.dispatcher: hybridep", some});
}

void describe(Visitor& visitor, CollectiveLibrarySpec& spec) {
  // Latencies and fractions are of one library: each preset has those of its own
  // (docs/models/collectives.md).
  visitor.field({"library", choice(spec.library, {{"hccl"}, {"nccl"}}),
                 "whose selection communication.algorithm auto follows"});
  visitor.field({"all_to_all", choice(spec.exchange, {{"staged"}, {"pipeline"}}),
                 "what auto takes between nodes of a mesh each; staged: inside them, then across; "
                 "pipeline: both at once, as HCCL_ALGO alltoall=level0:NA;level1:pipeline asks "
                 "for"});
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
  visitor.field({"ring_loss", &spec.ring_loss,
                 "part of the NICs that NCCL's rings of gathers and scatters lose at each doubling "
                 "beyond four nodes and 32 members",
                 between(0, 0.5)});
  visitor.section("transfer", "a lone message between two devices", [&](Visitor& v) {
    v.field({"start", &spec.transfer.start, "once; NCCL's all-to-all pays it too", time_range});
    v.field({"step_latency",
             OptionalTime{&spec.transfer.step_latency, &spec.transfer.step_latency_given, "none"},
             "its step inside a node or super-node; none: node_step_latency", time_range});
    v.field({"bandwidth", &spec.transfer.bandwidth,
             "part of the links inside a node or super-node that a message beyond cache reaches",
             fraction()});
    v.field({"cache", &spec.transfer.cache,
             "a message of no more bytes reaches all of them, one of a third more none of that",
             size_range});
  });
  visitor.section(
      "one_sided", "kernels that write into the memory of other ranks (one_sided)",
      [&](Visitor& v) {
        v.field(
            {"bandwidth", &spec.one_sided.bandwidth, "part of the NIC's bandwidth", fraction()});
        v.field({"node_bandwidth", &spec.one_sided.node_bandwidth,
                 "part of the bandwidth of links inside a node or super-node", fraction()});
      });
  visitor.section("cores",
                  "cube cores that the kernel of an exchange holds while it runs; what is computed "
                  "beside it lacks them",
                  [&](Visitor& v) { describe(v, spec.cores); });
  optional_part(visitor, "ll128", "NCCL's protocol for small chunks of rings and trees", spec.ll128,
                [](Visitor& v, auto& part) { describe(v, part); });
}

/// What rows a range was taken from.
void describe_class(Visitor& visitor, ClassRange& spec) {
  visitor.field(
      {"class", &spec.of, "of the measured rows that it was taken from; empty: not told"});
  visitor.field({"wider", &spec.wider,
                 "the class has other types of hardware, too: this one has too few rows"});
  visitor.field({"devices", &spec.devices, "of this type that rows of the class ran on"});
}

void describe(Visitor& visitor, ClassRange& spec) {
  visitor.field({"low", &spec.low, "one measured step of ten is below", ratio_range, true});
  visitor.field({"high", &spec.high, "one measured step of ten is above", ratio_range, true});
  describe_class(visitor, spec);
}

void describe(Visitor& visitor, ForecastInterval& spec) {
  // A class that has no numbers of its own falls back to the wider one: experts to all steps, plain
  // questions to the others.
  describe(visitor, spec.steps);
  const auto described = [](Visitor& v, auto& part) { describe(v, part); };
  constexpr std::string_view experts = "the same for models with experts; none: as the others";
  optional_part(visitor, "experts", experts, spec.experts, described);
  optional_part(
      visitor, "memory", "measured over forecast memory of the fullest device; none: not known",
      spec.memory, [](Visitor& v, auto& memory) {
        v.field({"low", &memory.low, "one measured peak of ten is below", positive(), true});
        v.field({"high", &memory.high, "one measured peak of ten is above", positive(), true});
        describe_class(v, memory);
      });
  optional_part(visitor, "plain",
                "of questions whose framework is assumed or partly assumed; none: as the others",
                spec.plain, [&](Visitor& v, auto& plain) {
                  describe(v, plain);
                  optional_part(v, "experts", experts, spec.plain_experts, described);
                });
  if (!spec.plain) spec.plain_experts.reset();
}

/// All keys but `kinds`.
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
  optional_part(visitor, "super_node", "nodes joined by a fabric of their own", spec.super_node,
                describe_super_node);
  visitor.section("network", "what joins nodes and super-nodes",
                  [&](Visitor& v) { describe_network(v, spec.network); });
  visitor.section("collectives", "collective communication library",
                  [&](Visitor& v) { describe(v, spec.collectives); });
  optional_part(visitor, "interval",
                "measured over forecast step times, for step_time_s_low and _high", spec.interval,
                [](Visitor& v, auto& part) { describe(v, part); });
  describe_fleet(visitor, spec.fleet);
  visitor.field({"devices", &spec.devices, "size of the cluster, a whole number of nodes", count});
}

/// Read as a cluster file of its own, of which a kind keeps what differs between nodes.
void describe(Visitor& visitor, NodeKind& kind) {
  // The keys are those of a whole cluster; what a kind may not set comes back at its default.
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
  // The whole cluster alone may be a platform file: checks refuse such a kind.
  if (whole.network.platform) whole.node_fabric = PlatformFabric{};
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

std::vector<std::uint32_t> ClusterSpec::node_places() const {
  std::vector<std::uint32_t> places;
  for (const NodeRun& run : allocation)
    for (std::int64_t n = 0; n < run.nodes; ++n)
      places.push_back(static_cast<std::uint32_t>(run.first + n));
  return places;
}

/// Peaks fall with the clock when the whole node works; memory and launches keep their own.
DeviceSpec in_step(const DeviceSpec& device) {
  DeviceSpec slower = device;
  for (FlopsPerSecond* peak : {&slower.matmul_peak, &slower.matmul_peak_fp8, &slower.vector_peak})
    *peak *= device.step_clock;
  return slower;
}

void describe(Visitor& visitor, ClusterSpec& spec) {
  describe_one_kind(visitor, spec);
  visitor.optional_list(
      "allocation", "nodes of the machine that are the cluster's, ascending; none: the first ones",
      spec.allocation.size(), [&](std::size_t size) { spec.allocation.resize(size); },
      [&](Visitor& v, std::size_t i) {
        v.field({"first", &spec.allocation[i].first, "number of a node in the machine",
                 between(0, max_devices), true});
        v.field({"nodes", &spec.allocation[i].nodes, "so many from it on", count});
      });
  describe_costs(visitor, spec.costs);
  visitor.optional_list(
      "kinds", "nodes of several kinds, each as a cluster file has them (heterogeneous.md)",
      spec.kinds.size(), [&](std::size_t size) { spec.kinds.resize(size); },
      [&](Visitor& v, std::size_t i) { describe(v, spec.kinds[i]); });
}

BytesPerSecond HostSpec::update_bandwidth() const {
  BytesPerSecond whole = memory_efficiency * memory_bandwidth;
  // The cores of a host may be too few to fill its memory.
  if (cores > 0 && core_bandwidth.value() > 0)
    whole = std::min(whole, static_cast<double>(cores) * core_bandwidth);
  // All devices of a host update at once and have equal parts.
  return whole / static_cast<double>(devices_per_host);
}

BytesPerSecond HostSpec::storage_read_bandwidth() const {
  return storage_read / static_cast<double>(devices_per_host);
}

BytesPerSecond HostSpec::storage_write_bandwidth() const {
  return storage_write / static_cast<double>(devices_per_host);
}

/// The narrowest place that a copy passes while every device of the host copies too.
BytesPerSecond HostSpec::offload_bandwidth() const {
  BytesPerSecond least = device_link_bandwidth;
  if (shared_bandwidth.value() > 0)
    least = std::min(least, shared_bandwidth / static_cast<double>(shared_devices));
  if (pcie.known()) least = std::min(least, pcie.switch_bandwidth);
  return least;
}

}  // namespace stepcast
