#pragma once
#include <map>
#include <vector>

#include "stepcast/sim/engine/reference_world.hpp"
#include "stepcast/sim/judge/judge.hpp"

namespace stepcast::judge {

/// Phases of a call, the flows of each over the links that SimGrid's routes load.
using Phases = std::vector<std::vector<ReferenceWorld::Part>>;

/// A group of ranks and its calls: the n-th of a kind, by the program of its first member, is the
/// n-th that each member makes.
struct Group {
  std::size_t members = 0;
  std::vector<Phases> calls;
};

/// All collectives of a job, counted before it runs.
class Calls {
 public:
  Calls(const JudgeInput& input, ReferenceWorld& world) : input_{input}, world_{world} {}

  /// Nothing where the group calls nothing.
  const Group* group(GroupKind kind, Rank rank) const;
  /// Plans every call of every rank.
  void plan_all();

 private:
  /// Bytes over links; `planned` as the links are when nothing has failed.
  struct Load {
    std::map<std::uint32_t, double> actual, planned;
    double bytes = 0;  ///< of the flow: over its members' fullest link, of each round
  };
  std::vector<std::vector<Load>> loads(const std::vector<std::uint32_t>& hosts,
                                       const CollectiveCall& call, const std::string& algorithm);
  double seconds(const Load& load) const;
  Phases plan(const std::vector<Rank>& members, const StageCall& call, const NetworkCall& named);
  ReferenceWorld::Part part(const Load& load, double latency);

  const JudgeInput& input_;
  ReferenceWorld& world_;
  std::map<std::pair<GroupKind, std::uint64_t>, Group> planned_;
};

}  // namespace stepcast::judge
