#include "step_energy.hpp"

namespace stepcast {

/// Devices of the cluster that have no rank are idle for the step.
Energy step_energy(const Scenario& scenario, const Forecast& forecast) {
  const PowerSpec& power = *scenario.cluster.device.power;
  const auto ranks = static_cast<double>(scenario.workload.plan.world());
  const double unused = static_cast<double>(scenario.cluster.devices) - ranks;
  const RankTimes& mean = forecast.mean;
  const double computing = mean.computing.value();
  const double communicating = mean.exposed_total().value();
  const double step = forecast.step_time.value();
  const double idle = ranks * (step - computing - communicating) + unused * step;
  // Power that was saved up is spent all the same: the same work takes the same energy.
  const double worked =
      scenario.cluster.device.power_cap ? computing - mean.clock.value() : computing;
  return {.idle = power.overhead * power.idle * idle,
          .computing = power.overhead * power.computing * ranks * worked,
          .communicating = power.overhead * power.communicating * ranks * communicating};
}

}  // namespace stepcast
