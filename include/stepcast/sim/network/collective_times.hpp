#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/program.hpp"

/// The times of collectives when nothing else uses the network, each planned once.
namespace stepcast {

/// Times of collectives by group and bytes, each planned once and kept.
class CollectiveTimes {
 public:
  CollectiveTimes(const ClusterSpec& cluster, CollectiveChoice choice)
      : fabric_{cluster}, choice_{std::move(choice)} {}

  const Fabric& fabric() const { return fabric_; }
  const CollectiveChoice& choice() const { return choice_; }
  /// The time of one call of the group of `rank`, with the launch of its first phase [s].
  double alone(const Placement& placement, const StageCall& call, Rank rank);
  /// NetworkCall::held of the call by the group of that rank.
  double held(const Placement& placement, const StageCall& call, Rank rank);
  /// The devices of a group, to ask for it more than once.
  enum class Members : std::uint32_t {};
  Members members(const Placement& placement, GroupKind group, Rank rank);
  /// Alone() between powers of two of its bytes: for estimates, where sizes seldom repeat
  /// [s].
  double about(Members members, const CollectiveCall& call);
  /// The time of a transfer from `from` to `to`: bytes over the slowest link of the route,
  /// then latency [s].
  struct Hop {
    double latency = 0, alone = 0;
  };
  Hop hop(Rank from, Rank to, double bytes) const;

 private:
  double launch() const;  ///< of one collective or transfer [s]
  double planned(Members members, const CollectiveCall& call, const std::string& algorithm);
  double power_of_two(Members members, CollectiveKind kind, int exponent);

  Fabric fabric_;
  CollectiveChoice choice_;
  std::vector<std::vector<DeviceId>> groups_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> group_index_;
  std::map<std::tuple<Members, CollectiveKind, double, Skew, std::string>, double> times_;
  /// Times by exponent of the bytes, with the algorithm of the choice; negative: not
  /// planned yet.
  using Powers = std::array<double, 64>;
  std::map<std::pair<Members, CollectiveKind>, Powers> powers_;
};

}  // namespace stepcast
