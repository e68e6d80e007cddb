#pragma once
#include <cstdint>
#include <optional>
#include <vector>

/// Which channels bytes of a dragonfly cross: docs/models/fabric.md.
namespace stepcast {

/// Groups of routers. Each two routers of a group are joined by a local channel and each two groups
/// by a global one, which stands for all links between them. Routers are numbered through the
/// groups, channels of a kind without gaps. In a dragonfly+ the routers of a group are leaves below
/// spines, which hold the global channels: it has no local ones.
class Dragonfly {
 public:
  Dragonfly() = default;  ///< none
  Dragonfly(std::uint32_t groups, std::uint32_t routers, bool plus);

  bool empty() const { return groups_ == 0; }
  bool plus() const { return plus_; }
  std::uint32_t groups() const { return groups_; }
  std::uint32_t routers() const { return routers_; }  ///< of one group
  std::uint32_t group_of(std::uint32_t router) const { return router / routers_; }
  std::uint64_t locals() const;
  std::uint64_t globals() const { return std::uint64_t{groups_} * (groups_ > 0 ? groups_ - 1 : 0); }

  std::uint32_t local(std::uint32_t from, std::uint32_t to) const;   ///< routers of one group
  std::uint32_t global(std::uint32_t from, std::uint32_t to) const;  ///< groups
  struct Ends {
    std::uint32_t from, to;
  };
  Ends local_ends(std::uint32_t channel) const;
  Ends global_ends(std::uint32_t channel) const;
  /// The router of group `from` at which the channel to group `to` begins. It depends on how many
  /// groups the other one is ahead and on nothing else, so that every group sees the same.
  std::uint32_t gateway(std::uint32_t from, std::uint32_t to) const;

  /// The shortest way from router to router: at most a local, the global and a local channel.
  struct Way {
    std::optional<std::uint32_t> first, across, last;  ///< local, global, local
  };
  Way way(std::uint32_t from, std::uint32_t to) const;

 private:
  std::uint32_t groups_ = 0, routers_ = 1;
  bool plus_ = false;
};

}  // namespace stepcast
