#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "entries.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/report/report.hpp"

namespace stepcast::fuzz {
namespace {

using Json = nlohmann::ordered_json;

/// Differences between two runs: what one takes more may be less.
const std::set<std::string> differences{".experts.split.cost_s", ".experts.split.hidden_s",
                                        ".experts.split.gain_s"};

/// The first number of the JSON that is infinite (null there), or less than nothing. `nullable` may
/// be null where they are not defined (docs/formats.md).
std::string wrong_number(const Json& json, const std::string& path,
                         const std::set<std::string>& nullable) {
  if (json.is_number() && json.get<double>() < 0 && !differences.contains(path))
    return path + " = " + json.dump();
  if (json.is_null() && !nullable.contains(path)) return path + " = null";
  if (!json.is_structured()) return {};
  for (const auto& [key, value] : json.items())
    if (std::string wrong = wrong_number(value, path + "." + key, nullable); !wrong.empty())
      return wrong;
  return {};
}

/// What a forecast without a model or without an interval lacks.
std::set<std::string> undefined_in(const Scenario& scenario) {
  std::set<std::string> names;
  if (scenario.synthetic)
    names = {".tokens_per_s",
             ".tokens_per_s_per_device",
             ".model_flops_per_step",
             ".tflops_per_device",
             ".mfu",
             ".hfu",
             ".mfu_peak_flops_per_s",
             ".fits_memory",
             ".memory_fit"};
  if (scenario.synthetic || !scenario.cluster.interval)
    names.insert({".step_time_s_low", ".step_time_s_high"});
  if (scenario.synthetic || !scenario.cluster.interval || !scenario.cluster.interval->memory)
    names.insert({".memory_peak_bytes_low", ".memory_peak_bytes_high"});
  // intervals of no told class, those of this device's own rows, and exact ones
  for (const std::string of : {".step_time_interval_of", ".memory_interval_of"})
    names.insert({of, of + ".note", of + ".why"});
  return names;
}

}  // namespace

bool is_small(const Scenario& scenario) {
  constexpr double most_ranks = 64, most_units = 20'000, most_layers = 1000, most_steps = 4;
  const ParallelPlan& plan = scenario.workload.plan;
  const double units = static_cast<double>(scenario.micro_batches()) *
                       static_cast<double>(plan.vpp * scenario.schedule.slices) *
                       static_cast<double>(plan.pp) * static_cast<double>(scenario.simulate.steps);
  return static_cast<double>(scenario.cluster.devices) <= most_ranks && units <= most_units &&
         static_cast<double>(scenario.workload.model.layers) <= most_layers &&
         static_cast<double>(scenario.simulate.steps) <= most_steps && !scenario.stalls.spread &&
         !scenario.schedule.data.documents;
}

std::string wrong_forecast(Scenario scenario) {
  scenario.simulate.sharing = Sharing::incremental;  // SimGrid makes one run per process
  const Forecast result = forecast(scenario);
  if (!(std::isfinite(result.step_time.value()) && result.step_time.value() >= 0))
    return "step_time = " + std::to_string(result.step_time.value());
  const Json json = Json::parse(report_json(scenario, result, {}));
  return wrong_number(json.contains("result") ? json["result"] : json, "", undefined_in(scenario));
}

}  // namespace stepcast::fuzz
