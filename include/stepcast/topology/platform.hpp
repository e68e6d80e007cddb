#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stepcast/topology/fabric.hpp"

/// A cluster as SimGrid knows one: named hosts, named links, and the links of each route. Page:
/// docs/models/judge.md.
namespace stepcast {

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

/// The platform as a file of SimGrid's format 4.1, which its loader reads: a zone per node
/// with a host per device, and routes between the nodes; where the way between two nodes depends on
/// the devices (rails, nodes across leaves, failed links), one zone with a route for every pair.
/// What the format cannot say stands in `prop`. Throws InputError above `most_xml_routes` routes.
std::string platform_xml(const Fabric& fabric);

/// A route takes about 200 B of the file and of SimGrid's memory each.
inline constexpr double most_xml_routes = 2e6;

}  // namespace stepcast
