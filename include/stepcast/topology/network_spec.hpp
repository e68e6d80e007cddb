#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "stepcast/base/units.hpp"

/// The links of a cluster file as values, and what its collective library does with them. All
/// bandwidths are per direction. Forms: docs/models/collectives.md.
namespace stepcast {

/// One direction of a link: bandwidth [B/s] and latency [s].
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

/// Nodes that a fabric of their own joins, apart from the network.
struct SuperNodeSpec {
  std::int64_t nodes = 1;  ///< nodes of one super-node
  SwitchFabric
      fabric;  ///< one port per device; carries what leaves the node and stays in the super-node
};

/// One NIC, or its ports into several planes, which share its bandwidth.
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

/// What joins nodes: NICs, tiers of switches and how flows find their way.
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

/// A collective library by the numbers of its algorithms. docs/models/collectives.md.
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
  /// Part of the NICs that NCCL's rings of gathers and scatters lose at each doubling beyond
  /// four nodes and 32 members.
  double ring_loss = 0;
  TransferSpec transfer;
  OneSidedSpec one_sided;
  HeldCores cores;
  std::optional<RingProtocolSpec> ll128;  ///< none: rings know the protocol Simple alone

  /// The step of a lone message inside a node or super-node.
  Seconds transfer_step() const {
    return transfer.step_latency_given ? transfer.step_latency : node_step_latency;
  }
};

}  // namespace stepcast
