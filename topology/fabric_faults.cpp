#include <algorithm>
#include <array>

#include "stepcast/topology/fabric.hpp"

/// Links that do not work, and what stands in for them.
namespace stepcast {
namespace {

/// `first` and then `then`, when all of them work; empty otherwise.
std::vector<LinkId> joined_if_alive(std::vector<LinkId> first, const std::vector<LinkId>& then,
                                    const std::set<std::uint32_t>& failed) {
  first.insert(first.end(), then.begin(), then.end());
  const bool alive =
      std::ranges::none_of(first, [&](LinkId link) { return failed.contains(link.value); });
  return alive ? first : std::vector<LinkId>{};
}

/// A mesh link over a third device of the mesh, the first whose two links work.
std::vector<LinkId> around_pair(const Fabric& intact, const Link& link,
                                const std::set<std::uint32_t>& failed) {
  const auto size = static_cast<std::uint32_t>(intact.mesh_size());
  // The lowest device wins, so that the detour is the same in every run and on every machine.
  const DeviceId from{link.from}, to{link.to};
  for (std::uint32_t over = from.value / size * size; over < (from.value / size + 1) * size;
       ++over) {
    if (over == from.value || over == to.value) continue;
    auto way =
        joined_if_alive({intact.mesh_link(from, {over})}, {intact.mesh_link({over}, to)}, failed);
    if (!way.empty()) return way;
  }
  return {};
}

/// Over the wires of the node that work.
std::vector<LinkId> around_wire(const Fabric& intact, LinkId link,
                                const std::set<std::uint32_t>& failed) {
  const Fabric::WirePlace place = intact.wire_place(link);
  const NodeWires& wires = intact.wires();
  // A graph search wants wires of one node, and faults name links of the cluster.
  std::set<std::uint32_t> broken;
  for (std::uint32_t w = 0; w < wires.count(); ++w)
    if (failed.contains(intact.wire_link(place.node, w).value)) broken.insert(w);
  // The wire itself may only be slow, not failed: a way around it must not use it all the same.
  broken.insert(place.wire);
  const NodeWires::Wire& own = wires.wire(place.wire);
  std::vector<LinkId> way;
  for (const std::uint32_t w : wires.way_around(own.from, own.to, broken))
    way.push_back(intact.wire_link(place.node, w));
  return way;
}

/// Over the NIC of another device of the node: bytes go there first on their way out, and come from
/// there on their way in.
std::vector<LinkId> around_nic(const Fabric& intact, const Link& link,
                               const std::set<std::uint32_t>& failed) {
  // A node with one NIC is cut off when that one fails.
  if (intact.cluster().network.nic.per == NicSpec::Per::node) return {};
  const auto size = static_cast<std::uint32_t>(intact.cluster().node_devices);
  const DeviceId own{link.from};
  // Starting with the next device spreads several failures over the NICs of the node.
  const std::uint32_t first = own.value / size * size;
  for (std::uint32_t step = 1; step < size; ++step) {
    const DeviceId next{first + (own.value - first + step) % size};
    const LinkId nic = intact.device_link(link.kind, next);
    auto way = info(link.kind).direction == LinkDirection::up
                   ? joined_if_alive(intact.route(own, next), {nic}, failed)
                   : joined_if_alive({nic}, intact.route(next, own), failed);
    if (!way.empty()) return way;
  }
  return {};
}

/// A local channel over another router of its group.
std::vector<LinkId> around_local(const Fabric& intact, const Link& link,
                                 const std::set<std::uint32_t>& failed) {
  const Dragonfly& dragonfly = intact.dragonfly();
  const std::uint32_t first = dragonfly.group_of(link.from) * dragonfly.routers();
  const auto local = [&](std::uint32_t a, std::uint32_t b) {
    return intact.channel_link(LinkKind::local, dragonfly.local(a, b));
  };
  for (std::uint32_t over = first; over < first + dragonfly.routers(); ++over) {
    if (over == link.from || over == link.to) continue;
    auto way = joined_if_alive({local(link.from, over)}, {local(over, link.to)}, failed);
    if (!way.empty()) return way;
  }
  return {};
}

/// A global channel over another group, from gateway to gateway.
std::vector<LinkId> around_global(const Fabric& intact, const Link& link,
                                  const std::set<std::uint32_t>& failed) {
  const Dragonfly& dragonfly = intact.dragonfly();
  for (std::uint32_t over = 0; over < dragonfly.groups(); ++over) {
    if (over == link.from || over == link.to) continue;
    std::vector<LinkId> way;
    // Routers of a dragonfly+ meet at spines, so that gateways of one group are the same place.
    const auto hop = [&](std::uint32_t a, std::uint32_t b) {
      if (a != b && !dragonfly.plus())
        way.push_back(intact.channel_link(LinkKind::local, dragonfly.local(a, b)));
    };
    const auto leap = [&](std::uint32_t a, std::uint32_t b) {
      way.push_back(intact.channel_link(LinkKind::global, dragonfly.global(a, b)));
    };
    // Gateways depend on the pair of groups: three of
    // them are passed, each with a change of router.
    hop(dragonfly.gateway(link.from, link.to), dragonfly.gateway(link.from, over));
    leap(link.from, over);
    hop(dragonfly.gateway(over, link.from), dragonfly.gateway(over, link.to));
    leap(over, link.to);
    hop(dragonfly.gateway(link.to, over), dragonfly.gateway(link.to, link.from));
    way = joined_if_alive(std::move(way), {}, failed);
    if (!way.empty()) return way;
  }
  return {};
}

}  // namespace

const std::vector<LinkId>* Fabric::detour(LinkId id) const {
  const auto found = faults_.detour.find(id.value);
  return found == faults_.detour.end() ? nullptr : &found->second;
}

bool Fabric::degraded(LinkKind kind) const {
  const LinkKindInfo row = info(kind);
  // A link across is both directions itself; others are degraded where either direction is.
  return row.direction != LinkDirection::across &&
         (degraded_[static_cast<std::size_t>(kind)] ||
          degraded_[static_cast<std::size_t>(row.reverse)]);
}

std::vector<LinkId> find_links(const Fabric& fabric, std::string_view name) {
  std::vector<LinkId> links;
  const auto add = [&](const std::string& one) {
    if (const auto found = fabric.find_link(one)) links.push_back(*found);
  };
  // An exact name first; a name without a direction means both directions.
  const std::string text{name};
  add(text);
  if (links.empty()) {
    for (const char* end :
         fabric.of_platform() ? std::array{"_UP", "_DOWN"} : std::array{".up", ".down"})
      add(text + end);
  } else if (const Link link = fabric.link(links.front());
             info(link.kind).direction == LinkDirection::across && !fabric.of_platform()) {
    // A mesh link `hccs:a-b` has its other direction under `hccs:b-a`.
    const std::size_t colon = text.find(':'), dash = text.find('-');
    add(text.substr(0, colon + 1) + text.substr(dash + 1) + "-" +
        text.substr(colon + 1, dash - colon - 1));
  }
  return links;
}

std::string link_names(const Fabric& fabric) {
  std::string text;
  for (std::size_t k = 0; k < link_kinds; ++k) {
    const auto kind = static_cast<LinkKind>(k);
    const Fabric::Block& block = fabric.block(kind);
    // The downward half of a pair has the same stem and would be listed twice.
    if (block.count == 0 || info(kind).direction == LinkDirection::down) continue;
    if (fabric.of_platform())
      return fabric.link_name({0}) + " to " + fabric.link_name({block.count - 1}) +
             " as the platform file names them";
    const auto stem = [&](std::uint32_t index) {
      const std::string name = fabric.link_name({block.first + index});
      return name.substr(0, name.find('.'));
    };
    text += (text.empty() ? "" : ", ") + stem(0);
    if (block.count > 1) text += " to " + stem(block.count - 1);
  }
  return text;
}

std::vector<LinkId> detour_around(const Fabric& intact, LinkId link,
                                  const std::set<std::uint32_t>& failed) {
  const Link broken = intact.link(link);
  switch (info(broken.kind).family.tier) {
    case LinkTier::mesh:
      return around_pair(intact, broken, failed);
    case LinkTier::wire:
      return around_wire(intact, link, failed);
    case LinkTier::nic:
      return around_nic(intact, broken, failed);
    case LinkTier::channel:
      return broken.kind == LinkKind::local ? around_local(intact, broken, failed)
                                            : around_global(intact, broken, failed);
    // Single ports and bundled trunks have nothing beside them that could carry their bytes.
    case LinkTier::node:
    case LinkTier::super_node:
    case LinkTier::trunk:
    case LinkTier::pod:
    case LinkTier::host:
      break;
  }
  return {};
}

double uplinks(const NetworkSpec& network) {
  return static_cast<double>(network.leaf_ports) / network.oversubscription;
}

bool is_trunk(const Fabric& fabric, LinkId link) {
  return info(fabric.link(link).kind).family.tier == LinkTier::trunk;
}

}  // namespace stepcast
