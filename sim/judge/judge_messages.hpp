#pragma once
#include <cstdint>
#include <string>
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

}  // namespace stepcast::judge
