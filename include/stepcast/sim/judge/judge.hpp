#pragma once
#include "stepcast/sim/replay/replay.hpp"
#include "stepcast/topology/placement.hpp"
#include "stepcast/topology/platform.hpp"

namespace stepcast {

/// What the judge replays: the step with every rank for itself, and the platform that it runs on.
struct JudgeInput {
  const ReplayInput& step;  ///< its map is unfolded: of it, latencies and chosen algorithms count
  const Placement& placement;
  const Fabric& fabric;
  Platform platform;
  std::vector<std::uint32_t> host_of_rank = {};  ///< empty: the device of the rank
  bool free_communication = false;               ///< collectives take no time
};

/// The same step by the slow and plain road: every operator of every rank is
/// an execution on its host, every message and every flow of a collective a communication over
/// named links, counted message by message from the routes that SimGrid gives. Nothing is folded,
/// skipped or closed. Throws EngineError where the platform lacks a route.
/// Model: docs/models/judge.md.
Timeline judged(const JudgeInput& input);

}  // namespace stepcast
