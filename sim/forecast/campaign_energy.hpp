#pragma once
#include "stepcast/sim/forecast/campaign.hpp"

namespace stepcast {

/// What the job takes on average over a step without anything drawn [W]. It runs a forecast in a
/// process of its own, before this one has run any.
double working_power(const Scenario& scenario);

/// What a mean run of a campaign takes [J]: devices at the power of the step while they work or
/// repeat what was lost, idle else; those of spare nodes idle throughout. The cluster says what a
/// device takes. Model: docs/models/clocks.md.
double campaign_energy(const Scenario& scenario, double working, const CampaignRun& mean);

}  // namespace stepcast
