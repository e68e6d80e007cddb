#pragma once
#include <cstdint>

namespace stepcast {

/// Of a number that its checks keep below 2^32.
inline std::uint32_t narrow(std::int64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace stepcast
