#pragma once

namespace stepcast {

/// Version of this build, from the build system.
inline constexpr const char* version = STEPCAST_VERSION;

}  // namespace stepcast
