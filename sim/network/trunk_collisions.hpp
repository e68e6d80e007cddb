#pragma once
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "job_graph.hpp"
#include "stepcast/topology/collisions.hpp"

namespace stepcast {

/// What collisions on the uplinks of leaves do to flows that cross a trunk: flows of one kind of
/// group and one phase of its nth call are on the way together, whatever group they are of, and
/// each is as slow as the fullest uplink makes it (docs/models/collisions.md).
class TrunkCollisions {
 public:
  TrunkCollisions(const NetworkMapInput& input, const JobGraph& graph);

  /// By flow that is hashed on that link, what its byte takes on the fullest uplink [s]; flows of
  /// an object are numbered from `first_of` it.
  std::map<std::uint32_t, double> on(std::uint32_t link,
                                     const std::function<std::uint32_t(std::uint32_t)>& first_of);
  /// False for a trunk that is there for its collisions only: evenly loaded it carries what all
  /// NICs below it send.
  bool can_fill(std::uint32_t link) const;
  /// The most that an uplink was found to carry, in senders at their full rate; 0: nothing hashed.
  double fullest() const { return fullest_; }

 private:
  /// Kind of group or channel, call, phase.
  using Together = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  /// [pattern][slot] of which call and phase it is, and what its busiest NIC has per byte.
  struct Slot {
    std::uint32_t call = 0, phase = 0;
    double of_nic = 0;
  };

  Together together(const JobGraph::Object& object, std::uint32_t slot) const;
  double of_nic(const JobGraph::Object& object, std::uint32_t slot) const;
  void read_patterns();
  void count_senders();
  double fullest_of(const Together& key, double senders);

  const NetworkMapInput& input_;
  const JobGraph& graph_;
  int choices_;
  std::vector<std::vector<Slot>> slots_;
  std::vector<std::map<Together, double>> senders_;                ///< [link] empty but on trunks
  std::map<Together, std::vector<std::uint32_t>> trunks_;          ///< links that they load
  std::map<std::pair<std::int64_t, std::int64_t>, double> means_;  ///< by parts and trunks
  double fullest_ = 0;
};

}  // namespace stepcast
