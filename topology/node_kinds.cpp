#include <algorithm>

#include "stepcast/base/errors.hpp"
#include "stepcast/topology/fabric.hpp"

/// Clusters whose nodes are of several kinds. docs/models/heterogeneous.md.
namespace stepcast {
namespace {

// Bandwidth times efficiency: a faster link may be worse used.
double usable(const NodeFabric& fabric) {
  return node_link(fabric).bandwidth.value() * node_efficiency(fabric);
}
double usable(const std::optional<SuperNodeSpec>& super) {
  return super ? super->fabric.port.bandwidth.value() * super->fabric.efficiency : 0;
}
double usable(const NicSpec& nic) { return nic.link.bandwidth.value() * nic.efficiency; }

// Links of the fastest kind keep their bandwidth and need no entry.
void slow_down(LinkFaults& faults, LinkId link, double factor) {
  if (factor < 1) faults.bandwidth_factor[link.value] = factor;
}

/// Both directions.
void slow_ports(LinkFaults& faults, const Fabric& fabric, LinkKind up, std::uint32_t device,
                double factor) {
  slow_down(faults, fabric.device_link(up, {device}), factor);
  slow_down(faults, fabric.device_link(info(up).reverse, {device}), factor);
}

/// Both ends of a mesh link are of one node and so of one kind: each device slows what it sends.
void slow_node_links(LinkFaults& faults, const Fabric& fabric, std::uint32_t device,
                     double factor) {
  const auto size = static_cast<std::uint32_t>(fabric.mesh_size());
  if (size == 0) return slow_ports(faults, fabric, LinkKind::port_up, device, factor);
  // A mesh has no port: all links that begin at the device are slowed instead.
  for (std::uint32_t to = device / size * size; to < (device / size + 1) * size; ++to)
    if (to != device) slow_down(faults, fabric.mesh_link({device}, {to}), factor);
}

}  // namespace

std::uint32_t ClusterSpec::kind_of(std::int64_t which) const {
  // Kinds fill the cluster one after another, in the order of the file.
  std::int64_t end = 0;
  for (std::uint32_t k = 0; k < kinds.size(); ++k) {
    end += kinds[k].nodes * node_devices;
    if (which < end) return k;
  }
  expects(kinds.empty(), "the kinds hold all nodes");
  return 0;
}

/// A cluster as if all nodes were of that kind, for whatever asks about one device and its host.
ClusterSpec ClusterSpec::as_kind(std::size_t kind) const {
  ClusterSpec cluster = *this;
  cluster.device = kinds[kind].device;
  cluster.host = kinds[kind].host;
  return cluster;
}

void take_fastest_links(ClusterSpec& spec) {
  // Fabrics have one speed per kind of link: the fastest, from which slower kinds are degraded.
  if (spec.kinds.empty()) return;
  Seconds node_latency{0}, nic_latency{0}, super_latency{0};
  // A slow end delays a message whoever sends it: the longest latency is the cluster's.
  for (NodeKind& kind : spec.kinds) {
    node_latency = std::max(node_latency, node_link(kind.node_fabric).latency);
    nic_latency = std::max(nic_latency, kind.nic.link.latency);
    if (kind.super_node)
      super_latency = std::max(super_latency, kind.super_node->fabric.port.latency);
  }
  // A pointer to member picks the part that is compared.
  const auto faster = [](const auto& part) {
    return
        [part](const NodeKind& a, const NodeKind& b) { return usable(a.*part) < usable(b.*part); };
  };
  spec.node_fabric =
      std::ranges::max_element(spec.kinds, faster(&NodeKind::node_fabric))->node_fabric;
  spec.network.nic = std::ranges::max_element(spec.kinds, faster(&NodeKind::nic))->nic;
  set_node_latency(spec.node_fabric, node_latency);
  spec.network.nic.link.latency = nic_latency;
  if (!spec.super_node) return;
  spec.super_node = std::ranges::max_element(spec.kinds, faster(&NodeKind::super_node))->super_node;
  spec.super_node->fabric.port.latency = super_latency;
}

LinkFaults links_of_kinds(const Fabric& fabric) {
  const ClusterSpec& cluster = fabric.cluster();
  LinkFaults faults;
  if (cluster.kinds.empty()) return faults;
  // Faults are factors on the links of the fastest kind, which take_fastest_links() has put in.
  for (std::uint32_t d = 0; d < fabric.devices(); ++d) {
    const NodeKind& kind = cluster.kinds[cluster.kind_of(d)];
    if (cluster.node_devices > 1)
      slow_node_links(faults, fabric, d, usable(kind.node_fabric) / usable(cluster.node_fabric));
    if (cluster.super_node)
      slow_ports(faults, fabric, LinkKind::super_up, d,
                 usable(kind.super_node) / usable(cluster.super_node));
    slow_ports(faults, fabric, LinkKind::nic_up, d, usable(kind.nic) / usable(cluster.network.nic));
  }
  return faults;
}

}  // namespace stepcast
