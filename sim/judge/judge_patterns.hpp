#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/workloads/collectives.hpp"

/// Collectives as lists of messages, written down once more for the judge: nothing here is shared
/// with workloads/collectives. Page: docs/models/judge.md.
namespace stepcast::judge {

struct Post {
  std::uint32_t from, to;  ///< devices
  double bytes;
};

/// What moves between two barriers, `times` in a row.
struct Round {
  std::vector<Post> messages;
  double times = 1;
};

/// Rounds side by side, each a flow; `apart` stands as a phase of its own, others may be one with
/// the phase before.
struct Turn {
  std::vector<Round> rounds;
  bool apart = false;
};

/// The messages of a call by the algorithm that the library chose, as reports name it. Throws
/// EngineError for an algorithm that the judge does not know.
std::vector<Turn> turns_of(const Fabric& fabric, const std::vector<std::uint32_t>& members,
                           const CollectiveCall& call, const std::string& algorithm);

using Ring = std::vector<std::uint32_t>;
using Rings = std::vector<Ring>;  ///< of one size, in lock step

/// The flat algorithms over sets in lock step, message by message.
class Patterns {
 protected:
  static double count(const auto& all) { return static_cast<double>(all.size()); }
  void then(std::vector<Post> messages, double times = 1) {
    if (times > 0) turns_.push_back({{{std::move(messages), times}}, false});
  }
  void together(std::vector<Round> rounds) { turns_.push_back({std::move(rounds), true}); }

  /// From each member of a set to each other one.
  static std::vector<Post> all_pairs(const Rings& sets, double bytes_per_pair);
  void mesh_pass(const Rings& sets, double bytes_per_pair);
  void scatter(const Rings& sets, double bytes);
  /// A reduce-scatter, or an all-gather.
  void ring_pass(const Rings& sets, double bytes);
  void one_pass(const Rings& sets, double bytes, const std::string& pattern, bool reduce);
  void all_reduce(const Rings& sets, double bytes, const std::string& pattern);
  void broadcast(const Rings& sets, double bytes, const std::string& pattern);
  void grid_exchange(const Ring& set, double bytes);
  /// Each step of a reduce-scatter or all-gather by NHR, from the nearest peers on.
  static std::vector<std::vector<Post>> nhr_steps(const Rings& sets, double bytes);

  std::vector<Turn> turns_;
  /// Sides of the grid that the devices of a node are; empty without one. Along them: rings or
  /// pairs.
  std::vector<std::uint32_t> sides_;
  bool rings_ = false;

 private:
  void grid_pass(const Rings& sets, double bytes, bool reduce);
  void nhr_pass(const Rings& sets, double bytes, bool halving);
  void halving_pass(const Rings& sets, double bytes, bool halving);
  void halving_all_reduce(const Rings& sets, double bytes);
  void exchange(const Rings& cores, const std::vector<int>& parts, double part, bool halving);
};

}  // namespace stepcast::judge
