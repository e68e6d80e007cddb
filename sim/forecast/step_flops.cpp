#include "forecast_parts.hpp"

namespace stepcast {

StepFlops step_flops(const Scenario& scenario, const std::vector<StageProgram>& programs,
                     double dropped, const AttentionLoads* loads) {
  const WorkloadSpec& workload = scenario.workload;
  // Pairs that documents mask out are nobody's work.
  const double masked = loads ? 1 - loads->mean_pairs() : 0;
  StepFlops flops;
  flops.model = model_flops_per_step(workload) - masked * model_attention_flops_per_step(workload) -
                dropped * model_expert_flops_per_step(workload);
  // Programs are those of one rank per stage.
  for (const StageProgram& program : programs)
    flops.executed += program.executed_flops - masked * program.executed_attention_flops;
  flops.executed *= static_cast<double>(workload.plan.stage_ranks());
  return flops;
}

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
