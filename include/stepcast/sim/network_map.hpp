#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "stepcast/sim/engine.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/workloads/program.hpp"

/// Collectives and pipeline transfers of each rank class on classes of links: what the engine
/// shares.
namespace stepcast {

/// Ranks that start alike and see alike neighbours, one representative each.
struct RankClasses {
  std::vector<Rank> representative;  ///< by class
  std::vector<std::uint32_t> ranks;  ///< how many behave like it
};

/// One class per pipeline stage: right when all replicas of a stage are placed alike.
RankClasses classes_by_stage(const Placement& placement);

/// A flow of a class. With an empty path it can meet no other flow and takes `alone`.
struct NetworkFlow {
  double latency = 0;  ///< after its bytes [s]
  double bytes = 0;
  double alone = 0;  ///< time of the bytes when nothing else moves [s]
  std::vector<LinkUse> path;
};

struct NetworkCall {
  std::string algorithm;
  std::vector<std::vector<NetworkFlow>> phases;
  std::vector<std::uint32_t> members;  ///< classes that must arrive, ascending
  std::uint32_t owner_call =
      0;              ///< the same call in the program of members.front(), whose flows run
  bool lone = false;  ///< one class and no shared link: start + `alone` is its end
  double alone = 0;   ///< all phases with their latencies [s]
};

/// One pipeline transfer to the next (forward) or previous (backward) virtual stage.
struct NetworkHop {
  std::uint32_t peer = 0;  ///< receiving class
  NetworkFlow flow;
};

struct NetworkMap {
  std::vector<double> bandwidths;               ///< of link classes [B/s]
  std::vector<std::vector<NetworkCall>> calls;  ///< [class][StageProgram::calls index]
  std::vector<NetworkHop> forward, backward;    ///< [class]
};

struct NetworkMapInput {
  const Placement& placement;
  const Fabric& fabric;
  const RankClasses& classes;
  const std::vector<StageProgram>& programs;  ///< [stage]
  const CollectiveChoice& algorithms;
};

/// Plans every call once per class and finds, from the side of each link, which flows can meet on
/// it.
NetworkMap build_network_map(const NetworkMapInput& input);

}  // namespace stepcast
