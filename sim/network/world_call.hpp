#pragma once
#include "stepcast/sim/network/network_map.hpp"

namespace stepcast {

/// A call of the whole world that meets nothing: its flows take their own time. Nobody has arrived
/// yet.
NetworkCall lone_world_call(const NetworkMapInput& input, StageCall call);

}  // namespace stepcast
