#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/ids.hpp"
#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/topology/dragonfly.hpp"
#include "stepcast/topology/link_kind.hpp"
#include "stepcast/topology/node_wires.hpp"

namespace stepcast {

/// Says how near two devices are: which is the innermost part of the fabric that joins them.
enum class Locality { device, node, super_node, leaf, spine, core };
const char* name(Locality locality);

/// One direction of a link. The latency of a port, bridge or NIC is that of one message and
/// counts once, on the way up; links down and leaf trunks add none.
struct Link {
  LinkKind kind;
  /// Device, NIC or leaf index by kind; mesh: sending device; wire: device, or behind all devices
  /// switch of a node.
  std::uint32_t from = 0;
  std::uint32_t to = 0;         ///< mesh and wire: the receiving end
  BytesPerSecond bandwidth{0};  ///< usable: datasheet times efficiency
  Seconds latency{0};
};

/// An edge has this link when it only ties a device to the NIC of its node, at unlimited bandwidth.
inline constexpr LinkId no_link{UINT32_MAX};

/// These links are not as the cluster file has them; they are named by id. Model:
/// docs/models/stalls.md.
struct LinkFaults {
  std::map<std::uint32_t, double> bandwidth_factor;  ///< in (0, 1], of a degraded link
  std::map<std::uint32_t, std::vector<LinkId>>
      detour;  ///< of a failed one: the links that stand in
};

/// The fabric computes the links of a cluster: no link is stored, so that 10^5 devices cost nothing
/// until they are asked for. Leaf uplinks are one trunk per leaf and direction (ideal spreading
/// over the spines). Model: docs/models/fabric.md.
class Fabric {
 public:
  /// Throws InputError unless devices are whole nodes and nodes whole meshes, with fewer than 2^32
  /// links. Faults change what single links carry and what stands in for them; blocks stay as
  /// the cluster has them, because whoever plans does not know of the faults.
  explicit Fabric(const ClusterSpec& cluster, LinkFaults faults = {});

  std::int64_t devices() const { return devices_; }
  std::int64_t nodes() const;
  std::int64_t leaves() const;  ///< 0 for a single switch
  std::int64_t pods() const;    ///< 0 where spines join all leaves
  /// Groups and routers of a dragonfly, whose leaves are routers; 0 without one.
  const Dragonfly& dragonfly() const { return dragonfly_; }
  std::int64_t nics() const;
  std::int64_t super_nodes()
      const;  ///< the last one may be smaller; as many as nodes when there are none
  NodeId node_of(DeviceId device) const;
  /// The number of a node in the machine that the cluster is a part of; super-nodes, leaves, pods
  /// and routers are those of the machine.
  std::uint32_t place_of(NodeId node) const;
  std::uint32_t super_node_of(DeviceId device) const;  ///< the node's own index when there are none
  /// A switched node has one port per device, so what goes on to the super-node crosses it too.
  bool super_behind_ports() const;
  std::uint32_t nic_of(DeviceId device) const;
  std::uint32_t leaf_of_nic(std::uint32_t nic) const;  ///< 0 for a single switch
  std::uint32_t leaf_of(DeviceId device) const { return leaf_of_nic(nic_of(device)); }
  /// Of a leaf; 0 without pods.
  std::uint32_t pod_of_leaf(std::uint32_t leaf) const;
  std::uint32_t pod_of(DeviceId device) const { return pod_of_leaf(leaf_of(device)); }
  Locality locality(DeviceId a, DeviceId b) const;

  /// The links of one kind have ids without gaps in the order of their devices, NICs or leaves
  /// (mesh: of the sending device, then the receiving one), and are all alike. Blocks follow each
  /// other as LinkKind does; a kind that the fabric does not have has no links. Wires differ: their
  /// block has no bandwidth and no latency.
  struct Block {
    std::uint32_t first = 0, count = 0;
    BytesPerSecond bandwidth{0};
    Seconds latency{0};
  };
  const Block& block(LinkKind kind) const { return blocks_[static_cast<std::size_t>(kind)]; }
  std::int64_t mesh_size() const { return mesh_size_; }  ///< devices of one mesh, 0 without meshes
  /// Of each node, where its devices pass on what is not for them; else it has none. With a
  /// platform file, of the whole cluster, which then counts as one node where it is about wires.
  const NodeWires& wires() const { return *wires_; }
  bool of_platform() const { return wires_->platform() != nullptr; }
  /// The node of a device, where it is about wires.
  NodeId wired_node_of(DeviceId device) const;
  /// The wire of a node, and where a wire is.
  LinkId wire_link(NodeId node, std::uint32_t wire) const;
  struct WirePlace {
    NodeId node;
    std::uint32_t wire;
  };
  WirePlace wire_place(LinkId id) const;
  /// Usable bandwidth of a link of which nothing is lost.
  BytesPerSecond planned_bandwidth(LinkId id) const;
  /// The way up of what joins the devices of a node that share no mesh; nothing where all share
  /// one.
  std::optional<LinkKind> node_ports() const { return node_ports_; }

  std::uint32_t link_count() const;  ///< ids are 0..link_count()-1
  /// The link comes with the bandwidth that is left of it; a failed link comes with that of an
  /// intact one.
  Link link(LinkId id) const;
  /// No link is degraded or has failed.
  bool intact() const { return faults_.bandwidth_factor.empty() && faults_.detour.empty(); }
  /// Links that stand in for a failed one, in order; nullptr while it works.
  const std::vector<LinkId>* detour(LinkId id) const;
  /// Says whether bytes of other devices cross the link, because it stands in for a failed
  /// one.
  bool on_detour(LinkId id) const { return on_detour_.contains(id.value); }
  /// Links are named `hccs:17-18`, `wire:17-s3` (s3: switch 3), `port:17.up`, `bridge:3.down`,
  /// `super:5.up`, `nic:17.up`, `leaf:2.down`, `pod:0.up`, `local:3-7` (routers), `global:0-1`
  /// (groups); those of a platform file as the file has them.
  std::string link_name(LinkId id) const;
  std::optional<LinkId> find_link(std::string_view name) const;  ///< inverse of link_name
  bool same_mesh(DeviceId a, DeviceId b)
      const;  ///< joined by a mesh link (or equal) on a mesh or groups fabric
  LinkId mesh_link(DeviceId from, DeviceId to) const;  ///< both in one mesh
  /// Copies between devices and their hosts cross links of the fabric: there is a PCIe tree.
  bool has_pcie() const { return block(LinkKind::pcie_up).count > 0; }
  /// What else bytes of a link cross because of where devices, NICs and hosts are in the PCIe tree:
  /// those of a NIC the link of its device, and the uplink of its switch where the NIC is not
  /// behind it; those of a device's own link the uplink. Nothing of what is listed asks for more.
  std::vector<LinkId> over_pcie(LinkId link) const;
  /// Of a kind that a device owns, or that of its NIC or its PCIe switch.
  LinkId device_link(LinkKind kind, DeviceId device) const;
  LinkId leaf_link(LinkKind kind, std::uint32_t leaf) const;
  LinkId pod_link(LinkKind kind, std::uint32_t pod) const;
  /// Of a dragonfly, by its number there.
  LinkId channel_link(LinkKind kind, std::uint32_t channel) const;
  std::uint32_t group_of(DeviceId device) const;  ///< of a dragonfly; 0 without one
  /// What bytes of a cross between the routers of two devices: channels of a dragonfly.
  std::vector<LinkId> channels_between(DeviceId a, DeviceId b) const;

  /// Bytes from a to b cross these links, in order; there are none when a == b. A link that can
  /// never saturate before its neighbours (a non-blocking leaf trunk) is part of the route all the
  /// same; `can_saturate` tells.
  std::vector<LinkId> route(DeviceId a, DeviceId b) const;
  /// The same route when no link has failed: a collective's plan is made of it, and groups
  /// of one shape share that plan.
  std::vector<LinkId> intact_route(DeviceId a, DeviceId b) const;
  /// This is false for trunks whose capacity is at least that of all NICs below them, and for super
  /// links no slower than the ports before them. It is true for all of a kind when one of them is
  /// degraded, so that groups of one shape still see alike links, and of trunks on which flows
  /// collide or other jobs are.
  bool can_saturate(LinkId id) const;
  bool trunks_can_saturate() const;  ///< some leaf trunk can
  bool pods_can_saturate() const;    ///< some pod's trunk can
  Seconds route_latency(DeviceId a, DeviceId b) const;

  const ClusterSpec& cluster() const { return cluster_; }

 private:
  LinkKind kind_of(LinkId id) const;
  /// Sets of leaves that the NICs of a node are spread over, each with its own leaves; 0: a single
  /// switch.
  std::int64_t rails() const;
  std::int64_t leaves_per_rail() const;  ///< of some rails
  std::int64_t nics_below(std::uint32_t leaf) const;
  bool pod_can_saturate(std::uint32_t pod) const;
  bool degraded(LinkKind kind) const;  ///< some link of the kind, or of its other direction
  void add_block(LinkKind kind, std::int64_t count, LinkSpec link, double efficiency);
  /// Both directions; the latency counts on the way up.
  void add_pair(LinkKind up, std::int64_t count, LinkSpec link, double efficiency);
  void add_node_blocks();
  void add_wires();
  void add_channels();
  void add_pcie();
  std::uint32_t wire_end(NodeId node, std::uint32_t vertex) const;
  std::vector<LinkId> wire_route(DeviceId a, DeviceId b) const;
  std::optional<LinkId> find_wire(std::uint32_t from, std::uint32_t to) const;
  Link wire(Link link, std::uint32_t index, double left) const;
  void add_meshes(std::int64_t size, LinkSpec link, double efficiency);

  ClusterSpec cluster_;
  std::int64_t devices_;
  std::int64_t mesh_size_ = 0;
  std::shared_ptr<const NodeWires> wires_;
  Dragonfly dragonfly_;
  std::vector<std::uint32_t> places_;      ///< [node], empty: its own number
  std::vector<std::uint32_t> nics_below_;  ///< [leaf], where there are places
  std::optional<LinkKind> node_ports_;
  std::uint32_t link_count_ = 0;
  std::array<Block, link_kinds> blocks_{};
  LinkFaults faults_;
  std::set<std::uint32_t> on_detour_;
  std::array<bool, link_kinds> degraded_{};
};

/// Uplinks of one leaf: its ports over the oversubscription, which need not be whole.
double uplinks(const NetworkSpec& network);
/// Whether the link is a bundle of ports above the leaves, which fail one by one.
bool is_trunk(const Fabric& fabric, LinkId link);

/// A name means these links: `nic:17` both directions, `nic:17.up` one of them, `hccs:17-18` both
/// directions of the pair. There are none when the fabric has no such link.
std::vector<LinkId> find_links(const Fabric& fabric, std::string_view name);

/// The links of a cluster of several kinds that are slower than the fastest of their
/// block.
LinkFaults links_of_kinds(const Fabric& fabric);

/// A text for people with the names that the fabric has: "nic:0 to nic:15, leaf:0 to
/// leaf:7".
std::string link_names(const Fabric& fabric);

/// Bytes of `link` cross these links when it has failed, and with it all of `failed`; it is empty
/// when there is no way around. A mesh pair goes over the lowest device of its mesh that works. A
/// device's NIC goes over the fabric of its node and the NIC of the next device that works,
/// counting on from its own.
std::vector<LinkId> detour_around(const Fabric& intact, LinkId link,
                                  const std::set<std::uint32_t>& failed);

}  // namespace stepcast
