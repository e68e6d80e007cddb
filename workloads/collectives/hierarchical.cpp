#include <algorithm>
#include <map>
#include <utility>

#include "algorithms.hpp"

namespace stepcast::collectives {
namespace {

struct Tier {
  Sets sets;
  Pattern pattern;
};

/// Inside nodes, between the nodes of a super-node, between super-nodes; tiers of one member are
/// left out. All sets of a tier have the same size.
std::optional<std::vector<Tier>> tiers(const Fabric& fabric, Group members,
                                       const CollectiveCall& call) {
  auto nodes = split(fabric, members, Level::node);
  if (!nodes) return std::nullopt;
  // Without super-nodes each node is one.
  std::optional<Split> supers;
  if (fabric.cluster().super_node) {
    supers = split(fabric, members, Level::super_node);
    // A ragged last super-node leaves nodes as the only tier.
    if (!supers && !has_partial_super_node(fabric)) return std::nullopt;
  }
  const std::size_t servers = nodes->inside.size(), local = nodes->across.size();
  std::vector<Tier> result;
  if (local > 1) {
    const Pattern pattern = node_pattern(fabric, nodes->inside);
    result.push_back({std::move(nodes->inside), pattern});
  }
  if (!supers) {
    // Between nodes an all-reduce has what a member keeps of the reduction inside.
    const Bytes bytes = call.kind == CollectiveKind::all_reduce
                            ? call.bytes / static_cast<double>(local)
                            : call.bytes;
    if (servers > 1)
      result.push_back(
          {std::move(nodes->across), server_pattern(fabric, servers, call.kind, bytes)});
    return result;
  }
  // Rails inside each super-node: members of like index of its nodes.
  Sets middle;
  for (const Members& rail : nodes->across) {
    const Split parts = *split(fabric, rail, Level::super_node);
    middle.insert(middle.end(), parts.inside.begin(), parts.inside.end());
  }
  if (middle.front().size() > 1) result.push_back({std::move(middle), Pattern::nhr});
  const std::size_t count = supers->inside.size();
  // HCCL's static rule for this level: ring for few super-nodes that are no power of two.
  const bool power = (count & (count - 1)) == 0;
  if (count > 1)
    result.push_back(
        {std::move(supers->across), count < 8 && !power ? Pattern::ring : Pattern::hd});
  return result;
}

std::string title(const std::vector<Tier>& tiers) {
  // The name lists the patterns, from the inner tier outwards; the judge reads it.
  std::string text = "hierarchical(";
  for (const Tier& tier : tiers)
    text += (text.back() == '(' ? "" : ", ") + std::string(name(tier.pattern));
  return text + ")";
}

/// From the inner tier outwards; each leaves its members a share of what they had.
void reduce_inward(Schedule& schedule, std::span<const Tier> tiers, Bytes bytes) {
  // The outermost tier reduces what is left, and everything comes back the same way.
  if (tiers.size() == 1) return all_reduce(schedule, tiers[0].sets, bytes, tiers[0].pattern);
  // Halves of the same tier: what was scattered on the way in is gathered on the way out.
  reduce_scatter(schedule, tiers[0].sets, bytes, tiers[0].pattern);
  reduce_inward(schedule, tiers.subspan(1),
                bytes / static_cast<double>(tiers[0].sets.front().size()));
  all_gather(schedule, tiers[0].sets, bytes, tiers[0].pattern);
}

/// HCCL gathers inside first, so that the outer tier carries everything on every NIC.
void gather_outward(Schedule& schedule, std::span<const Tier> tiers, Bytes bytes) {
  if (tiers.empty()) return;
  const Tier& outer = tiers.back();
  gather_outward(schedule, tiers.first(tiers.size() - 1),
                 bytes / static_cast<double>(outer.sets.front().size()));
  all_gather(schedule, outer.sets, bytes, outer.pattern);
}

void scatter_inward(Schedule& schedule, std::span<const Tier> tiers, Bytes bytes) {
  // The mirror image of gather_outward(): outer tiers first.
  if (tiers.empty()) return;
  const Tier& outer = tiers.back();
  reduce_scatter(schedule, outer.sets, bytes, outer.pattern);
  scatter_inward(schedule, tiers.first(tiers.size() - 1),
                 bytes / static_cast<double>(outer.sets.front().size()));
}

void spread(Schedule& schedule, std::span<const Tier> tiers, Bytes bytes) {
  if (tiers.size() == 1) return broadcast(schedule, tiers[0].sets, bytes, tiers[0].pattern);
  // Only the sets of the root's part hold anything yet; the others idle.
  scatter(schedule, {tiers[0].sets.front()}, bytes);
  spread(schedule, tiers.subspan(1), bytes / static_cast<double>(tiers[0].sets.front().size()));
  all_gather(schedule, tiers[0].sets, bytes, tiers[0].pattern);
}

/// Sizes of both hops of a staged exchange, by from and to: what passes through a member is summed
/// over whom it stands for.
struct StagedSizes {
  StagedSizes(Group members, const CollectiveCall& call, const Split& parts) {
    const MessageSize direct = message_sizes(members, call);
    for (const Members& own : parts.inside)
      for (const DeviceId from : own)
        for (const Members& part : parts.inside)
          for (std::size_t i = 0; i < part.size(); ++i) {
            // Over the member of like index in the own part,
            // then across to the part of the receiver.
            const Bytes bytes = direct(from, part[i]);
            inside[{from, own[i]}] += bytes;
            across[{own[i], part[i]}] += bytes;
          }
  }
  using Sizes = std::map<std::pair<DeviceId, DeviceId>, Bytes>;
  static MessageSize of(const Sizes& sizes) {
    return [&sizes](DeviceId from, DeviceId to) { return sizes.at({from, to}); };
  }
  Sizes inside, across;
};

/// First to the member of like index in the own part of the fabric, then across.
Plan staged(const Fabric& fabric, Group members, const CollectiveCall& call, NetworkForm form) {
  const bool super = fabric.cluster().super_node && reach(fabric, members) > Locality::super_node;
  // Two levels only: the largest parts that the group has.
  const auto parts = split(fabric, members, super ? Level::super_node : Level::node);
  if (!parts || parts->inside.size() < 2 || parts->across.size() < 2) return std::nullopt;
  Schedule schedule(fabric, members, call, form);
  if (!call.skew.factor.empty()) {
    const StagedSizes sizes(members, call, *parts);
    full_mesh(schedule, parts->inside, StagedSizes::of(sizes.inside));
    pairwise(schedule, parts->across, StagedSizes::of(sizes.across));
  } else {
    schedule.repeats(call.period);
    // Inside, each member gets all that its rail needs; across, each part gets what is its own.
    full_mesh(schedule, parts->inside, call.bytes / static_cast<double>(parts->across.size()));
    pairwise(schedule, parts->across, call.bytes / static_cast<double>(parts->inside.size()));
  }
  return std::move(schedule).plan("hierarchical(mesh, pairwise)");
}

}  // namespace

Plan hierarchical(const Fabric& fabric, Group members, const CollectiveCall& call,
                  NetworkForm form) {
  if (call.kind == CollectiveKind::send_recv) return std::nullopt;
  if (call.kind == CollectiveKind::all_to_all) return staged(fabric, members, call, form);
  // One tier is a flat algorithm, which goes by its own name.
  const auto found = tiers(fabric, members, call);
  if (!found || found->size() < 2) return std::nullopt;
  Schedule schedule(fabric, members, call, form);
  // A pattern that treats members differently spoils the period for all tiers.
  const bool alike = std::ranges::all_of(*found, [](const Tier& tier) {
    return treats_all_alike(tier.pattern, tier.sets.front().size());
  });
  if (alike && call.kind != CollectiveKind::broadcast) schedule.repeats(call.period);
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      reduce_inward(schedule, *found, call.bytes);
      break;
    case CollectiveKind::all_gather:
      gather_outward(schedule, *found, call.bytes);
      break;
    case CollectiveKind::reduce_scatter:
      scatter_inward(schedule, *found, call.bytes);
      break;
    case CollectiveKind::broadcast:
      spread(schedule, *found, call.bytes);
      break;
    case CollectiveKind::all_to_all:
    case CollectiveKind::send_recv:
      break;
  }
  return std::move(schedule).plan(title(*found));
}

}  // namespace stepcast::collectives
