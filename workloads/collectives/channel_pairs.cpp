#include "channel_pairs.hpp"

#include <algorithm>

namespace stepcast::collectives {

ChannelPairs::ChannelPairs(const Wiring& wiring) : wiring_(wiring), fly_(wiring.dragonfly()) {}

void ChannelPairs::count(std::span<const std::uint32_t> members, double sign) {
  Groups groups;
  // Members are counted below each router, since pairs of equal ends load the same channels.
  for (const std::uint32_t i : members)
    ++groups[fly_.group_of(wiring_.router(i))][wiring_.router(i)];
  for (const auto& [g, routers] : groups) {
    // Leaves of a dragonfly+ meet at the spines, without channels inside the group.
    if (!fly_.plus()) inside(routers, sign);
    for (const auto& [h, others] : groups)
      if (g != h) between(g, h, groups, sign);
  }
}

void ChannelPairs::inside(const Routers& routers, double sign) {
  for (const auto& [from, senders] : routers)
    for (const auto& [to, receivers] : routers) {
      if (from == to) continue;
      Load& load = loads_[fly_.local(from, to)];
      // Ordered pairs: what these send to those.
      load.pairs += sign * senders * receivers;
      load.way = wiring_.local_latency();
    }
}

void ChannelPairs::between(std::uint32_t g, std::uint32_t h, const Groups& groups, double sign) {
  const auto all = [](const Routers& routers) {
    double sum = 0;
    for (const auto& [router, members] : routers) sum += members;
    return sum;
  };
  // Whether some member of a group is below another router than its gate.
  const auto beside = [](const Routers& routers, std::uint32_t gate) {
    return routers.size() > 1 || routers.begin()->first != gate;
  };
  const Routers &own = groups.at(g), &others = groups.at(h);
  const double peers = all(others);
  // Everybody here sends to everybody there.
  Seconds way = wiring_.global_latency();
  if (!fly_.plus()) {
    // The gateway has the channel; members below other routers of the group go there first.
    const std::uint32_t gate = fly_.gateway(g, h);
    for (const auto& [router, members] : own) {
      if (router == gate) continue;
      loads_[fly_.local(router, gate)].pairs += sign * members * peers;
      loads_[fly_.local(gate, router)].pairs += sign * members * peers;
    }
    // The slowest way: a local hop on each side where somebody is not below the gateway.
    way += wiring_.local_latency() * (beside(own, gate) ? 1 : 0);
    way += wiring_.local_latency() * (beside(others, fly_.gateway(h, g)) ? 1 : 0);
  }
  Load& global = loads_[wiring_.global_channel(fly_.global(g, h))];
  global.pairs += sign * all(own) * peers;
  global.way = std::max(global.way, way);
}

}  // namespace stepcast::collectives
