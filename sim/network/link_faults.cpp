#include "stepcast/sim/network/link_faults.hpp"

#include <map>
#include <set>

#include "stepcast/base/errors.hpp"
#include "stepcast/topology/planes.hpp"

namespace stepcast {

/// Detours are found when all failed links are known, so that none leads over another failed one.
LinkFaults link_faults(const StallsSpec& spec, const Fabric& intact) {
  LinkFaults faults;
  // Degraded first: a plane lost on a degraded port takes its part of what is left.
  for (const auto& degraded : spec.degraded_links) {
    for (const LinkId link : find_links(intact, degraded.link))
      faults.bandwidth_factor[link.value] = degraded.bandwidth_factor;
  }
  std::set<std::uint32_t> failed;
  std::map<PlaneSet, std::size_t> planes;
  // A trunk is a bundle of uplinks; losing some leaves the others.
  const double ports = uplinks(intact.cluster().network);
  for (const auto& broken : spec.failed_links) {
    if (const auto plane = plane_name(broken.link)) ++planes[plane->set];
    for (const LinkId link : find_links(intact, broken.link)) {
      // A port of several planes fails only when all of them are lost.
      const auto bundle = static_cast<double>(planes_of(intact.cluster(), intact.link(link).kind));
      const auto lost = static_cast<double>(broken.ports);
      if (is_trunk(intact, link)) {
        faults.bandwidth_factor[link.value] = (ports - lost) / ports;
      } else if (lost < bundle) {
        faults.bandwidth_factor[link.value] = (bundle - lost) / bundle;
      } else {
        failed.insert(link.value);
      }
    }
  }
  for (const auto& [set, lost] : planes) lose_planes(intact, set, lost, faults);
  // Only now all failed links are known.
  for (const std::uint32_t link : failed) {
    faults.detour[link] = detour_around(intact, LinkId{link}, failed);
    expects(!faults.detour[link].empty(), "a failed link has a way around");
  }
  return faults;
}

}  // namespace stepcast
