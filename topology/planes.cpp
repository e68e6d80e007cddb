#include "stepcast/topology/planes.hpp"

#include <algorithm>
#include <charconv>

namespace stepcast {
namespace {

constexpr std::string_view port_stem = "plane:", nic_stem = "nic_plane:";

}  // namespace

std::optional<PlaneName> plane_name(std::string_view name) {
  const bool nics = name.starts_with(nic_stem);
  if (!nics && !name.starts_with(port_stem)) return std::nullopt;
  name.remove_prefix(nics ? nic_stem.size() : port_stem.size());
  PlaneName found{nics ? PlaneSet::nics : PlaneSet::ports, 0};
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), found.number);
  // The number must be all that follows: `plane:3x` is no plane.
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return found;
}

std::int64_t planes_of(const ClusterSpec& cluster, PlaneSet set) {
  if (set == PlaneSet::nics) return cluster.network.nic.planes;
  const auto* ports = std::get_if<SwitchFabric>(&cluster.node_fabric);
  // A device may have ports of a node and of a super-node; the larger bundle names the planes.
  return std::max(ports != nullptr ? ports->planes : 1,
                  cluster.super_node ? cluster.super_node->fabric.planes : 1);
}

std::int64_t planes_of(const ClusterSpec& cluster, LinkKind kind) {
  switch (info(kind).family.tier) {
    case LinkTier::node: {
      const auto* ports = std::get_if<SwitchFabric>(&cluster.node_fabric);
      return ports != nullptr ? ports->planes : 1;
    }
    case LinkTier::super_node:
      return cluster.super_node ? cluster.super_node->fabric.planes : 1;
    case LinkTier::nic:
      return cluster.network.nic.planes;
    case LinkTier::mesh:
    case LinkTier::wire:
    case LinkTier::trunk:
    case LinkTier::pod:
    case LinkTier::host:
      break;
    case LinkTier::channel:
      // Links between groups are one channel that may lose some of them, as a port loses planes.
      return kind == LinkKind::global ? cluster.network.dragonfly.global_links : 1;
  }
  return 1;
}

std::string plane_names(const ClusterSpec& cluster) {
  std::string text;
  for (const PlaneSet set : {PlaneSet::ports, PlaneSet::nics}) {
    const std::int64_t planes = planes_of(cluster, set);
    // One plane is the whole port and has no name.
    if (planes < 2) continue;
    const std::string stem{set == PlaneSet::nics ? nic_stem : port_stem};
    if (!text.empty()) text += ", ";
    text.append(stem).append("0 to ").append(stem).append(std::to_string(planes - 1));
  }
  return text;
}

void lose_planes(const Fabric& fabric, PlaneSet set, std::size_t lost, LinkFaults& faults) {
  for (std::size_t k = 0; k < link_kinds; ++k) {
    const auto kind = static_cast<LinkKind>(k);
    const LinkTier tier = info(kind).family.tier;
    const bool nic = tier == LinkTier::nic;
    if (tier == LinkTier::channel) continue;  // its links are no planes
    const auto planes = static_cast<double>(planes_of(fabric.cluster(), kind));
    if (planes < 2 || nic != (set == PlaneSet::nics)) continue;
    const Fabric::Block& block = fabric.block(kind);
    const double left = (planes - static_cast<double>(lost)) / planes;
    for (std::uint32_t i = 0; i < block.count; ++i) {
      // Several faults of one link multiply: each leaves its part of what the others left.
      const auto [place, fresh] = faults.bandwidth_factor.try_emplace(block.first + i, left);
      if (!fresh) place->second *= left;
    }
  }
}

}  // namespace stepcast
