#pragma once
#include <array>
#include <functional>

#include "schedule.hpp"

/// What NCCL's protocols add to the bytes of its rings and trees: docs/models/collectives.md,
/// "NCCL".
namespace stepcast::collectives {

/// How many messages in a row cross each part of the fabric; of channels of a dragonfly, the
/// seconds that those on the way take together.
using Hops = std::array<double, link_tiers>;
void add_hop(Hops& hops, const Wiring& wiring, DeviceId a, DeviceId b, double times = 1);

/// One ring or tree, as it goes through the network once.
struct ChunkPath {
  Hops first{};  ///< before every link is busy
  Hops rest{};   ///< beside the bytes, as far as the protocol allows
  double passes = 1;
  Bytes channel{0};  ///< what a channel carries of it, if a NIC is given whole chunks; else 0
};

/// A call whose chunks follow each other over the same links.
struct Chunked {
  std::string algorithm;
  std::function<void(Step&)> load;  ///< all of its bytes
  std::function<ChunkPath(const Wiring&)> path;
  std::size_t period = 0;  ///< of members that do the same, as in CollectiveCall; 0: none do
  double near = 1;         ///< part of the links inside nodes that it reaches in any protocol
};
/// Of an all-reduce, as `near`.
double reduced_part(const Fabric& fabric, Group members);
/// One phase, which takes alone what the cheapest of NCCL's protocols takes.
CollectivePlan plan_chunked(const Fabric& fabric, Group members, NetworkForm form,
                            const Chunked& call);

}  // namespace stepcast::collectives
