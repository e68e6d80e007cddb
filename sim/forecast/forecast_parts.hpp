#pragma once
#include <optional>
#include <vector>

#include "step_setup.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/replay/data_plan.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// Parts of forecast(), and what its results are held to.
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

/// Holds a finished forecast to what is conserved in every step, whatever the scenario says: the
/// layers of all chunks are the model's, no FLOP of the model is left out, the parts of a rank's
/// time add up and none is negative, and all devices together hold each state at least once. Takes
/// no longer than adding up the results. docs/models/laws.md, "In every run".
/// Throws ContractError: what is broken is a defect of Stepcast, never of the input.
void check_laws(const Scenario& scenario, const LayerTable& layers, const Forecast& forecast);

/// What the fleet adds to a step that takes `flawless` without it, on average; nothing where none
/// counts.
std::optional<FleetForecast> fleet_forecast(const StepSetup& setup, Seconds flawless);

}  // namespace stepcast
