#include "trunk_collisions.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

std::int64_t parts_of(double number) {
  // A sender that puts only a part on the trunk still is one part that is hashed.
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(number)));
}

}  // namespace

TrunkCollisions::TrunkCollisions(const NetworkMapInput& input, const JobGraph& graph)
    : input_{input},
      graph_{graph},
      choices_{routing_choices(input.fabric.cluster().network.routing)} {
  // Ideal routing spreads evenly: nothing collides.
  if (choices_ == 0) return;
  read_patterns();
  count_senders();
}

/// Channels come behind the kinds of groups.
TrunkCollisions::Together TrunkCollisions::together(const JobGraph::Object& object,
                                                    std::uint32_t slot) const {
  if (object.kind != JobGraph::Object::Kind::group)
    return {static_cast<std::uint32_t>(group_kinds) + object.pattern, 0, 0};
  const Slot& of = slots_[object.pattern][slot];
  return {static_cast<std::uint32_t>(object.group), of.call, of.phase};
}

double TrunkCollisions::of_nic(const JobGraph::Object& object, std::uint32_t slot) const {
  // A transfer puts all of its bytes on one NIC.
  return object.kind == JobGraph::Object::Kind::group ? slots_[object.pattern][slot].of_nic : 1;
}

void TrunkCollisions::read_patterns() {
  for (const GroupPattern& pattern : graph_.patterns()) {
    auto& slots = slots_.emplace_back(pattern.slots);
    // Slots are counted as PatternPlanner has counted them.
    for (std::uint32_t c = 0; c < pattern.calls.size(); ++c) {
      std::uint32_t slot = pattern.calls[c].first_slot;
      for (std::uint32_t p = 0; p < pattern.calls[c].phases.size(); ++p)
        for (std::size_t f = 0; f < pattern.calls[c].phases[p].size(); ++f)
          slots[slot++] = {c, p, 0};
    }
    // Bytes on the busiest NIC are what one sender sends at full rate.
    for (const GroupPattern::Entry& entry : pattern.entries) {
      if (info(entry.kind).family.tier != LinkTier::nic) continue;
      for (std::uint32_t l = entry.first; l < entry.first + entry.count; ++l) {
        Slot& slot = slots[pattern.loads[l].slot];
        slot.of_nic = std::max(slot.of_nic, pattern.loads[l].weight);
      }
    }
  }
}

/// A trunk that carries what one NIC sends has one sender: senders are counted by what they send.
void TrunkCollisions::count_senders() {
  senders_.resize(graph_.links().size());
  for (std::uint32_t link = 0; link < graph_.links().size(); ++link) {
    // Only uplinks are hashed.
    if (!is_trunk(input_.fabric, graph_.links()[link].id)) continue;
    for (const std::uint32_t u : graph_.uses_of_link(link)) {
      const JobGraph::Use& use = graph_.uses()[u];
      const JobGraph::Object& object = graph_.objects()[use.object];
      // What is on the trunk over what is on a NIC: whole and partial senders add up.
      for (const GroupPattern::Load& load : graph_.loads(use))
        senders_[link][together(object, load.slot)] += load.weight / of_nic(object, load.slot);
    }
    // The same phase crosses these trunks at one time, and ends with the slowest.
    for (const auto& [key, senders] : senders_[link]) trunks_[key].push_back(link);
  }
}

/// All trunks that carry the phase wait for the fullest uplink of any of them: in senders.
double TrunkCollisions::fullest_of(const Together& key, double senders) {
  const NetworkSpec& network = input_.fabric.cluster().network;
  const std::vector<std::uint32_t>& trunks = trunks_.at(key);
  const auto pairs = static_cast<double>(network.queue_pairs);
  // Each queue pair is hashed by itself.
  const HashedParts hashed{parts_of(senders * pairs), parts_of(uplinks(network)),
                           static_cast<std::int64_t>(trunks.size())};
  // Means depend on numbers alone and repeat over all links.
  if (!input_.hash_seed) {
    const auto [place, fresh] = means_.try_emplace({hashed.parts, hashed.trunks});
    if (fresh) place->second = fullest_uplink(hashed, choices_) / pairs;
    return place->second;
  }
  std::int64_t fullest = 0;
  // Draws depend on the trunk: the fullest of all that the phase loads.
  for (const std::uint32_t trunk : trunks)
    fullest =
        std::max(fullest, drawn_fullest_uplink(hashed, choices_, *input_.hash_seed,
                                               graph_.links()[trunk].id.value, std::get<0>(key)));
  return static_cast<double>(fullest) / pairs;
}

std::map<std::uint32_t, double> TrunkCollisions::on(
    std::uint32_t link, const std::function<std::uint32_t(std::uint32_t)>& first_of) {
  std::map<std::uint32_t, double> slowed;
  if (choices_ == 0 || senders_[link].empty()) return slowed;
  std::map<Together, double> fullest;
  for (const auto& [key, senders] : senders_[link]) {
    // Calls and phases collide by themselves: what else is on the trunk runs at other times.
    fullest[key] = fullest_of(key, senders);
    fullest_ = std::max(fullest_, fullest[key]);
  }
  // A trunk stands for all of its uplinks.
  const double uplink = graph_.links()[link].bandwidth / uplinks(input_.fabric.cluster().network);
  for (const std::uint32_t u : graph_.uses_of_link(link)) {
    const JobGraph::Use& use = graph_.uses()[u];
    const JobGraph::Object& object = graph_.objects()[use.object];
    for (const GroupPattern::Load& load : graph_.loads(use)) {
      const double senders = fullest.at(together(object, load.slot));
      // Several entries of one flow on the link: the slowest of them counts.
      double& seconds = slowed[first_of(use.object) + load.slot];
      seconds = std::max(seconds, senders * of_nic(object, load.slot) / uplink);
    }
  }
  return slowed;
}

bool TrunkCollisions::can_fill(std::uint32_t link) const {
  if (choices_ == 0 || senders_[link].empty()) return true;
  // Evenly loaded, a trunk that carries all NICs below it never limits.
  const NetworkSpec& network = input_.fabric.cluster().network;
  const double below = static_cast<double>(network.leaf_ports) *
                       input_.fabric.block(LinkKind::nic_up).bandwidth.value();
  return graph_.links()[link].bandwidth < below;
}

}  // namespace stepcast
