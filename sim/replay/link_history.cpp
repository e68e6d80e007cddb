#include "stepcast/sim/replay/link_history.hpp"

#include <algorithm>

namespace stepcast {
namespace {

/// At least half of them lie in the run: more than a page draws.
constexpr std::size_t parts = 256;
constexpr double shortest_part = 1e-6;  ///< [s]

}  // namespace

LinkHistory::LinkHistory(const NetworkMap& network)
    : network_{network},
      of_call_(network.calls.size()),
      known_(network.calls.size()),
      links_(network.links.size()),
      part_{shortest_part} {
  for (std::uint32_t l = 0; l < network.links.size(); ++l) {
    // From links by flow to flows by link: calls ask by flow.
    for (const auto& [flow, weight] : network.links[l].loads) {
      if (of_flow_.size() <= flow) of_flow_.resize(flow + 1);
      of_flow_[flow].emplace_back(l, weight);
    }
    links_[l].busy.resize(parts);
  }
}

void LinkHistory::add_flow(const NetworkFlow& flow, Loads& loads) const {
  // World calls that run alone have no number, and load no link that is described.
  if (flow.number == NetworkFlow::unnumbered || flow.number >= of_flow_.size()) return;
  for (const auto& [link, weight] : of_flow_[flow.number]) {
    const auto known = std::ranges::find(loads, link, &Load::link);
    if (known == loads.end())
      loads.push_back({link, flow.bytes * weight});
    else
      known->bytes += flow.bytes * weight;
  }
}

void LinkHistory::add_call(std::uint32_t call, double from, double to) {
  Loads& loads = of_call_[call];
  // Loads of a call are the same whenever it runs; adding up its flows each time would dominate a
  // recording.
  if (!known_[call]) {
    for (const auto& phase : network_.calls[call].phases)
      for (const NetworkFlow& flow : phase) add_flow(flow, loads);
    known_[call] = true;
  }
  add(loads, from, to);
}

void LinkHistory::add_transfer(Channel channel, std::uint32_t sender, double from, double to) {
  Loads loads;
  add_flow(network_.hop(channel, sender).flow, loads);
  add(loads, from, to);
}

void LinkHistory::add(const Loads& loads, double from, double to) {
  if (loads.empty()) return;
  // The run turned out longer: each two parts become one, until it fits.
  while (to >= part_ * static_cast<double>(parts)) lengthen();
  for (const auto& [link, bytes] : loads) {
    links_[link].bytes += bytes;
    spread(links_[link].busy, from, to, bytes / network_.links[link].bandwidth);
  }
}

/// A load of no length counts where it is.
void LinkHistory::spread(std::vector<float>& busy, double from, double to, double seconds) const {
  const auto first = static_cast<std::size_t>(from / part_),
             last = static_cast<std::size_t>(to / part_);
  if (first == last) {
    busy[first] += static_cast<float>(seconds);
    return;
  }
  // A load is even over its time: the first and the last part have their share of it.
  const double pace = seconds / (to - from);
  busy[first] += static_cast<float>(pace * (static_cast<double>(first + 1) * part_ - from));
  for (std::size_t i = first + 1; i < last; ++i) busy[i] += static_cast<float>(pace * part_);
  busy[last] += static_cast<float>(pace * (to - static_cast<double>(last) * part_));
}

void LinkHistory::lengthen() {
  part_ *= 2;
  for (Recording::LinkUse& link : links_) {
    for (std::size_t i = 0; i < parts / 2; ++i)
      link.busy[i] = link.busy[2 * i] + link.busy[2 * i + 1];
    std::fill(link.busy.begin() + parts / 2, link.busy.end(), 0.0F);
  }
}

void LinkHistory::take(Recording& out) {
  out.links = std::move(links_);
  out.part = part_;
}

}  // namespace stepcast
