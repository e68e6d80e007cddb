#include "stepcast/topology/dragonfly.hpp"

namespace stepcast {
namespace {

/// Ordered pairs of `size` things, counted by the first one.
std::uint32_t pair_number(std::uint32_t size, std::uint32_t from, std::uint32_t to) {
  // The pair (from, from) does not exist, so that places behind `from` move down by one.
  return from * (size - 1) + (to > from ? to - 1 : to);
}

Dragonfly::Ends pair_ends(std::uint32_t size, std::uint32_t number) {
  const std::uint32_t from = number / (size - 1), place = number % (size - 1);
  return {from, place >= from ? place + 1 : place};
}

}  // namespace

Dragonfly::Dragonfly(std::uint32_t groups, std::uint32_t routers, bool plus)
    : groups_{groups}, routers_{routers}, plus_{plus} {}

std::uint64_t Dragonfly::locals() const {
  return plus_ ? 0 : std::uint64_t{groups_} * routers_ * (routers_ - 1);
}

std::uint32_t Dragonfly::local(std::uint32_t from, std::uint32_t to) const {
  const std::uint32_t group = from / routers_;
  return group * routers_ * (routers_ - 1) + pair_number(routers_, from % routers_, to % routers_);
}

std::uint32_t Dragonfly::global(std::uint32_t from, std::uint32_t to) const {
  return pair_number(groups_, from, to);
}

Dragonfly::Ends Dragonfly::local_ends(std::uint32_t channel) const {
  // Channels are numbered group by group, as local() numbers them; ends are routers of the machine.
  const std::uint32_t of_group = routers_ * (routers_ - 1);
  const std::uint32_t first = channel / of_group * routers_;
  const Ends ends = pair_ends(routers_, channel % of_group);
  return {first + ends.from, first + ends.to};
}

Dragonfly::Ends Dragonfly::global_ends(std::uint32_t channel) const {
  return pair_ends(groups_, channel);
}

std::uint32_t Dragonfly::gateway(std::uint32_t from, std::uint32_t to) const {
  // Targets are counted from the own group on: all
  // groups see the others alike, which folding needs.
  const std::uint32_t ahead = (to + groups_ - from) % groups_;
  return from * routers_ + (ahead - 1) % routers_;
}

Dragonfly::Way Dragonfly::way(std::uint32_t from, std::uint32_t to) const {
  // At most a local hop out, the global channel and a local hop in (docs/models/fabric.md).
  Way way;
  const std::uint32_t g = group_of(from), h = group_of(to);
  if (from == to) return way;
  if (g == h) {
    // Leaves of a dragonfly+ meet at the spines of their group, which have no channel of their own.
    if (!plus_) way.first = local(from, to);
    return way;
  }
  way.across = global(g, h);
  if (plus_) return way;
  // The channel begins and ends at gateways: other routers reach them over a local channel.
  const std::uint32_t out = gateway(g, h), in = gateway(h, g);
  if (from != out) way.first = local(from, out);
  if (to != in) way.last = local(in, to);
  return way;
}

}  // namespace stepcast
