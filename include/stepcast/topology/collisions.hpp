#pragma once
#include <cstdint>
#include <optional>

#include "stepcast/topology/network_spec.hpp"

/// Flows that a hash puts on the uplinks of leaves collide: the fullest uplink sets the pace.
/// Model: docs/models/collisions.md.
namespace stepcast {

/// So many parts of flows are put onto so many uplinks of each of so many trunks.
struct HashedParts {
  std::int64_t parts = 1;    ///< of flows, on each trunk
  std::int64_t uplinks = 1;  ///< of each trunk
  std::int64_t trunks = 1;
};

/// The expected number of parts on the fullest uplink of all, when each part takes the
/// freest of `choices` uplinks of its trunk, 1 or 2, that are drawn evenly. Of one
/// choice it is exact up to 256 parts and within 4 % of the mean of draws beyond; of two within 7
/// %.
double fullest_uplink(const HashedParts& hashed, int choices);

/// The number of parts on the fullest uplink of one trunk when one hash is drawn. Parts
/// that come later do not change where the earlier ones lie. `trunk` and `purpose` tell draws
/// apart.
std::int64_t drawn_fullest_uplink(const HashedParts& hashed, int choices, std::uint64_t seed,
                                  std::uint32_t trunk, std::uint32_t purpose);

/// Uplinks of one choice or two: those of ecmp and adaptive; ideal has none.
int routing_choices(NetworkSpec::Routing routing);

}  // namespace stepcast
