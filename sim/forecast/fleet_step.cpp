#include <algorithm>

#include "forecast_parts.hpp"
#include "stepcast/sim/replay/fleet_pace.hpp"
#include "stepcast/sim/replay/worst_replicas.hpp"

namespace stepcast {
namespace {

/// Steps that draws make irregular are not replayed twice: the formula of the pipeline says what
/// the pace costs.
Seconds estimated(const StepSetup& setup, const SpeedFactors& pace) {
  const PaceEstimate estimate(setup.programs, setup.scenario.pipeline_shape());
  const std::size_t stages = setup.programs.size();
  return Seconds{estimate(std::vector(stages, pace)) -
                 estimate(std::vector(stages, SpeedFactors{}))};
}

/// All ranks go at the pace, so that they remain alike.
Seconds replayed_at(const StepSetup& setup, StallPlan plan, const SpeedFactors& pace) {
  if (plan.speed.empty()) plan.speed.assign(plan.ranks, SpeedFactors{});
  for (SpeedFactors& speed : plan.speed) {
    speed.device *= pace.device;
    speed.host *= pace.host;
  }
  if (setup.scenario.simulate.sharing != Sharing::simgrid) return setup.replayed(plan).step_time;
  // A process makes at most one run in which SimGrid shares flows; the own solver agrees with it.
  Scenario own = setup.scenario;
  own.simulate.sharing = Sharing::automatic;
  return StepSetup(own, setup.loads, setup.ideal, false).replayed(plan).step_time;
}

}  // namespace

bool counts_fleet(const Scenario& scenario) {
  const std::optional<FleetSpec>& fleet = scenario.cluster.fleet;
  // Times that are given hold their devices, the judge runs one step, and a spread is drawn.
  return fleet && !fleet->flawless() && !scenario.stalls.spread && !scenario.synthetic &&
         !scenario.graph && scenario.simulate.engine != StepEngine::simgrid;
}

std::optional<FleetForecast> fleet_forecast(const StepSetup& setup, Seconds flawless) {
  const Scenario& scenario = setup.scenario;
  if (!counts_fleet(scenario)) return {};
  const StallPlan own = setup.stalls(scenario.stalls);
  const FleetPace pace = fleet_pace(*scenario.cluster.fleet, setup.placement, setup.programs,
                                    scenario.pipeline_shape(), own, scenario.cluster.node_devices);
  FleetForecast result{.flawless = flawless, .pace = pace.mean};
  // A loader that is slower than the step hides what slow devices cost, which only a replay sees.
  const bool replays = !own.irregular() || scenario.stalls.data_loader;
  const Seconds cost =
      replays ? replayed_at(setup, own, pace.mean) - flawless : estimated(setup, pace.mean);
  // Rounding alone could make a fleet faster.
  result.cost = std::max(cost, Seconds{0});
  // Around the mean the step grows with the pace of the devices.
  const double mean = pace.mean.device - 1;
  const auto at = [&](double device) {
    return flawless + (mean > 0 ? std::max(0.0, (device - 1) / mean) : 1) * result.cost;
  };
  result.low = at(pace.low);
  result.high = at(pace.high);
  return result;
}

}  // namespace stepcast
