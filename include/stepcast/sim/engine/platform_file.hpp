#pragma once
#include <string>

#include "stepcast/topology/platform.hpp"

namespace stepcast {

/// This is the platform of a SimGrid file as SimGrid itself reads it: hosts in the order of their
/// numbers (`device:17`), links by name but for those that nobody shares (FATPIPE), and routes as
/// SimGrid finds them. A process reads at most one, and runs nothing else in SimGrid; what SimGrid
/// refuses ends the process.
Platform read_platform(const std::string& file);

}  // namespace stepcast
