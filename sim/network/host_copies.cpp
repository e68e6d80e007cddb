#include <algorithm>
#include <map>

#include "job_graph.hpp"

/// Copies between devices and their hosts on the PCIe tree: docs/models/offload.md.
namespace stepcast {

/// Bytes are those of the copy, at the bandwidth of the PCIe links; what a copy takes beyond them
/// when it is alone it takes in company too.
GroupPattern JobGraph::copies(std::uint32_t stage, Stream direction) const {
  GroupPattern pattern;
  pattern.stage = stage;
  const PcieTree& tree = input_.fabric.cluster().host.pcie;
  // The narrower of the device's lanes and the switch's uplink carries a copy that is alone.
  const BytesPerSecond lanes = input_.fabric.block(LinkKind::pcie_up).bandwidth;
  const BytesPerSecond links = std::min(lanes, tree.switch_bandwidth);
  const auto& calls = input_.programs[stage].calls;
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].over_host_link() || calls[i].stream != direction) continue;
    const Bytes bytes = calls[i].call.bytes;
    // Latency and staging remain after the bytes and are not shared.
    const double beyond = std::max(0.0, (calls[i].host_link - bytes / links).value());
    pattern.calls.push_back({i, pattern.slots, "host link", {{{beyond, bytes.value(), 0, {}}}}});
    pattern.loads.push_back({pattern.slots++, 1});
  }
  // One lane per direction; the links above it follow from over_pcie().
  const LinkKind lane = direction == Stream::to_host ? LinkKind::pcie_up : LinkKind::pcie_down;
  pattern.entries.push_back({.kind = lane,
                             .a = 0,
                             .b = 0,
                             .first = 0,
                             .count = static_cast<std::uint32_t>(pattern.loads.size()),
                             .role = 0});
  return pattern;
}

/// Each rank copies by itself, as a group of one; each direction is a stream.
void JobGraph::add_copies(Stream direction) {
  auto& of_rank = copies_of_[static_cast<std::size_t>(direction)];
  // Ranks of one stage run one program, so that they share a pattern.
  of_rank.assign(period_.ranks().world(), no_index);
  std::map<std::uint32_t, std::uint32_t> of_stage;
  for (std::uint32_t r = 0; r < of_rank.size(); ++r) {
    const std::uint32_t stage = period_.ranks().stage_of(Rank{r}).value;
    const auto next = static_cast<std::uint32_t>(patterns_.size());
    const auto [place, fresh] = of_stage.try_emplace(stage, next);
    if (fresh) {
      patterns_.push_back(copies(stage, direction));
      // `tensor` stands in for a kind that copies do not have.
      compare(GroupKind::tensor, next);
    }
    const GroupPattern& pattern = patterns_[place->second];
    // Stages that copy nothing have no object.
    if (pattern.calls.empty()) continue;
    of_rank[r] = static_cast<std::uint32_t>(objects_.size());
    objects_.push_back({.kind = Object::Kind::group,
                        .group = GroupKind::tensor,
                        .pattern = place->second,
                        .first = static_cast<std::uint32_t>(members_.size()),
                        .count = 1});
    members_.push_back(Rank{r});
    load(of_rank[r], input_.fabric.device_link(pattern.entries.front().kind, device_of(Rank{r})),
         0);
  }
}

std::uint32_t JobGraph::copies_of(Stream direction, Rank rank) const {
  const auto& of_rank = copies_of_[static_cast<std::size_t>(direction)];
  return of_rank.empty() ? no_index : of_rank[rank.value];
}

void JobGraph::use_with_pcie(std::uint32_t object, LinkId link, std::uint32_t entry) {
  use(object, link, entry);
  for (const LinkId more : input_.fabric.over_pcie(link)) use(object, more, entry);
}

}  // namespace stepcast
