#include <algorithm>

#include "algorithms.hpp"

namespace stepcast::collectives {

std::optional<Split> split(const Fabric& fabric, Group members, Level level) {
  std::map<std::uint32_t, std::size_t> index;
  Split result;
  for (const DeviceId m : members) {
    const std::uint32_t part =
        level == Level::node ? fabric.node_of(m).value : fabric.super_node_of(m);
    const auto [place, added] = index.emplace(part, result.inside.size());
    if (added) result.inside.emplace_back();
    result.inside[place->second].push_back(m);
  }
  const std::size_t size = result.inside.front().size();
  for (const Members& part : result.inside)
    if (part.size() != size) return std::nullopt;
  result.across.resize(size);
  for (const Members& part : result.inside)
    for (std::size_t i = 0; i < size; ++i) result.across[i].push_back(part[i]);
  return result;
}

Locality reach(const Fabric& fabric, Group members) {
  Locality widest = Locality::device;
  for (const DeviceId m : members) widest = std::max(widest, fabric.locality(members.front(), m));
  return widest;
}

bool in_one_mesh(const Fabric& fabric, Group members) {
  return std::ranges::all_of(members,
                             [&](DeviceId m) { return fabric.same_mesh(members.front(), m); });
}

Pattern node_pattern(const Fabric& fabric, Group members) {
  return in_one_mesh(fabric, members) ? Pattern::mesh : Pattern::ring;
}

}  // namespace stepcast::collectives
