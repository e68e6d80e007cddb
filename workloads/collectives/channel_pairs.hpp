#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "wiring.hpp"

namespace stepcast::collectives {

/// Of a dragonfly: how many pairs of members have a way that leads over each channel
/// (docs/models/collectives.md). A pair goes from its router to the one that has the channel
/// between both groups, over that channel, and on to the router of the other member.
class ChannelPairs {
 public:
  struct Load {
    double pairs = 0;
    Seconds way;  // the slowest over this channel
  };

  /// Wiring of a dragonfly, which outlives this.
  explicit ChannelPairs(const Wiring& wiring);

  /// Adds all pairs among members (their seats) `sign` times: -1 takes off what was added.
  void count(std::span<const std::uint32_t> members, double sign);

  /// By channel.
  const std::map<std::uint32_t, Load>& loads() const { return loads_; }

 private:
  using Routers = std::map<std::uint32_t, double>;  // members below each
  using Groups = std::map<std::uint32_t, Routers>;

  void inside(const Routers& routers, double sign);
  void between(std::uint32_t g, std::uint32_t h, const Groups& groups, double sign);

  const Wiring& wiring_;
  const Dragonfly& fly_;
  std::map<std::uint32_t, Load> loads_;
};

}  // namespace stepcast::collectives
