#include "held_core_checks.hpp"

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// Cores of the host count with what each of them moves.
void check_host_cores(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  const auto key = [&](const char* name) { return prefix + name; };
  checks.require(cluster.host.cores > 0 || cluster.host.core_bandwidth.value() <= 0,
                 key("host.cores.bandwidth"),
                 "is given but host.cores.count is 0, allowed: 0B/s, or a count");
  checks.require(cluster.host.cores == 0 || cluster.host.core_bandwidth.value() > 0 ||
                     checks.given(key("host.cores.bandwidth")),
                 key("host.cores.count"),
                 "is " + count_text(cluster.host.cores) +
                     " but counts only with host.cores.bandwidth, allowed: 0, or with it");
}

}  // namespace

/// Some cores have to be left to what is computed meanwhile.
void check_held_cores(const ClusterSpec& cluster, const std::string& prefix, Checks& checks) {
  check_host_cores(cluster, prefix, checks);
  const HeldCores& cores = cluster.collectives.cores;
  const std::string at = prefix + "collectives.cores.";
  const auto fits = [&](const char* name, double held) {
    checks.require(held < static_cast<double>(cluster.device.cube_cores), at + name,
                   "is " + shortest(held) + ", allowed: less than the " +
                       count_text(cluster.device.cube_cores) + " of device.cores.cube");
  };
  fits("node", cores.node);
  fits("gather_pieces", cores.gather_pieces);
  fits("reduce_pieces", cores.reduce_pieces);
  fits("deepep", cores.deepep);
  fits("hybridep", cores.hybridep);
  checks.require(cores.node > 0 || !(cores.network > 0), at + "network",
                 "is " + shortest(cores.network) +
                     " but never more than collectives.cores.node, which is 0, allowed: 0");
}

}  // namespace stepcast
