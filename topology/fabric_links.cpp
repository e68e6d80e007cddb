#include <algorithm>
#include <charconv>

#include "stepcast/base/errors.hpp"
#include "stepcast/topology/fabric.hpp"
#include "stepcast/topology/platform_table.hpp"

/// Links by id and by name.
namespace stepcast {
namespace {

/// Reads a number at the front of `text` and takes it off.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// As names of single links end.
std::string_view ending(LinkDirection direction) {
  switch (direction) {
    case LinkDirection::up:
      return ".up";
    case LinkDirection::down:
      return ".down";
    case LinkDirection::across:
      break;
  }
  return {};
}

/// `rest` is what follows the first end: `-7`.
std::optional<LinkId> find_channel(const Fabric& fabric, LinkKind kind, std::uint32_t from,
                                   std::string_view rest) {
  const Dragonfly& dragonfly = fabric.dragonfly();
  if (fabric.block(kind).count == 0 || !rest.starts_with('-')) return std::nullopt;
  // Text after the number, a pair with itself and ends beyond the last one name no channel.
  rest.remove_prefix(1);
  const auto to = take_number(rest);
  const bool local = kind == LinkKind::local;
  const std::uint32_t ends = dragonfly.groups() * (local ? dragonfly.routers() : 1);
  if (!to || !rest.empty() || from == *to || std::max(from, *to) >= ends) return std::nullopt;
  if (!local) return fabric.channel_link(kind, dragonfly.global(from, *to));
  // Only routers of one group are joined.
  if (dragonfly.group_of(from) != dragonfly.group_of(*to)) return std::nullopt;
  return fabric.channel_link(kind, dragonfly.local(from, *to));
}

}  // namespace

std::uint32_t Fabric::link_count() const { return link_count_; }

LinkKind Fabric::kind_of(LinkId id) const {
  // A handful of kinds: looking through them is cheaper than a table of all links.
  expects(id.value < link_count_, "the link exists");
  for (std::size_t kind = 0; kind < link_kinds; ++kind) {
    const Block& b = blocks_[kind];
    if (id.value >= b.first && id.value - b.first < b.count) return static_cast<LinkKind>(kind);
  }
  contract_broken("link ids are contiguous", __FILE__, __LINE__);
}

Link Fabric::link(LinkId id) const {
  const LinkKind kind = kind_of(id);
  const Block& b = block(kind);
  const std::uint32_t index = id.value - b.first;
  // Faults keep what is left as a factor; blocks stay nominal, since plans are made from them.
  const auto fault = faults_.bandwidth_factor.find(id.value);
  const double left = fault == faults_.bandwidth_factor.end() ? 1 : fault->second;
  Link link{.kind = kind,
            .from = index,
            .to = index,
            .bandwidth = b.bandwidth * left,
            .latency = b.latency};
  // Wires, channels and mesh links have two ends; others belong to one owner.
  if (kind == LinkKind::wire) return wire(link, index, left);
  if (info(kind).family.owner == LinkOwner::channel) {
    const Dragonfly::Ends ends =
        kind == LinkKind::local ? dragonfly_.local_ends(index) : dragonfly_.global_ends(index);
    link.from = ends.from;
    link.to = ends.to;
  }
  if (info(kind).family.owner != LinkOwner::pair) return link;
  // The inverse of mesh_link(): a row per sender, which leaves the sender itself out.
  const auto size = static_cast<std::uint32_t>(mesh_size_);
  link.from = index / (size - 1);
  const std::uint32_t place = index % (size - 1), own = link.from % size;
  link.to = link.from - own + (place >= own ? place + 1 : place);
  return link;
}

std::string Fabric::link_name(LinkId id) const {
  // Links of a platform file keep the names that the file gives them.
  if (of_platform()) return wires_->platform()->links[id.value].name;
  const Link l = link(id);
  const LinkKindInfo kind = info(l.kind);
  if (l.kind == LinkKind::wire) {
    const auto end = [&](std::uint32_t vertex) {
      const auto devices = static_cast<std::uint32_t>(devices_);
      return vertex < devices ? std::to_string(vertex) : "s" + std::to_string(vertex - devices);
    };
    return std::string(kind.family.stem) + ":" + end(l.from) + "-" + end(l.to);
  }
  const std::string stem = std::string(kind.family.stem) + ":" + std::to_string(l.from);
  if (kind.family.owner == LinkOwner::pair || kind.family.owner == LinkOwner::channel)
    return stem + "-" + std::to_string(l.to);
  return stem + std::string(ending(kind.direction));
}

std::optional<LinkId> Fabric::find_link(std::string_view name) const {
  // Names of a platform file are free text and follow no pattern.
  if (of_platform()) {
    const auto& links = wires_->platform()->links;
    const auto found = std::ranges::find(links, name, &PlatformTable::Link::name);
    if (found == links.end()) return std::nullopt;
    return LinkId{static_cast<std::uint32_t>(found - links.begin())};
  }
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view prefix = name.substr(0, colon);
  std::string_view rest = name.substr(colon + 1);
  // Wires may end at switches, `s0`, which are numbered behind all devices.
  const bool wired = prefix == info(LinkKind::wire).family.stem;
  const auto take_end = [&]() -> std::optional<std::uint32_t> {
    const bool is_switch = wired && rest.starts_with('s');
    if (is_switch) rest.remove_prefix(1);
    const auto number = take_number(rest);
    if (!number || (wired && !is_switch && *number >= devices_)) return std::nullopt;
    return is_switch ? *number + static_cast<std::uint32_t>(devices_) : *number;
  };
  const auto from = take_end();
  if (!from) return std::nullopt;
  if (wired) {
    if (!rest.starts_with('-')) return std::nullopt;
    rest.remove_prefix(1);
    const auto to = take_end();
    return to && rest.empty() ? find_wire(*from, *to) : std::nullopt;
  }
  if (prefix == info(LinkKind::mesh).family.stem) {
    if (!rest.starts_with('-')) return std::nullopt;
    rest.remove_prefix(1);
    const auto to = take_number(rest);
    if (!to || !rest.empty() || *from == *to || *to >= devices_) return {};
    if (!same_mesh({*from}, {*to})) return std::nullopt;
    return mesh_link({*from}, {*to});
  }
  // Stems of channels and of paired links differ, so that the order of the tests does not matter.
  for (const LinkKind kind : {LinkKind::local, LinkKind::global})
    if (prefix == info(kind).family.stem) return find_channel(*this, kind, *from, rest);
  for (std::size_t k = 0; k < link_kinds; ++k) {
    const LinkKindInfo kind = info(static_cast<LinkKind>(k));
    if (kind.family.stem != prefix || ending(kind.direction) != rest) continue;
    if (*from < blocks_[k].count) return LinkId{blocks_[k].first + *from};
  }
  return std::nullopt;
}

}  // namespace stepcast
