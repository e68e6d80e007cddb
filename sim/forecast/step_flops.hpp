#pragma once
#include <vector>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/replay/data_plan.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// FLOPs of one step over all devices. Definitions: docs/formats.md.
struct StepFlops {
  double model = 0;     ///< without recomputation, dropped tokens and masked pairs
  double executed = 0;  ///< of every operator
};
/// Of a scenario with a model and its programs by stage; they depend on neither the replay nor the
/// fold. `dropped`: part of the (token, expert) pairs that experts drop, mean over the layers.
/// `loads`: nothing without documents.
StepFlops step_flops(const Scenario& scenario, const std::vector<StageProgram>& programs,
                     double dropped, const AttentionLoads* loads);

/// The devices of the job over one step of the mean rank. The cluster says what a device takes.
/// Model: docs/models/clocks.md.
Energy step_energy(const Scenario& scenario, const Forecast& forecast);

}  // namespace stepcast
