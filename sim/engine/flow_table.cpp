#include "flow_table.hpp"

#include <algorithm>

namespace stepcast {

FlowTable::Index FlowTable::add(std::span<const LinkUse> path, double bytes, double now,
                                std::uint64_t tag, std::vector<Index>& met) {
  // Places are used again: indices stay small, and tables by flow with them.
  if (free_.empty()) {
    free_.push_back(static_cast<Index>(flows_.size()));
    flows_.emplace_back();
  }
  const Index index = free_.back();
  free_.pop_back();
  Flow& flow = flows_[index];
  flow.path.assign(path.begin(), path.end());
  flow.bytes = bytes;
  flow.start = now;
  flow.tag = tag;
  flow.in_network = false;

  double seconds_per_byte = 0;
  bool company = false;
  for (const LinkUse& use : flow.path) {
    LinkState& link = links_[use.link];
    // Any flow on any of the links is company, in the network or not.
    company = company || link.active > 0;
    // A flow that was alone until now has to enter the network with this one.
    if (link.alone != none && std::ranges::find(met, link.alone) == met.end())
      met.push_back(link.alone);
    ++link.active;
    // A link that the path lists k times is k times as slow: the slowest sets the time.
    seconds_per_byte = std::max(seconds_per_byte, use.count / bandwidths_[use.link]);
  }
  flow.alone = bytes * seconds_per_byte;
  if (company) {
    met.push_back(index);
  } else {
    // Each link knows the one flow that has it alone, so that the next one finds it.
    for (const LinkUse& use : flow.path) links_[use.link].alone = index;
  }
  return index;
}

bool FlowTable::enter_network(Index index, double now) {
  Flow& flow = flows_[index];
  // Alone, bytes go at a constant rate: what is left of the time is what is left of them.
  const double left = flow.start + flow.alone - now;
  if (left <= 0) return false;
  flow.bytes *= left / flow.alone;
  flow.start = now;
  flow.alone = left;
  flow.in_network = true;
  // The end that was foreseen for it is void from now on.
  ++flow.generation;
  for (const LinkUse& use : flow.path) {
    if (links_[use.link].alone == index) links_[use.link].alone = none;
  }
  return true;
}

void FlowTable::remove(Index index) {
  Flow& flow = flows_[index];
  // Later entries of the queue for this place are of another flow.
  ++flow.generation;
  for (const LinkUse& use : flow.path) {
    LinkState& link = links_[use.link];
    --link.active;
    if (link.alone == index) link.alone = none;
  }
  free_.push_back(index);
}

}  // namespace stepcast
