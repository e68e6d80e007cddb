#pragma once
#include "stepcast/sim/network/network_map.hpp"

namespace stepcast {

/// build_network_map with every replica looked at: the reference of JobPeriod.
NetworkMap build_plain_network_map(const NetworkMapInput& input);

}  // namespace stepcast
