#pragma once
#include <nlohmann/json.hpp>

#include "stepcast/sim/forecast/forecast.hpp"

/// What `result` says of experts and their loads; keys in docs/formats.md. Private to sim/report.
namespace stepcast {

using ReportJson = nlohmann::ordered_json;

ReportJson quantiles_json(const Quantiles& q);
ReportJson experts_json(const ExpertForecast& e);
ReportJson load_steps_json(const LoadSteps& s);

}  // namespace stepcast
