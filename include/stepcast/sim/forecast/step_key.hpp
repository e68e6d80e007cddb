#pragma once
#include <optional>
#include <string>

#include "stepcast/sim/network/kept_network_map.hpp"
#include "stepcast/sim/scenario/scenario.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// All that a step is replayed from, as bytes: scenarios with equal texts have equal step
/// times, however their devices and hosts differ. There is none where devices do more than their
/// programs say (stalls, nodes of several kinds) and where there is no model to lower (synthetic
/// workloads, task graphs) or micro-batches differ (documents). `layers`: on which stages
/// (layers_of()).
std::optional<std::string> step_key(const Scenario& scenario, const LayerTable& layers);

/// A step that was forecast, under its key; nothing where it has none.
struct KnownStep {
  std::optional<std::string> key;
  Seconds time{0};
};
/// The step time that a forecast of the scenario with these layers has. It is not simulated
/// where its key is the known one, and nothing else of the forecast is made.
Seconds step_time_beside(const KnownStep& known, const Scenario& scenario,
                         const LayerTable& layers);

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
