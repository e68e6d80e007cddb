#pragma once
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/program.hpp"

/// Times of collectives when nothing else uses the network, each planned once.
namespace stepcast {

class CollectiveTimes {
 public:
  CollectiveTimes(const ClusterSpec& cluster, const CollectiveChoice& choice)
      : fabric_{cluster}, choice_{choice} {}

  const Fabric& fabric() const { return fabric_; }
  const CollectiveChoice& choice() const { return choice_; }
  /// Of one call of the group of `rank`, with the launch of its first phase [s].
  double alone(const Placement& placement, const StageCall& call, Rank rank);
  /// The same between powers of two of its bytes: for estimates, where sizes seldom repeat [s].
  double about(const Placement& placement, GroupKind group, CollectiveCall call, Rank rank);
  /// Of a transfer from `from` to `to`: bytes over the slowest link of the route, then latency [s].
  struct Hop {
    double latency = 0, alone = 0;
  };
  Hop hop(Rank from, Rank to, double bytes) const;

 private:
  double launch() const;  ///< of one collective or transfer [s]
  double planned(std::uint32_t members, CollectiveCall call, const std::string& algorithm);
  std::uint32_t members_of(const Placement& placement, GroupKind group, Rank rank);

  Fabric fabric_;
  CollectiveChoice choice_;
  std::vector<std::vector<DeviceId>> groups_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> group_index_;
  std::map<std::tuple<std::uint32_t, CollectiveKind, double, std::string>, double> times_;
};

}  // namespace stepcast
