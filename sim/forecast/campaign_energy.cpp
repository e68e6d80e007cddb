#include "campaign_energy.hpp"

#include "step_setup.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

double working_power(const Scenario& scenario) {
  Scenario calm = scenario;
  // Draws and checkpoints are the campaign's; what is left is work.
  calm.stalls = without_draws(calm.stalls);
  calm.stalls.checkpoint.reset();
  const auto power = [&] {
    const Forecast step = forecast(calm);
    return step.energy->step() / step.step_time.value();
  };
  if (!needs_simgrid(calm)) return power();
  WorkerAnswer answer;
  run_in_workers(
      1, 1, [&](std::size_t) { return shortest(power()); },
      [&](const WorkerAnswer& a) { answer = a; });
  const auto watts = parse_number(answer.text);
  if (answer.failed() || !watts) throw_failure("the power of a step", answer);
  return *watts;
}

double campaign_energy(const Scenario& scenario, double working, const CampaignRun& mean) {
  const PowerSpec& power = *scenario.cluster.device.power;
  const auto idle = [&](std::int64_t devices) {
    return power.overhead * power.idle * static_cast<double>(devices);
  };
  // Work that is lost takes as much as work that is kept.
  const Seconds busy = mean.computing + mean.lost + mean.writing;
  // Devices that wait are idle; spare nodes are so all the time.
  return working * busy.value() + idle(scenario.cluster.devices) * (mean.wall - busy).value() +
         idle(scenario.campaign->spares * scenario.cluster.node_devices) * mean.wall.value();
}

}  // namespace stepcast
