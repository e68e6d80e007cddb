#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/sim/forecast/seeds.hpp"

/// A campaign is a whole training run: steps, checkpoints, failures, spare nodes and slow ones that
/// are sent away. It is played many times, because its end is a matter of chance
/// (docs/models/campaign.md).
namespace stepcast {

struct Scenario;

/// What the run of a campaign is played with. Failures come at exponential distances from the last
/// event, so that a restart may fail as well.
struct CampaignModel {
  std::int64_t steps = 1;
  std::int64_t every_steps = 1;          ///< between checkpoints; `steps` and more: one at the end
  Seconds checkpoint{0};                 ///< for which training waits at each
  Seconds writing{0};                    ///< that training loses beside each, by slower steps
  Seconds restart{0};                    ///< from a failure to the first work after it
  Seconds mtbf{0};                       ///< of the whole job, above 0
  double hardware_share = 0;             ///< of the failures that take a node away
  std::int64_t spares = 0;               ///< nodes that stand by
  Seconds repair{0};                     ///< after which a node stands by again
  std::optional<Seconds> flap_distance;  ///< mean time between two flaps of any link; nothing: none
  Seconds flap{0};                       ///< for which all ranks wait at each
};

/// How fast a cluster is: one draw of its spread.
struct CampaignPace {
  Seconds step{0};                      ///< without checkpoints
  std::optional<Seconds> without_slow;  ///< once the slow nodes have left; nothing: they stay
  std::int64_t slow_nodes = 0;          ///< that leave together
};

/// Where the time of one run went; the parts add up to `wall`.
struct CampaignRun {
  Seconds wall{0};
  Seconds computing{0};  ///< steps that were kept
  Seconds saving{0};     ///< checkpoints that were kept
  Seconds writing{0};    ///< by which steps took longer beside them
  Seconds lost{0};       ///< since the last checkpoint, to be done again
  Seconds restarting{0};
  Seconds waiting{0};  ///< for a node, all spares being away
  Seconds stopped{0};  ///< while a link was down
  std::int64_t failures = 0;
  std::int64_t flaps = 0;  ///< that work met
};

/// Plays run number `run` of a seed. The slow nodes leave at the first restart that finds a
/// spare for each of them.
CampaignRun play_campaign(const CampaignModel& model, const CampaignPace& pace, std::uint64_t seed,
                          std::uint32_t run);

/// What a report says of a campaign.
struct CampaignForecast {
  struct Reached {
    double probability;
    Seconds wall;
  };

  std::int64_t steps = 0, tokens = 0, runs = 0, seeds = 0;  ///< tokens 0: a synthetic workload
  Seconds step_time{0};            ///< mean over the seeds, without checkpoints
  Seconds mtbf{0};                 ///< of the job
  Quantiles wall, device_hours;    ///< [s], [h]; spare nodes count as well
  CampaignRun mean;                ///< of all runs; `failures` rounded down
  double failures = 0, flaps = 0;  ///< mean
  std::optional<double> energy;    ///< [J], of the mean run; nothing without power of the device
  std::vector<Reached> reached;    ///< walls that a tenth, two tenths, ... of the runs met
  std::optional<double> within;    ///< share of the runs that met the date asked for
  std::optional<Quantiles> wall_low, wall_high;  ///< [s] if steps take as little or as much time
                                                 ///< as the interval of the cluster says
};

/// Forecasts the campaign of a scenario that has `campaign` and `stalls.failures`: the step
/// with `seeds` draws of its spread, then every run with one of them in turn. `within`: a date [s
/// from the beginning], nothing: none. Throws InputError with the key that is missing or that never
/// lets the run finish; else as `forecast`.
CampaignForecast forecast_campaign(const Scenario& scenario, std::int64_t seeds, int workers,
                                   std::optional<Seconds> within);

}  // namespace stepcast
