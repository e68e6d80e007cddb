#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stepcast/topology/fabric.hpp"

/// A cluster as SimGrid knows one: named hosts, named links, and the links of each route. Page:
/// docs/models/judge.md.
namespace stepcast {

/// Hosts, links and routes of a SimGrid platform file, as far as the job's devices use them.
struct Platform {
  struct Host {
    std::string name;  ///< `device:17`
    std::uint32_t node = 0;
  };
  struct Link {
    std::string name;      ///< as Fabric::link_name has it
    double bandwidth = 0;  ///< usable [B/s]
    double latency = 0;    ///< [s]
  };
  std::string name;
  std::vector<Host> hosts;
  std::vector<Link> links;
  /// The links that bytes from one host to another cross, in order; indices into `links`.
  std::function<std::vector<std::uint32_t>(std::uint32_t from, std::uint32_t to)> route;
};

/// The platform of a fabric, with its faults. The fabric outlives it.
Platform platform_of(const Fabric& fabric);

/// The platform as a file of SimGrid's format 4.1, which its loader reads: devices, switches and
/// routes between these, of which SimGrid finds the shortest way. Such a file grows with the
/// devices and not with their pairs, but for pairs inside nodes that are no grid and for platform
/// files. What the format cannot say stands in `prop`. Throws InputError above `most_xml_routes`
/// routes.
std::string platform_xml(const Fabric& fabric);

/// A route takes about 200 B of the file and of SimGrid's memory each.
inline constexpr double most_xml_routes = 2e6;

}  // namespace stepcast
