#pragma once
#include "stepcast/sim/stalls.hpp"

namespace stepcast {

/// Uplinks of one leaf: its ports over the oversubscription, which need not be whole.
double uplinks(const NetworkSpec& network);
bool is_trunk(const Fabric& fabric, LinkId link);

}  // namespace stepcast
