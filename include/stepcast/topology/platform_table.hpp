#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepcast/base/units.hpp"

/// What a platform file of SimGrid's says of the devices of a cluster. Model:
/// docs/models/platform.md.
namespace stepcast {

/// A platform as plain numbers, which one process hands to another.
struct PlatformTable {
  struct Link {
    std::string name;  ///< as the file has it, `_UP` or `_DOWN` behind it where it has two halves
    BytesPerSecond bandwidth{0};
    Seconds latency{0};
  };
  std::vector<std::string> hosts;      ///< one for each device, in the order of the file
  std::vector<Link> links;             ///< those that some route crosses
  std::vector<std::uint64_t> first;    ///< [from * hosts + to], and the end: into `crossed`
  std::vector<std::uint32_t> crossed;  ///< indices of links

  std::uint32_t devices() const { return static_cast<std::uint32_t>(hosts.size()); }
  /// In order; none from a device to itself.
  std::span<const std::uint32_t> route(std::uint32_t from, std::uint32_t to) const {
    const std::size_t pair = std::size_t{from} * hosts.size() + to;
    return {crossed.data() + first[pair], crossed.data() + first[pair + 1]};
  }
};

/// Its routes are asked for pair by pair: so many devices take 1 million of them, and about 30 MB.
inline constexpr std::int64_t most_platform_devices = 1024;

}  // namespace stepcast
