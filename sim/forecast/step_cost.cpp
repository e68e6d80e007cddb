#include "stepcast/sim/forecast/step_cost.hpp"

#include <algorithm>

namespace stepcast {

std::optional<StepCost> step_cost(const Scenario& scenario, const Forecast& forecast) {
  if (!scenario.cluster.costs) return {};
  const Bill bill = bill_of(Fabric(scenario.cluster));
  // Without power figures devices cost nothing to run here; the parts may still draw.
  const double devices = forecast.energy ? forecast.energy->step() : 0;
  StepCost cost;
  cost.step = cost_of(*scenario.cluster.costs, bill, forecast.step_time, devices);
  cost.joules = devices + bill.power() * forecast.step_time.value();
  if (!scenario.synthetic)
    cost.tokens = static_cast<double>(scenario.workload.training.global_batch) *
                  static_cast<double>(scenario.workload.training.sequence);
  return cost;
}

/// Devices take no less than they do in the state that takes least.
double least_power(const Scenario& scenario) {
  const auto& power = scenario.cluster.device.power;
  if (!power) return 0;
  const double least = std::min({power->idle, power->computing, power->communicating});
  return power->overhead * least * static_cast<double>(scenario.cluster.devices);
}

double least_cost_rate(const Scenario& scenario) {
  const ClusterSpec& cluster = scenario.cluster;
  // The rate of a second: prices written off, and the least that can be drawn.
  return cost_of(*cluster.costs, bill_of(Fabric(cluster)), Seconds{1}, least_power(scenario));
}

}  // namespace stepcast
