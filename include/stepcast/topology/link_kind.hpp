#pragma once
#include <cstddef>
#include <string_view>

#include "stepcast/base/kinds.hpp"

/// What each kind of link is: one row per kind. Model: docs/models/fabric.md; a new kind:
/// docs/adding-a-fabric.md.
namespace stepcast {

/// Kinds of links, each a block of the fabric's numbering.
enum class LinkKind {
  mesh,
  wire,
  port_up,
  port_down,
  bridge_up,
  bridge_down,
  super_up,
  super_down,
  nic_up,
  nic_down,
  leaf_up,
  leaf_down,
  pod_up,
  pod_down,
  local,
  global,
  pcie_up,
  pcie_down,
  switch_up,
  switch_down
};

/// The part of the fabric that a link belongs to, from the inside out; `host` is the PCIe tree
/// between devices and the memory of their host.
enum class LinkTier { mesh, wire, node, super_node, nic, trunk, pod, channel, host };
inline constexpr std::size_t link_tiers = 9;

/// What the links of one kind are counted by: an ordered pair of devices, a wire of a node, a
/// device, a NIC, a leaf, a pod, an ordered pair of routers or groups of a dragonfly, or a PCIe
/// switch.
enum class LinkOwner { pair, wire, device, nic, leaf, pod, channel, pcie_switch };

/// `across` joins two devices or switches; `up` leads away from the devices, `down` towards them.
enum class LinkDirection { across, up, down };

/// What both directions of a link share.
struct LinkFamily {
  std::string_view stem = {};  ///< of the names of links: `nic` of `nic:17.up`
  LinkTier tier = LinkTier::mesh;
  LinkOwner owner = LinkOwner::pair;
};

/// Words of a kind, and whether its links have directions.
struct LinkKindInfo {
  const char* name = nullptr;  ///< in reports
  LinkFamily family = {};
  LinkDirection direction = LinkDirection::across;
  LinkKind reverse = LinkKind::mesh;  ///< the other direction; those across hold both
};

/// The row of a kind.
constexpr LinkKindInfo info(LinkKind kind) {
  constexpr LinkFamily pairs{"hccs", LinkTier::mesh, LinkOwner::pair};
  constexpr LinkFamily wires{"wire", LinkTier::wire, LinkOwner::wire};
  constexpr LinkFamily ports{"port", LinkTier::node, LinkOwner::device};
  constexpr LinkFamily bridges{"bridge", LinkTier::node, LinkOwner::device};
  constexpr LinkFamily supers{"super", LinkTier::super_node, LinkOwner::device};
  constexpr LinkFamily nics{"nic", LinkTier::nic, LinkOwner::nic};
  constexpr LinkFamily trunks{"leaf", LinkTier::trunk, LinkOwner::leaf};
  constexpr LinkFamily pods{"pod", LinkTier::pod, LinkOwner::pod};
  constexpr LinkFamily locals{"local", LinkTier::channel, LinkOwner::channel};
  constexpr LinkFamily globals{"global", LinkTier::channel, LinkOwner::channel};
  constexpr LinkFamily lanes{"pcie", LinkTier::host, LinkOwner::device};
  constexpr LinkFamily switches{"switch", LinkTier::host, LinkOwner::pcie_switch};
  using enum LinkKind;
  using enum LinkDirection;
  switch (kind) {
    case mesh:
      return {"mesh", pairs, across, mesh};
    case wire:
      return {"wire", wires, across, wire};
    case port_up:
      return {"port_up", ports, up, port_down};
    case port_down:
      return {"port_down", ports, down, port_up};
    case bridge_up:
      return {"bridge_up", bridges, up, bridge_down};
    case bridge_down:
      return {"bridge_down", bridges, down, bridge_up};
    case super_up:
      return {"super_up", supers, up, super_down};
    case super_down:
      return {"super_down", supers, down, super_up};
    case nic_up:
      return {"nic_up", nics, up, nic_down};
    case nic_down:
      return {"nic_down", nics, down, nic_up};
    case leaf_up:
      return {"leaf_up", trunks, up, leaf_down};
    case leaf_down:
      return {"leaf_down", trunks, down, leaf_up};
    case pod_up:
      return {"pod_up", pods, up, pod_down};
    case pod_down:
      return {"pod_down", pods, down, pod_up};
    case local:
      return {"local", locals, across, local};
    case global:
      return {"global", globals, across, global};
    case pcie_up:
      return {"pcie_up", lanes, up, pcie_down};
    case pcie_down:
      return {"pcie_down", lanes, down, pcie_up};
    case switch_up:
      return {"switch_up", switches, up, switch_down};
    case switch_down:
      return {"switch_down", switches, down, switch_up};
  }
  return {};
}

inline constexpr std::size_t link_kinds = count_kinds<LinkKind>();
constexpr const char* name(LinkKind kind) { return info(kind).name; }

}  // namespace stepcast
