#include <algorithm>
#include <map>
#include <utility>

#include "algorithms.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast::collectives {
namespace {

/// Calls at(member, part) for each member; the node or super-node that the first member is in is
/// part 0.
template <class At>
void each_in_part(const Fabric& fabric, Group members, Level level, const At& at) {
  using Place = std::pair<std::uint32_t, std::size_t>;  // a node or super-node, and its number
  std::vector<Place> places;                            // ascending
  std::optional<Place> current;
  for (const DeviceId m : members) {
    // Members mostly come node by node, so that the part before is looked at first.
    const std::uint32_t part =
        level == Level::node ? fabric.node_of(m).value : fabric.super_node_of(m);
    if (!current || current->first != part) {
      const auto place = std::ranges::lower_bound(places, part, {}, &Place::first);
      if (place != places.end() && place->first == part) {
        current = *place;
      } else {
        current = Place{part, places.size()};
        places.insert(place, *current);
      }
    }
    at(m, current->second);
  }
}

}  // namespace

std::optional<std::size_t> part_size(const Fabric& fabric, Group members, Level level) {
  std::vector<std::size_t> sizes;
  each_in_part(fabric, members, level, [&](DeviceId, std::size_t part) {
    if (part == sizes.size()) sizes.push_back(0);
    ++sizes[part];
  });
  // Hierarchical algorithms take equal parts: with others some ranks would wait in steps that have
  // nothing for them.
  if (std::ranges::any_of(sizes, [&](std::size_t size) { return size != sizes.front(); }))
    return std::nullopt;
  return sizes.front();
}

std::optional<Split> split(const Fabric& fabric, Group members, Level level) {
  Split result;
  each_in_part(fabric, members, level, [&](DeviceId m, std::size_t part) {
    if (part == result.inside.size())
      result.inside.emplace_back().reserve(result.inside.front().size());
    result.inside[part].push_back(m);
  });
  const std::size_t size = result.inside.front().size();
  // Lock step needs parts of one size: uneven ones have no like indices.
  for (const Members& part : result.inside)
    if (part.size() != size) return std::nullopt;
  result.across.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    result.across[i].reserve(result.inside.size());
    for (const Members& part : result.inside) result.across[i].push_back(part[i]);
  }
  return result;
}

MessageSize message_sizes(Group members, const CollectiveCall& call) {
  expects(call.skew.factor.size() == members.size(), "one factor of a skew for each member");
  std::map<DeviceId, double> of;
  // Factors by device, since sets of an algorithm order their members anew.
  for (std::size_t i = 0; i < members.size(); ++i) of[members[i]] = call.skew.factor[i];
  const Bytes equal = call.bytes / static_cast<double>(members.size());
  return [of = std::move(of), equal, senders = call.skew.senders](DeviceId from, DeviceId to) {
    // Skewed by who sends (a combine) or by who receives (a dispatch).
    return equal * of.at(senders ? from : to);
  };
}

bool has_partial_super_node(const Fabric& fabric) {
  const auto& super = fabric.cluster().super_node;
  return super && fabric.nodes() > super->nodes && fabric.nodes() % super->nodes != 0;
}

Locality reach(const Fabric& fabric, Group members) {
  const DeviceId first = members.front();
  Locality widest = Locality::device;
  // Locality to the first member bounds that of any pair, since tiers are nested.
  for (const DeviceId m : members) {
    if (fabric.super_node_of(first) != fabric.super_node_of(m)) return Locality::leaf;
    if (fabric.node_of(first) != fabric.node_of(m))
      widest = Locality::super_node;
    else if (first != m)
      widest = std::max(widest, Locality::node);
  }
  return widest;
}

bool in_one_mesh(const Fabric& fabric, Group members) {
  return std::ranges::all_of(members,
                             [&](DeviceId m) { return fabric.same_mesh(members.front(), m); });
}

Pattern node_pattern(const Fabric& fabric, const Sets& nodes) {
  if (are_boxes(fabric, nodes)) return Pattern::dimensions;
  return in_one_mesh(fabric, nodes.front()) ? Pattern::mesh : Pattern::ring;
}

}  // namespace stepcast::collectives
