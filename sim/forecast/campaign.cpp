#include "stepcast/sim/forecast/campaign.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "campaign_energy.hpp"
#include "refuse_key.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/goodput.hpp"
#include "stepcast/sim/forecast/metrics.hpp"
#include "stepcast/sim/replay/spread.hpp"
#include "stepcast/sim/scenario/scenario.hpp"
#include "stepcast/topology/cluster_spec.hpp"

namespace stepcast {
namespace {

double devices_of(const NicSpec& nic, std::int64_t node_devices) {
  return nic.per == NicSpec::Per::device ? 1 : static_cast<double>(node_devices);
}

/// What a device has of its NIC, where that is least.
BytesPerSecond least_of_a_nic(const ClusterSpec& cluster) {
  const auto share = [](const NicSpec& nic, std::int64_t node_devices) {
    return nic.link.bandwidth / devices_of(nic, node_devices);
  };
  BytesPerSecond least = share(cluster.network.nic, cluster.node_devices);
  for (const NodeKind& kind : cluster.kinds)
    least = std::min(least, share(kind.nic, kind.node_devices));
  return least;
}

/// What a cluster has beside the writing. Trunks follow NICs; channels lose the same part.
ClusterSpec beside(ClusterSpec cluster, BytesPerSecond written) {
  const auto take = [&](NicSpec& nic, std::int64_t node_devices) {
    // All devices of a NIC write over it.
    nic.link.bandwidth = nic.link.bandwidth - written * devices_of(nic, node_devices);
  };
  NicSpec& nic = cluster.network.nic;
  const BytesPerSecond whole = nic.link.bandwidth;
  take(nic, cluster.node_devices);
  // Trunks are as wide as their NICs; channels have bandwidths of their own and lose the same part.
  const double left = nic.link.bandwidth / whole;
  for (LinkSpec* channel : {&cluster.network.dragonfly.local, &cluster.network.dragonfly.global})
    channel->bandwidth = left * channel->bandwidth;
  for (NodeKind& kind : cluster.kinds) take(kind.nic, kind.node_devices);
  return cluster;
}

/// A step without anything drawn and without the checkpoint that the campaign counts itself.
Scenario calm(Scenario s) {
  s.stalls = without_draws(s.stalls);
  s.stalls.checkpoint.reset();
  return s;
}

/// The links between NICs and leaves that the job has.
std::int64_t nic_links(const ClusterSpec& cluster) {
  return cluster.network.nic.per == NicSpec::Per::device ? cluster.devices : cluster.nodes();
}

/// Throws InputError where `campaign.link_flaps` or `campaign.checkpoint_traffic` has no link to
/// act on, or more is written than a NIC carries.
void check_campaign_links(const Scenario& s) {
  const CampaignSpec& c = *s.campaign;
  const bool one_node = s.cluster.nodes() == 1;
  if (c.link_flaps && one_node)
    refuse_key(s, "campaign.link_flaps",
               "is given but a job of one node uses no NIC, allowed: none");
  if (!c.checkpoint_traffic) return;
  if (one_node)
    refuse_key(s, "campaign.checkpoint_traffic",
               "is given but a job of one node uses no NIC, allowed: none");
  if (!s.stalls.checkpoint)
    refuse_key(s, "campaign.checkpoint_traffic",
               "is given but no state is saved, allowed: none, or stalls.checkpoint");
  // What is written must leave something for training.
  const BytesPerSecond least = least_of_a_nic(s.cluster);
  if (c.checkpoint_traffic->bandwidth_per_device >= least)
    refuse_key(s, "campaign.checkpoint_traffic.bandwidth_per_device",
               "is " + human(c.checkpoint_traffic->bandwidth_per_device) +
                   ", which leaves training nothing of its NIC, allowed: less than " +
                   human(least));
}

/// What training loses while a saved state leaves over the NICs: it is written in W = bytes over
/// bandwidth, and a step takes r times as long meanwhile, so that W (1 - 1/r) is lost. Two
/// forecasts in processes of their own, before this one has run any. Model:
/// docs/models/campaign.md.
Seconds traffic_cost(const Scenario& s, int workers) {
  const auto& traffic = *s.campaign->checkpoint_traffic;
  const Seconds written = traffic.bytes_per_device / traffic.bandwidth_per_device;
  std::array<double, 2> steps{};
  // The same step with whole NICs and with what the writing leaves of them.
  run_in_workers(
      steps.size(), workers,
      [&](std::size_t busy) {
        Scenario one = calm(s);
        if (busy == 1) one.cluster = beside(one.cluster, traffic.bandwidth_per_device);
        return shortest(forecast(one).step_time.value());
      },
      [&](const WorkerAnswer& answer) {
        const auto step = parse_number(answer.text);
        if (answer.failed() || !step) throw_failure("a step beside the saving", answer);
        steps.at(answer.index) = *step;
      });
  // A step cannot gain from narrower links: shorter is rounding.
  const double slower = std::max(1.0, steps[1] / steps[0]);
  return written * (1 - 1 / slower);
}

// Below a thousandth runs would be played for ever.
constexpr double least_goodput = 1e-3;  ///< below it a campaign is said never to finish
constexpr double most_failures = 1e9;   ///< that are played, all runs together

std::int64_t tokens_per_step(const Scenario& s) {
  return s.synthetic ? 0 : s.workload.training.global_batch * s.workload.training.sequence;
}

void check_campaign(const Scenario& s) {
  if (!s.campaign)
    refuse_key(s, "campaign", "is missing, allowed: steps or tokens of the whole run");
  const CampaignSpec& c = *s.campaign;
  if (!s.stalls.failures)
    refuse_key(
        s, "stalls.failures",
        "is missing, allowed: device_mtbf and restart; without failures the date is steps times "
        "step time");
  // Exactly one of the two says how long the run is.
  if ((c.steps > 0) == (c.tokens > 0))
    refuse_key(s, c.steps > 0 ? "campaign.tokens" : "campaign.steps",
               c.steps > 0 ? "is given beside campaign.steps, allowed: one of them"
                           : "is missing and so are tokens, allowed: one of them above 0");
  if (c.tokens > 0 && s.synthetic)
    refuse_key(s, "campaign.tokens", "is given but the workload has none, allowed: campaign.steps");
  const auto& node = s.stalls.spread ? s.stalls.spread->node : std::optional<SpreadSpec::Node>{};
  if (c.evict_slow && !(node && node->slow_share > 0 && node->slow_factor > 1))
    refuse_key(s, "campaign.evict_slow",
               "is true but no node is slow, allowed: false, or stalls.spread.node.slow_share");
  check_campaign_links(s);
}

CampaignModel model_of(const Scenario& s) {
  const CampaignSpec& c = *s.campaign;
  const auto& failures = *s.stalls.failures;
  const std::int64_t tokens = tokens_per_step(s);
  CampaignModel m;
  // Steps are whole: the last one may train more tokens than asked for.
  m.steps = c.steps > 0 ? c.steps : (c.tokens + tokens - 1) / tokens;
  if (s.stalls.checkpoint) m.checkpoint = s.stalls.checkpoint->blocking_time;
  m.restart = failures.restart;
  // (1) of docs/models/goodput.md: failures of N devices come N times as often.
  m.mtbf = failures.device_mtbf / static_cast<double>(s.cluster.devices);
  m.hardware_share = c.hardware_share;
  m.spares = c.spares;
  m.repair = c.repair;
  if (c.link_flaps && c.link_flaps->per_link_hour > 0) {
    constexpr double hour = 3600;
    const auto links = static_cast<double>(nic_links(s.cluster));
    // Flaps of n links come n times as often as those of one.
    m.flap_distance = Seconds{hour / (c.link_flaps->per_link_hour * links)};
    m.flap = c.link_flaps->duration;
  }
  return m;
}

/// The nodes of a draw that are slow.
std::int64_t slow_nodes(const Scenario& s, std::int64_t offset) {
  // Only the nodes are drawn: other factors would hide which of them are slow.
  SpreadSpec only;
  only.seed = s.stalls.spread->seed + offset;
  only.node = SpreadSpec::Node{};
  only.node->slow_share = s.stalls.spread->node->slow_share;
  only.node->slow_factor = s.stalls.spread->node->slow_factor;
  const auto factors = spread_factors(only, s.cluster.devices, s.cluster.node_devices);
  std::int64_t slow = 0;
  // The factor on host time is the node's alone; its first device tells.
  for (std::size_t d = 0; d < factors.size(); d += static_cast<std::size_t>(s.cluster.node_devices))
    slow += factors[d].host > 1 ? 1 : 0;
  return slow;
}

/// The checkpoint is the campaign's, and one step of every draw is that of all its steps. A process
/// runs one forecast, so that two of them need processes of their own.
std::vector<CampaignPace> paces(const Scenario& scenario, std::int64_t seeds, int workers) {
  Scenario s = scenario;
  s.stalls.checkpoint.reset();
  // One draw needs one forecast, which this process may make.
  std::vector<CampaignPace> list(static_cast<std::size_t>(seeds));
  if (seeds == 1 && !scenario.campaign->evict_slow) {
    list[0].step = forecast(s).step_time;
  } else {
    const SeedRuns runs = run_seeds(s, seeds, workers);
    for (std::size_t i = 0; i < list.size(); ++i) list[i].step = runs.steps[i];
  }
  if (!scenario.campaign->evict_slow) return list;
  // The same draw without slow nodes, as it is after they have left.
  s.stalls.spread->node->slow_share = 0;
  const SeedRuns even = run_seeds(s, seeds, workers);
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].slow_nodes = slow_nodes(scenario, static_cast<std::int64_t>(i));
    if (list[i].slow_nodes > 0) list[i].without_slow = even.steps[i];
  }
  return list;
}

Seconds mean_step(const std::vector<CampaignPace>& list) {
  Seconds sum{0};
  for (const CampaignPace& pace : list) sum += pace.step;
  return sum / static_cast<double>(list.size());
}

/// Two states on their way at once would be another load than the one that was forecast.
void check_written(const Scenario& s, Seconds written, Seconds interval) {
  if (written > interval)
    refuse_key(s, "campaign.checkpoint_traffic",
               "takes " + human(written) + ", longer than the " + human(interval) +
                   " from one checkpoint to the next, allowed: more bandwidth, fewer bytes "
                   "or stalls.checkpoint less often");
}

/// Failures are drawn until the last step is done, which has to be some day.
void check_end(const Scenario& s, const CampaignModel& m, Seconds step) {
  const Seconds interval = step * static_cast<double>(m.every_steps);
  if (const auto& traffic = s.campaign->checkpoint_traffic)
    check_written(s, traffic->bytes_per_device / traffic->bandwidth_per_device, interval);
  // The share of the time in which no link is down.
  const double up = m.flap_distance ? *m.flap_distance / (*m.flap_distance + m.flap) : 1;
  // docs/models/goodput.md (3): a campaign that makes no progress would never end.
  const double useful = up * goodput({m.checkpoint + m.writing, m.restart, m.mtbf}, interval);
  if (!(up >= least_goodput))
    refuse_key(s, "campaign.link_flaps",
               "stop the job for " + human(m.flap) + " every " + human(*m.flap_distance) +
                   " of work, so that it never finishes, allowed: rarer or shorter flaps");
  if (!(useful >= least_goodput))
    refuse_key(s, "campaign",
               "never finishes: the job fails every " + human(m.mtbf) + " and needs " +
                   human(m.restart) + " to start again and " + human(interval) +
                   " between checkpoints, allowed: rarer failures, a shorter restart or "
                   "stalls.checkpoint more often");
  const Seconds wall = step * static_cast<double>(m.steps) / useful;
  // Every failure and every flap is played: their number bounds the work.
  const double events = wall / m.mtbf + (m.flap_distance ? wall / *m.flap_distance : 0);
  if (events * static_cast<double>(s.campaign->runs) > most_failures)
    refuse_key(s, "campaign.runs",
               "times " + shortest(std::ceil(events)) +
                   " failures and flaps each are more than 1e9, allowed: fewer runs");
}

std::vector<CampaignRun> play_all(const Scenario& s, const CampaignModel& m,
                                  std::vector<CampaignPace> list, double factor) {
  // The error of the model is one for the whole run, so that all steps take the factor.
  for (CampaignPace& pace : list) {
    pace.step = pace.step * factor;
    if (pace.without_slow) pace.without_slow = *pace.without_slow * factor;
  }
  std::vector<CampaignRun> runs;
  // Draws of the spread take turns over the runs.
  for (std::int64_t i = 0; i < s.campaign->runs; ++i)
    runs.push_back(play_campaign(m, list[static_cast<std::size_t>(i) % list.size()],
                                 static_cast<std::uint64_t>(s.campaign->seed),
                                 static_cast<std::uint32_t>(i)));
  return runs;
}

std::vector<double> walls(const std::vector<CampaignRun>& runs) {
  std::vector<double> list;
  list.reserve(runs.size());
  for (const CampaignRun& run : runs) list.push_back(run.wall.value());
  return list;
}

CampaignRun mean_of(const std::vector<CampaignRun>& runs, double& failures, double& flaps) {
  CampaignRun sum;
  const auto n = static_cast<double>(runs.size());
  // Means first, added over the parts, so that they add up to the mean wall.
  for (const CampaignRun& r : runs) {
    for (const auto part : {&CampaignRun::wall, &CampaignRun::computing, &CampaignRun::saving,
                            &CampaignRun::writing, &CampaignRun::lost, &CampaignRun::restarting,
                            &CampaignRun::waiting, &CampaignRun::stopped})
      sum.*part += r.*part / n;
    failures += static_cast<double>(r.failures) / n;
    flaps += static_cast<double>(r.flaps) / n;
  }
  sum.failures = static_cast<std::int64_t>(failures);
  sum.flaps = static_cast<std::int64_t>(flaps);
  return sum;
}

std::vector<CampaignForecast::Reached> tenths(std::vector<double> times) {
  std::ranges::sort(times);
  std::vector<CampaignForecast::Reached> list;
  for (int tenth = 1; tenth <= 10; ++tenth) {
    // Nearest rank: the wall that at least so many tenths of the runs met.
    const std::size_t rank = (times.size() * static_cast<std::size_t>(tenth) + 9) / 10;
    list.push_back({tenth / 10.0, Seconds{times[std::max<std::size_t>(rank, 1) - 1]}});
  }
  return list;
}

/// Spare nodes stand by all the time.
Quantiles device_hours(const Scenario& s, const Quantiles& wall) {
  constexpr double hour = 3600;
  const std::int64_t devices = s.cluster.devices + s.campaign->spares * s.cluster.node_devices;
  const double per_second = static_cast<double>(devices) / hour;
  return {wall.mean * per_second, wall.p10 * per_second, wall.p50 * per_second,
          wall.p90 * per_second};
}

double share_within(const std::vector<double>& times, Seconds date) {
  const auto met = std::ranges::count_if(times, [&](double t) { return t <= date.value(); });
  return static_cast<double>(met) / static_cast<double>(times.size());
}

}  // namespace

CampaignForecast forecast_campaign(const Scenario& scenario, std::int64_t seeds, int workers,
                                   std::optional<Seconds> within) {
  check_campaign(scenario);
  CampaignModel model = model_of(scenario);
  std::optional<double> working;
  // Power and traffic are forecast in processes of their own, before this one makes its run.
  if (scenario.cluster.device.power) working = working_power(scenario);
  if (scenario.campaign->checkpoint_traffic) model.writing = traffic_cost(scenario, workers);
  const std::vector<CampaignPace> list = paces(scenario, seeds, workers);
  CampaignForecast result{.steps = model.steps,
                          .tokens = model.steps * tokens_per_step(scenario),
                          .runs = scenario.campaign->runs,
                          .seeds = seeds,
                          .step_time = mean_step(list),
                          .mtbf = model.mtbf};
  // Without the section the only checkpoint is that behind the last step.
  model.every_steps = model.steps;
  if (const auto& saved = scenario.stalls.checkpoint)
    model.every_steps = std::min(model.steps, saved->steps_between(result.step_time));
  check_end(scenario, model, result.step_time);
  const std::vector<CampaignRun> runs = play_all(scenario, model, list, 1);
  result.mean = mean_of(runs, result.failures, result.flaps);
  const std::vector<double> times = walls(runs);
  result.wall = quantiles(times);
  result.device_hours = device_hours(scenario, result.wall);
  result.reached = tenths(times);
  if (working) result.energy = campaign_energy(scenario, *working, result.mean);
  if (within) result.within = share_within(times, *within);
  // The interval of the cluster moves every step by the same factor.
  if (const auto& measured = scenario.cluster.interval; measured && !scenario.synthetic) {
    const QuotientRange& range = step_range(scenario, *measured);
    result.wall_low = quantiles(walls(play_all(scenario, model, list, range.low)));
    result.wall_high = quantiles(walls(play_all(scenario, model, list, range.high)));
  }
  return result;
}

}  // namespace stepcast
