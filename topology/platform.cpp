#include "stepcast/topology/platform.hpp"

namespace stepcast {

Platform platform_of(const Fabric& fabric) {
  // Routes are asked for, not listed: there are as many as pairs of devices.
  Platform platform;
  platform.name = fabric.cluster().name;
  for (std::uint32_t d = 0; d < fabric.devices(); ++d)
    platform.hosts.push_back({"device:" + std::to_string(d), fabric.node_of({d}).value});
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    const Link link = fabric.link({l});
    platform.links.push_back({fabric.link_name({l}), link.bandwidth.value(), link.latency.value()});
  }
  platform.route = [&fabric](std::uint32_t from, std::uint32_t to) {
    std::vector<std::uint32_t> links;
    for (const LinkId link : fabric.route({from}, {to})) links.push_back(link.value);
    return links;
  };
  return platform;
}

}  // namespace stepcast
