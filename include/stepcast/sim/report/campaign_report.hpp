#pragma once
#include <string>

#include "stepcast/sim/forecast/campaign.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// A campaign for people: when it ends, where the time goes, what it costs.
std::string campaign_text(const Scenario& scenario, const CampaignForecast& campaign);
/// A campaign with its question, in SI units (docs/formats.md).
std::string campaign_json(const Scenario& scenario, const CampaignForecast& campaign);

}  // namespace stepcast
