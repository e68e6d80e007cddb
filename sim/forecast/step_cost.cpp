#include "stepcast/sim/forecast/step_cost.hpp"

namespace stepcast {

std::optional<StepCost> step_cost(const Scenario& scenario, const Forecast& forecast) {
  if (!scenario.cluster.costs) return {};
  const Bill bill = bill_of(Fabric(scenario.cluster));
  const double devices = forecast.energy ? forecast.energy->step() : 0;
  StepCost cost;
  cost.step = cost_of(*scenario.cluster.costs, bill, forecast.step_time, devices);
  cost.joules = devices + bill.power() * forecast.step_time.value();
  if (!scenario.synthetic)
    cost.tokens = static_cast<double>(scenario.workload.training.global_batch) *
                  static_cast<double>(scenario.workload.training.sequence);
  return cost;
}

/// Devices take no less than idle ones.
double least_cost_rate(const Scenario& scenario) {
  const ClusterSpec& cluster = scenario.cluster;
  const auto& power = cluster.device.power;
  const double idle =
      power ? power->overhead * power->idle * static_cast<double>(cluster.devices) : 0;
  return cost_of(*cluster.costs, bill_of(Fabric(cluster)), Seconds{1}, idle);
}

}  // namespace stepcast
