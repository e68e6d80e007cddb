#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/topology/costs.hpp"
#include "stepcast/topology/forecast_interval.hpp"
#include "stepcast/topology/kernel_efficiency.hpp"

/// The cluster file as values. All bandwidths are per direction. The forms of the
/// link parameters stand in docs/models/collectives.md.
namespace stepcast {

/// There is one time per operator class.
struct OperatorClassTimes {
  Seconds matmul{0};
  Seconds vector{0};
  Seconds communication{0};
};

/// What a fused attention kernel keeps of its softmax per head and token: one FP32 number
/// (`compact`), or maximum and sum eight times each (`wide`, Ascend's FlashAttentionScore).
enum class SoftmaxState { compact, wide };

/// The clock of a device falls when it has no work, and takes a while to come back. Model:
/// docs/models/clocks.md.
struct IdleClock {
  double speed = 1;       ///< idle clock over that at work
  Seconds hold{0};        ///< time without work before the clock falls
  Seconds ramp{0};        ///< time at the idle clock after work comes back
  double core_share = 1;  ///< part of device time that follows the clock; memory keeps its own

  /// The factor on the time of work at the idle clock.
  double slowness() const { return core_share / speed + 1 - core_share; }
};

/// The clock of a device whose products are held by a power limit (MatmulEfficiency::sustained) is
/// higher after lighter work: what that leaves of the limit is saved up. Draws are parts of what
/// the limit leaves above a device without work. Model: docs/models/clocks.md.
struct PowerCap {
  Seconds window{0};     ///< at the limit, that can be saved up at most
  double attention = 1;  ///< drawn by fused attention
  double other = 1;      ///< drawn by kernels without products
  double waiting = 0;    ///< drawn without work
};

/// What a device takes in a step, by what it does [W]. Model: docs/models/clocks.md.
struct PowerSpec {
  double idle = 0;
  double computing = 0;
  double communicating = 0;  ///< waiting for a communication that moves data
  double overhead = 1;       ///< of node and building, on the power of its devices
};

struct DeviceSpec {
  std::string name;
  /// What rules of frameworks ask for, and the framework of scenarios that name none: words, on
  /// which no forecast depends by itself.
  std::string vendor = "unknown", generation = "unknown", framework = "none";
  FlopsPerSecond matmul_peak{0};      ///< dense BF16/FP16 on the cube cores
  FlopsPerSecond matmul_peak_fp8{0};  ///< 0: the device has no FP8
  bool mxfp8 = true;                  ///< FP8 products take a scale for each 32 numbers
  FlopsPerSecond vector_peak{0};
  std::int64_t cube_cores = 1;
  std::int64_t vector_cores = 1;
  Bytes memory_capacity{0};
  BytesPerSecond memory_bandwidth{0};
  Bytes vector_memory{0};   ///< on chip, of one vector core; 0: no limit is known
  Bytes memory_reserve{0};  ///< taken by runtime and driver before the model
  SoftmaxState softmax_state = SoftmaxState::compact;
  EfficiencySpec efficiency;
  /// Clock in a step, with all devices of the node busy, over that of a kernel measured alone.
  double step_clock = 1;
  OperatorClassTimes launch;  ///< fixed cost of each operator or transfer on its stream
  Seconds tile_task{0};       ///< start of one task of a kernel that runs already
  /// The time of an operator beside a communication over its time alone: they share the
  /// memory, and some collectives run on vector cores.
  double interference_matmul = 1, interference_vector = 1;
  std::optional<IdleClock> idle_clock;  ///< none: the clock never falls
  std::optional<PowerCap> power_cap;    ///< none: the power limit holds every product alike
  std::optional<PowerSpec> power;       ///< none: energy is not forecast
};

/// PCIe between the devices of a node and the root complex of their host. Model:
/// docs/models/offload.md.
struct PcieTree {
  /// Where the NIC of a device is: on the device itself, behind its PCIe switch, or below the root.
  enum class Nic { device, pcie_switch, root };
  std::int64_t switch_devices = 1;     ///< devices behind one switch
  BytesPerSecond switch_bandwidth{0};  ///< of its uplink, per direction; 0: there is no tree
  Nic nic = Nic::device;

  bool known() const { return switch_bandwidth.value() > 0; }
};

/// Where threads of updates and the memory of what is offloaded are: both in the NUMA domain of
/// their device, all memory in the first domain, or memory in all domains in turn.
enum class NumaPlacement { local, first_touch, interleaved };

struct HostSpec {
  std::int64_t devices_per_host = 8;
  OperatorClassTimes dispatch;  ///< host time per operator, eager
  /// Host time per operator of launches that block until the device has finished (queue_depth 1).
  Seconds blocking{0};
  bool blocking_given = false;  ///< else `dispatch`
  /// Host time of a launch behind the first within one call of a library.
  Seconds library_launch{0};
  bool library_launch_given = false;  ///< else `dispatch`
  Seconds statement{0};                  ///< host time of one that launches nothing
  double task_queue_main = 1;    ///< fraction of `dispatch` left on the main thread with task_queue
  double task_queue_worker = 0;  ///< fraction of `dispatch` on the second thread
  double graph_sink_factor = 0;  ///< fraction of `dispatch` per operator when a graph is sunk
  Seconds graph_launch{0};       ///< host time to launch one sunk graph (one per step)
  /// The host time to make a kernel for a new shape: as bytecode (DVM), or compiled.
  Seconds compile_bytecode{0}, compile_kernel{0};
  std::int64_t queue_depth = 1024;  ///< operators that the host may run ahead of the compute stream
  Seconds synchronise{0};           ///< host time of one stream synchronisation
  Seconds step_overhead{0};  ///< host time between two steps: next batch, loss, logging, clean-up
  /// Factors on host time where threads wander over the cores, and where they and their
  /// memory are on different NUMA nodes; 0 means that they are not known.
  double affinity_unbound = 0, affinity_cross_numa = 0;
  BytesPerSecond device_link_bandwidth{0};
  Seconds device_link_latency{0};
  /// The links of `shared_devices` devices have this bandwidth together, per direction; 0 means no
  /// limit.
  BytesPerSecond shared_bandwidth{0};
  std::int64_t shared_devices = 1;
  PcieTree pcie;
  BytesPerSecond pageable_bandwidth{0};  ///< of a copy from or to pageable memory; 0: not known
  std::int64_t numa_domains = 1;         ///< of the memory of one host
  BytesPerSecond numa_link{0};           ///< between each two of them, per direction; 0: not known
  std::int64_t cores = 0;                ///< of one host; 0: not known
  BytesPerSecond core_bandwidth{0};      ///< of host memory, that one core draws; 0: no limit
  Bytes memory_capacity{0};              ///< of one host; 0: not known
  BytesPerSecond memory_bandwidth{0};
  double memory_efficiency = 1;                      ///< part of it that updates of states reach
  Bytes storage_capacity{0};                         ///< of the drives of one host; 0: not known
  BytesPerSecond storage_read{0}, storage_write{0};  ///< of all of them together; 0: there are none

  /// The host memory that passes by the update of one device's states in a second, while
  /// those of all devices of the host are updated (docs/models/offload.md).
  BytesPerSecond update_bandwidth(NumaPlacement placement = NumaPlacement::local) const;
  /// The bandwidth of each device while all that share offload at once: the least of its
  /// link and an even share (docs/models/offload.md). With a PCIe tree it is that of a device whose
  /// neighbours are idle; what they take, the fabric knows.
  BytesPerSecond offload_bandwidth(NumaPlacement placement = NumaPlacement::local,
                                   bool pinned = true) const;
  double crossing_copies(NumaPlacement placement) const;
  /// Even shares of a device in what the drives of its host read and write.
  BytesPerSecond storage_read_bandwidth() const;
  BytesPerSecond storage_write_bandwidth() const;
};

struct LinkSpec {
  BytesPerSecond bandwidth{0};
  Seconds latency{0};
};

/// Every pair of devices of a node has a link of its own in each direction.
struct MeshFabric {
  LinkSpec link;
  double efficiency = 1;
};
/// Every device has one port, up and down, into a non-blocking switch.
struct SwitchFabric {
  LinkSpec port;
  double efficiency = 1;
  std::int64_t planes = 1;  ///< switches side by side, of which each has its part of every port
};
/// The node has meshes of `group_size` devices; between them traffic crosses each device's bridge
/// port (PCIe), up and down.
struct GroupFabric {
  std::int64_t group_size = 4;
  LinkSpec link;
  LinkSpec bridge;
  double efficiency = 1;
};
/// One side of a torus or mesh, with the links along it.
struct GridDimension {
  std::int64_t size = 2;
  LinkSpec link;
};
/// The devices are a grid, and those along a side a ring: each has a link to its two neighbours.
struct TorusFabric {
  std::vector<GridDimension> dimensions;
  double efficiency = 1;
};
/// The devices are a grid, and each pair along a side has a link (Huawei's nD full mesh).
struct FullMeshFabric {
  std::vector<GridDimension> dimensions;
  double efficiency = 1;
};
/// A link of a graph, both directions.
struct GraphLink {
  std::vector<std::int64_t> between;  ///< two vertices: devices of the node, then switches
  LinkSpec link;
};
/// Any links between the devices of a node and its switches; bytes take the fewest links.
struct GraphFabric {
  std::int64_t switches = 0;
  std::vector<GraphLink> links;
  double efficiency = 1;
};
struct PlatformTable;
/// The links of `network.platform` join all devices of the cluster, those of a node as well.
struct PlatformFabric {
  double efficiency = 1;
  std::shared_ptr<const PlatformTable> table;  ///< none until the file has been read
};
using NodeFabric = std::variant<MeshFabric, SwitchFabric, GroupFabric, TorusFabric, FullMeshFabric,
                                GraphFabric, PlatformFabric>;

/// The link between a device and the next one of its node: its port, or that of the pair.
LinkSpec node_link(const NodeFabric& fabric);
/// Whether all links of the fabric are alike, as nodes of several kinds need it.
bool has_one_link_kind(const NodeFabric& fabric);
/// Of the links of such a fabric.
void set_node_latency(NodeFabric& fabric, Seconds latency);
/// Part of the bandwidth of its links that transfers reach.
double node_efficiency(const NodeFabric& fabric);

struct SuperNodeSpec {
  std::int64_t nodes = 1;  ///< nodes of one super-node
  SwitchFabric
      fabric;  ///< one port per device; carries what leaves the node and stays in the super-node
};

struct NicSpec {
  enum class Per { device, node };
  Per per = Per::device;
  LinkSpec link;
  double efficiency = 1;
  std::int64_t planes = 1;  ///< ports, each into a network of its own
};

/// A file of SimGrid's that has the links between all devices. Model: docs/models/platform.md.
struct PlatformSpec {
  std::string file;         ///< as the key has it
  std::string hosts = "*";  ///< names of the hosts that are devices, with * and ?
  std::int64_t devices_per_node = 1;
  std::string path;                         ///< where it was found, an absolute path
  std::shared_ptr<const std::string> text;  ///< what it holds
};

/// Groups of routers, of which every pair is joined: docs/models/fabric.md.
struct DragonflySpec {
  std::int64_t group_routers = 32;  ///< of each group
  std::int64_t global_links = 1;    ///< between each two groups, per direction
  LinkSpec local;                   ///< of each two routers of a group
  LinkSpec global;                  ///< one of those
};

struct NetworkSpec {
  enum class Kind { single_switch, leaf_spine, rail_optimized, dragonfly, dragonfly_plus };
  /// How flows find an uplink of their leaf: evenly, by a hash, or the freer one of two that a hash
  /// names. Model: docs/models/collisions.md.
  enum class Routing { ideal, ecmp, adaptive };
  NicSpec nic;
  Kind kind = Kind::single_switch;
  std::int64_t leaf_ports = 64;  ///< NICs below one leaf
  double oversubscription = 1;   ///< leaf downlink capacity over uplink capacity
  /// A third tier: leaves of one pod, joined by its own spines, and the capacity of a pod's leaves
  /// to those spines over that of the pod to the core; 0 leaves: spines join all.
  std::int64_t pod_leaves = 0;
  double pod_oversubscription = 1;
  DragonflySpec dragonfly;               ///< of the two kinds of that name
  std::optional<PlatformSpec> platform;  ///< instead of NICs and switches
  Routing routing = Routing::ideal;
  std::int64_t queue_pairs = 1;  ///< that a sender cuts what it sends into, each hashed by itself
  double background = 0;         ///< part of the uplinks that other jobs take

  /// Whether uplinks are as loaded as this job alone loads them, evenly.
  bool undisturbed() const { return routing == Routing::ideal && !(background > 0); }
};

/// A protocol in which NCCL may pass on the chunks of a ring: what it costs, and the parts
/// of the bandwidth of the links that it reaches between nodes and inside.
struct RingProtocolSpec {
  Seconds start{0};
  Seconds step_latency{0};
  Seconds node_step_latency{0};
  double bandwidth = 1;
  double node_bandwidth = 1;
};

/// What a lone message between two devices costs. Inside a node or super-node one of more
/// than `cache` bytes reaches a part of the link; a smaller one stays in the sender's cache and
/// reaches all of it.
struct TransferSpec {
  Seconds start{0};                 ///< once; NCCL's all-to-all pays it too
  Seconds step_latency{0};          ///< of its step inside a node or super-node, where given
  bool step_latency_given = false;  ///< else that of collectives
  Bytes cache{0};
  double bandwidth = 1;
};

/// The parts of the bandwidth that kernels which write into other ranks' memory reach.
struct OneSidedSpec {
  double bandwidth = 1;
  double node_bandwidth = 1;
};

/// So many cube cores of a device does the kernel of an exchange hold while it runs; 0: none, as
/// where engines of their own move the bytes. Model: docs/models/collectives.md, "Beside what is
/// computed".
struct HeldCores {
  double node = 0;  ///< a collective of the library inside a node or super-node
  /// One between them, for each of its members in one of them, but at most `node`.
  double network = 0;
  double gather_pieces = 0, reduce_pieces = 0;  ///< pieces beside a product of tensor parallelism
  double deepep = 0, hybridep = 0;              ///< kernels of these dispatchers
};

struct CollectiveLibrarySpec {
  enum class Library { hccl, nccl };
  Library library = Library::hccl;
  /// HCCL's own all-to-all between nodes of a mesh each: inside them first and then across, or both
  /// at the same time.
  enum class Exchange { staged, pipeline };
  Exchange exchange = Exchange::staged;
  /// HCCL runs a larger collective in ceil(bytes / buffer) loops; each communicator holds two.
  Bytes buffer{200.0 * 1048576};
  Seconds ring_start{0};                 ///< NCCL's rings and trees once, protocol Simple
  Seconds step_latency{0};               ///< one step between nodes
  Seconds selection_latency{0};          ///< what the library's selection takes for it, where given
  bool selection_latency_given = false;  ///< else step_latency
  Seconds node_step_latency{0};          ///< one step inside a node or super-node
  double node_bandwidth = 1;             ///< part of the node's links that NCCL's collectives reach
  double pair_bandwidth = 1;             ///< part of that which its all-reduce of two ranks reaches
  TransferSpec transfer;
  OneSidedSpec one_sided;
  HeldCores cores;
  std::optional<RingProtocolSpec> ll128;  ///< none: rings know the protocol Simple alone

  /// The step of a lone message inside a node or super-node.
  Seconds transfer_step() const {
    return transfer.step_latency_given ? transfer.step_latency : node_step_latency;
  }
};

/// One kind of node of a cluster that has several; what is not here is the whole cluster's.
struct NodeKind {
  std::int64_t nodes = 1;  ///< that many, behind those of the kinds before
  std::string name;
  DeviceSpec device;
  HostSpec host;
  std::int64_t node_devices = 8;
  NodeFabric node_fabric;
  NicSpec nic;
  std::optional<SuperNodeSpec> super_node;
};

/// Nodes of a machine that follow each other.
struct NodeRun {
  std::int64_t first = 0;  ///< number in the machine
  std::int64_t nodes = 1;
};

struct ClusterSpec {
  std::string name;
  DeviceSpec device;
  HostSpec host;
  std::int64_t node_devices = 8;
  NodeFabric node_fabric;
  std::optional<SuperNodeSpec> super_node;
  NetworkSpec network;
  CollectiveLibrarySpec collectives;
  std::optional<ForecastInterval> interval;
  std::optional<CostSpec> costs;    ///< none: no bill, and steps have no price
  std::int64_t devices = 8;         ///< size of this cluster
  std::vector<NodeRun> allocation;  ///< its nodes among those of the machine; empty: the first ones
  std::vector<NodeKind> kinds;      ///< empty: all nodes are as above

  /// The index into `kinds` of the kind of a device's node; it is 0 without kinds.
  std::uint32_t kind_of(std::int64_t which) const;
  /// The cluster as a program of that kind sees it: with its device and its host.
  ClusterSpec as_kind(std::size_t kind) const;
  std::int64_t nodes() const { return (devices + node_devices - 1) / node_devices; }
  /// The number in the machine of each node; empty where they are the first ones.
  std::vector<std::uint32_t> node_places() const;
};

inline constexpr double max_devices = 1048576;  ///< the largest cluster that is accepted

/// With kinds this gives the cluster the fastest links of all, so that the fabric is sized for
/// them.
void take_fastest_links(ClusterSpec& spec);

/// The device as the kernels of a step find it: its cores at `step_clock`, its memory as it is.
DeviceSpec in_step(const DeviceSpec& device);

/// The keys of a cluster file.
void describe(Visitor& visitor, ClusterSpec& spec);

}  // namespace stepcast
