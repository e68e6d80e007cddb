#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "sim/in_child.hpp"
#include "sim/replay/random_job.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/judge/judge.hpp"

/// One job by the fast path and by SimGrid alone. docs/models/judge.md.
namespace stepcast::testing {

inline constexpr double agreement = 1e-6;
/// Where the fast path rounds loads to a 1024th of a link's; `engine: simgrid` refuses these jobs.
inline constexpr double rounded_agreement = 1e-4;
inline constexpr double no_route = -1;

/// What a test does to the platform or to who lives where before the judge runs.
struct Sabotage {
  std::function<void(Platform&)> of_platform = [](Platform&) {};
  std::vector<std::uint32_t> host_of_rank = {};
};

inline std::vector<double> numbers_of(const Timeline& t) {
  std::vector<double> parts;
  for (const RankTimes& times : t.classes) {
    for (const Seconds part : {times.computing, times.bubble, times.host_stall, times.compile_stall,
                               times.other_idle, times.communication})
      parts.push_back(part.value());
    for (const Seconds part : times.exposed) parts.push_back(part.value());
  }
  parts.push_back(t.step_time.value());
  return parts;
}

/// Unfolded, so that the parts are those of every rank.
inline std::vector<double> step_of(const Job& job, bool by_judge, const Sabotage& sabotage = {},
                                   ScheduleSpec::PointToPoint p2p = {}) {
  const Fabric fabric(job.cluster, job.faults);
  const Placement placement(job.plan);
  const NetworkMap network = build_network_map(
      {placement, fabric, job.programs, job.algorithms, Fold::off, {}, job.form, {}});
  const auto orders = stage_orders(pipeline_schedule(job.schedule), job.shape);
  const ReplayInput input{.programs = job.programs,
                          .network = network,
                          .host = job.cluster.host,
                          .shape = job.shape,
                          .orders = orders,
                          .p2p = p2p,
                          .steps = job.steps};
  if (!by_judge) return numbers_of(replay(input));
  Platform platform = platform_of(fabric);
  sabotage.of_platform(platform);
  try {
    return numbers_of(judged({input, placement, fabric, platform, sabotage.host_of_rank}));
  } catch (const EngineError& error) {
    if (std::string(error.what()).find("has no route") == std::string::npos) throw;
    return {no_route};
  }
}

/// The largest difference of any part of any rank, over the step; infinite where the judge failed.
inline double difference(const Job& job, const Sabotage& sabotage = {},
                         ScheduleSpec::PointToPoint p2p = {}) {
  const auto fast = in_child([&] { return step_of(job, false, {}, p2p); });
  const auto judge = in_child([&] { return step_of(job, true, sabotage, p2p); });
  if (fast.empty() || fast.size() != judge.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < fast.size(); ++i)
    largest = std::max(largest, std::abs(fast[i] - judge[i]) / fast.back());
  return largest;
}

inline bool is_rounded(const Job& job) {
  const Fabric fabric(job.cluster, job.faults);
  const Placement placement(job.plan);
  return build_network_map(
             {placement, fabric, job.programs, job.algorithms, Fold::off, {}, job.form, {}})
      .rounded;
}

}  // namespace stepcast::testing
