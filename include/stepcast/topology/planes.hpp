#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "stepcast/topology/fabric.hpp"

/// Planes: switches side by side, of which each has its part of every port. Model:
/// docs/models/fabric.md.
namespace stepcast {

/// What has planes of its own: the switches of nodes and super-nodes together, and those of NICs.
enum class PlaneSet { ports, nics };

/// `plane:3` or `nic_plane:0`.
struct PlaneName {
  PlaneSet set;
  std::uint32_t number;
};
std::optional<PlaneName> plane_name(std::string_view name);

/// How many there are; 1 where the ports are not said to be bundles.
std::int64_t planes_of(const ClusterSpec& cluster, PlaneSet set);
/// Those that a link is a bundle over, or of how many links a global channel is made; 1 for a
/// single link.
std::int64_t planes_of(const ClusterSpec& cluster, LinkKind kind);
/// What planes there are, for people: `plane:0 to plane:6`; empty without any.
std::string plane_names(const ClusterSpec& cluster);

/// All links over these planes keep what the others carry, on top of what they have lost already.
void lose_planes(const Fabric& fabric, PlaneSet set, std::size_t lost, LinkFaults& faults);

}  // namespace stepcast
