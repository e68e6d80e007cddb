#pragma once
#include <optional>

#include "stepcast/sim/network/kept_network_map.hpp"
#include "stepcast/sim/scenario/scenario.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// While it lives, forecasts of this scenario, and of those that differ from it in what devices and
/// hosts take, share one network map; so do processes that are forked meanwhile. They are the same
/// as without it.
class KeptNetwork {
 public:
  /// `layers`: on which stages (layers_of()).
  KeptNetwork(const Scenario& scenario, const LayerTable& layers);

 private:
  std::optional<KeptNetworkMap> map_;  ///< nothing where links have faults or nodes differ
};

}  // namespace stepcast
