#pragma once
#include <cstdint>
#include <string>

#include "stepcast/topology/platform.hpp"
#include "stepcast/topology/platform_table.hpp"

namespace stepcast {

/// The platform of a SimGrid file as SimGrid itself reads it: hosts in the order of their
/// numbers (`device:17`), links by name but for those that nobody shares (FATPIPE), and routes as
/// SimGrid finds them. A process reads at most one, and runs nothing else in SimGrid; what SimGrid
/// refuses ends the process.
Platform read_platform(const std::string& file);

/// What a platform file gives: a table, or which key of `network.platform` is wrong and why.
struct PlatformAnswer {
  PlatformTable table;
  std::string key, wrong;
};
/// What SimGrid says of the first `devices` hosts of a file whose names match a pattern: their
/// links and routes. Likewise of a process that does nothing else in SimGrid.
PlatformAnswer read_platform_table(const std::string& file, const std::string& pattern,
                                   std::int64_t devices);

/// Gives a cluster the links of the file that its `network.platform` names, which another process
/// reads; nothing without one. Throws InputError with paths behind `prefix` (`cluster.`).
void load_platform(ClusterSpec& cluster, const std::string& prefix);

}  // namespace stepcast
