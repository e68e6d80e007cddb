#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "stepcast/base/describe.hpp"

namespace stepcast {

/// The launch file that a scenario takes its job from: `launch`. Room import makes keys of it, and
/// every other key of the scenario counts instead of what the file says.
struct LaunchSource {
  std::string file;  ///< as written
  std::string cluster, from, deepspeed;
  std::vector<std::string> arguments, environment;  ///< of a script: $1, $2, .. and `NAME=VALUE`
  std::int64_t devices = 0;                         ///< 0: as the file says
  bool ignore_unknown = false;
};

/// The key `launch` of a scenario file.
void describe_launch_key(Visitor& visitor, LaunchSource& spec, bool& present);

}  // namespace stepcast
