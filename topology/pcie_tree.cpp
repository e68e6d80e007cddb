#include "stepcast/base/errors.hpp"
#include "stepcast/topology/fabric.hpp"

/// The PCIe tree between devices, NICs and their host: docs/models/offload.md.
namespace stepcast {

/// The last links of the fabric, so that others keep their ids with a tree and without.
void Fabric::add_pcie() {
  const HostSpec& host = cluster_.host;
  if (!host.pcie.known()) return;
  if (host.pcie.switch_devices < 1 || cluster_.node_devices % host.pcie.switch_devices != 0)
    throw InputError("host.pcie.switch_devices: is " + std::to_string(host.pcie.switch_devices) +
                     ", must divide node.devices (" + std::to_string(cluster_.node_devices) + ")");
  add_pair(LinkKind::pcie_up, devices_, {host.device_link_bandwidth, Seconds{0}}, 1);
  // Latency is that of the copy itself and counted there.
  add_pair(LinkKind::switch_up, devices_ / host.pcie.switch_devices,
           {host.pcie.switch_bandwidth, Seconds{0}}, 1);
}

std::vector<LinkId> Fabric::over_pcie(LinkId link) const {
  if (!has_pcie()) return {};
  const LinkKindInfo kind = info(kind_of(link));
  // Only two kinds of links lead on over the tree: those of NICs and of a device to its host.
  const bool nic = kind.family.tier == LinkTier::nic;
  const bool up = kind.direction == LinkDirection::up;
  const PcieTree& tree = cluster_.host.pcie;
  if (!nic && !(kind.family.tier == LinkTier::host && kind.family.owner == LinkOwner::device))
    return {};
  // A NIC on the device has its own way out; one shared by the node hangs on no switch of a device.
  if (nic && (tree.nic == PcieTree::Nic::device || nics() != devices_)) return {};
  const DeviceId device{this->link(link).from};
  std::vector<LinkId> links;
  // Behind the switch of its device, a NIC shares the
  // device's link; below the root, the uplink too.
  if (nic) links.push_back(device_link(up ? LinkKind::pcie_up : LinkKind::pcie_down, device));
  if (!nic || tree.nic == PcieTree::Nic::root)
    links.push_back(device_link(up ? LinkKind::switch_up : LinkKind::switch_down, device));
  return links;
}

}  // namespace stepcast
