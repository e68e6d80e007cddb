#include <algorithm>

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

std::vector<LinkId> around_pair(const Fabric& intact, const Link& link,
                                const std::set<std::uint32_t>& failed) {
  const auto size = static_cast<std::uint32_t>(intact.mesh_size());
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
  std::set<std::uint32_t> broken;
  for (std::uint32_t w = 0; w < wires.count(); ++w)
    if (failed.contains(intact.wire_link(place.node, w).value)) broken.insert(w);
  broken.insert(place.wire);
  const NodeWires::Wire& own = wires.wire(place.wire);
  std::vector<LinkId> way;
  for (const std::uint32_t w : wires.way_around(own.from, own.to, broken))
    way.push_back(intact.wire_link(place.node, w));
  return way;
}

std::vector<LinkId> around_nic(const Fabric& intact, const Link& link,
                               const std::set<std::uint32_t>& failed) {
  if (intact.cluster().network.nic.per == NicSpec::Per::node) return {};
  const auto size = static_cast<std::uint32_t>(intact.cluster().node_devices);
  const DeviceId own{link.from};
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

}  // namespace

const std::vector<LinkId>* Fabric::detour(LinkId id) const {
  const auto found = faults_.detour.find(id.value);
  return found == faults_.detour.end() ? nullptr : &found->second;
}

bool Fabric::degraded(LinkKind kind) const {
  const LinkKindInfo row = info(kind);
  return row.direction != LinkDirection::across &&
         (degraded_[static_cast<std::size_t>(kind)] ||
          degraded_[static_cast<std::size_t>(row.reverse)]);
}

std::vector<LinkId> find_links(const Fabric& fabric, std::string_view name) {
  std::vector<LinkId> links;
  const auto add = [&](const std::string& one) {
    if (const auto found = fabric.find_link(one)) links.push_back(*found);
  };
  const std::string text{name};
  add(text);
  if (links.empty()) {
    add(text + ".up");
    add(text + ".down");
  } else if (const Link link = fabric.link(links.front());
             info(link.kind).direction == LinkDirection::across) {
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
    if (block.count == 0 || info(kind).direction == LinkDirection::down) continue;
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
    case LinkTier::node:
    case LinkTier::super_node:
    case LinkTier::trunk:
    case LinkTier::pod:
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
