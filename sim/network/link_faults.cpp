#include "stepcast/sim/network/link_faults.hpp"

#include <set>

#include "stepcast/base/errors.hpp"

namespace stepcast {

/// Detours are found when all failed links are known, so that none leads over another failed one.
LinkFaults link_faults(const StallsSpec& spec, const Fabric& intact) {
  LinkFaults faults;
  for (const auto& degraded : spec.degraded_links) {
    for (const LinkId link : find_links(intact, degraded.link))
      faults.bandwidth_factor[link.value] = degraded.bandwidth_factor;
  }
  std::set<std::uint32_t> failed;
  const double ports = uplinks(intact.cluster().network);
  for (const auto& broken : spec.failed_links) {
    for (const LinkId link : find_links(intact, broken.link)) {
      if (is_trunk(intact, link)) {
        faults.bandwidth_factor[link.value] = (ports - static_cast<double>(broken.ports)) / ports;
      } else {
        failed.insert(link.value);
      }
    }
  }
  for (const std::uint32_t link : failed) {
    faults.detour[link] = detour_around(intact, LinkId{link}, failed);
    expects(!faults.detour[link].empty(), "a failed link has a way around");
  }
  return faults;
}

}  // namespace stepcast
