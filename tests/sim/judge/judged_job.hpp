#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/in_child.hpp"
#include "sim/replay/random_job.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/engine/reference_world.hpp"
#include "stepcast/sim/judge/judge.hpp"
#include "temporary_files.hpp"

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
  bool through_file = false;  ///< SimGrid reads the platform from the file that is written of it
};

inline std::vector<double> numbers_of(const Timeline& t) {
  std::vector<double> parts;
  for (const RankTimes& times : t.classes) {
    for (const Seconds part : {times.computing, times.bubble, times.host_stall, times.compile_stall,
                               times.other_idle, times.communication, times.clock})
      parts.push_back(part.value());
    for (const Seconds part : times.exposed) parts.push_back(part.value());
  }
  parts.push_back(t.step_time.value());
  return parts;
}

/// By rank, the variant of its stage's program.
inline std::vector<std::uint32_t> variants_of(const Job& job, const Placement& placement) {
  std::vector<std::uint32_t> variants;
  for (std::uint32_t r = 0; r < placement.world() && !job.variant_of.empty(); ++r)
    variants.push_back(job.variant_of[placement.coordinates(Rank{r}).ep]);
  return variants;
}

/// Every other node works half as long again, and its hosts twice.
inline std::optional<KindPrograms> kinds_of(const Job& job, const Placement& placement) {
  if (!job.kinds) return {};
  const auto slower = [](std::vector<Segment>& segments) {
    for (Segment& segment : segments) {
      std::vector<OperatorCost> operators = segment.operators();
      for (OperatorCost& op : operators) {
        op.device *= 1.5;
        op.main *= 2;
      }
      segment = Segment(operators);
    }
  };
  KindPrograms kinds{{job.programs, job.programs}, {job.cluster.host, job.cluster.host}, {}};
  for (StageProgram& program : kinds.programs[1]) {
    slower(program.segments);
    for (auto& variant : program.variants) slower(variant);
  }
  kinds.hosts[1].synchronise = 40_us;
  for (std::uint32_t r = 0; r < placement.world(); ++r)
    kinds.of_rank.push_back(static_cast<std::uint32_t>(placement.device_of(Rank{r}).value /
                                                       job.cluster.node_devices % 2));
  return kinds;
}

/// All of it but what ties decide: in how many pieces a wait is written down, which of two
/// communications that began together comes first, and which was before another on a channel.
inline std::vector<double> numbers_of(const Recording& recording) {
  std::vector<double> numbers;
  const auto add = [&](auto... more) { (numbers.push_back(static_cast<double>(more)), ...); };
  const auto communication = [&](std::uint32_t c) {
    if (c == Recording::none) return add(-1, -1, -1);
    const auto& moved = recording.communications[c];
    add(moved.start, moved.end, moved.arrival);
  };
  for (const Recording::RankRecord& rank : recording.ranks) {
    add(rank.entries.size(), rank.units.size());
    for (const Recording::Entry& e : rank.entries) {
      add(e.after.main, e.after.worker, e.after.device, e.worked, e.copied, e.what, e.unit, e.kind,
          e.after_compute);
      communication(e.communication);
    }
    for (const Recording::UnitSpan& u : rank.units)
      add(u.unit.kind, u.unit.micro_batch.value, u.unit.chunk.value, u.step, u.start, u.end);
    for (const double end : rank.step_ends) add(end);
    std::map<std::pair<WaitPart, ExposedKind>, double> parts;
    for (const Recording::Piece& p : rank.pieces) parts[{p.part, p.kind}] += p.to - p.from;
    for (const auto& [part, seconds] : parts) add(part.first, part.second, seconds);
  }
  std::vector<std::vector<double>> members;
  for (const Recording::Communication& c : recording.communications)
    for (const auto* m = recording.members_of(c); m != recording.members_of(c) + c.members; ++m) {
      numbers.swap(members.emplace_back());
      add(m->rank_class, m->call, m->entry);
      add(m->arrived, c.start, c.end, c.arrival, c.network, c.channel, c.unit.micro_batch.value);
      numbers.swap(members.back());
    }
  std::ranges::sort(members);
  for (const auto& of_member : members)
    numbers.insert(numbers.end(), of_member.begin(), of_member.end());
  add(recording.end);
  return numbers;
}

enum class Compared { times, recording };

/// Unfolded, so that the parts are those of every rank.
inline std::vector<double> step_of(const Job& job, bool by_judge, const Sabotage& sabotage = {},
                                   ScheduleSpec::PointToPoint p2p = {},
                                   Compared compared = Compared::times) {
  const Fabric fabric(job.cluster, job.faults);
  const Placement placement(job.plan);
  const StallPlan stalls = plan_stalls(job.stalls, placement, job.cluster);
  const NetworkMap network = build_network_map({placement,
                                                fabric,
                                                job.programs,
                                                job.algorithms,
                                                Fold::off,
                                                {},
                                                job.form,
                                                variants_of(job, placement)});
  const auto orders = stage_orders(pipeline_schedule(job.schedule), job.shape);
  const std::optional<KindPrograms> kinds = kinds_of(job, placement);
  Recording recording;
  ReplayInput input{.programs = job.programs,
                    .network = network,
                    .host = job.cluster.host,
                    .shape = job.shape,
                    .orders = orders,
                    .p2p = p2p,
                    .stalls = stalls.any() ? &stalls : nullptr,
                    .steps = job.steps,
                    .loads = job.loads.sequences.empty() ? nullptr : &job.loads,
                    .kinds = kinds ? &*kinds : nullptr};
  if (compared == Compared::recording) input.record = &recording;
  const auto numbers = [&](const Timeline& timeline) {
    return input.record ? numbers_of(recording) : numbers_of(timeline);
  };
  if (!by_judge) return numbers(replay(input));
  Platform platform = platform_of(fabric);
  sabotage.of_platform(platform);
  const test::TemporaryFiles files;
  if (sabotage.through_file)
    read_reference_world(files.write("platform.xml", platform_xml(fabric)));
  try {
    return numbers(judged({input, placement, fabric, platform, sabotage.host_of_rank}));
  } catch (const EngineError& error) {
    if (std::string(error.what()).find("has no route") == std::string::npos) throw;
    return {no_route};
  }
}

/// The largest difference of any part of any rank, over the step; infinite where the judge failed.
inline double difference(const Job& job, const Sabotage& sabotage = {},
                         ScheduleSpec::PointToPoint p2p = {}, Compared compared = {}) {
  const auto fast = in_child([&] { return step_of(job, false, {}, p2p, compared); });
  const auto judge = in_child([&] { return step_of(job, true, sabotage, p2p, compared); });
  if (fast.empty() || fast.size() != judge.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < fast.size(); ++i)
    largest = std::max(largest, std::abs(fast[i] - judge[i]) / fast.back());
  return largest;
}

inline bool is_rounded(const Job& job) {
  const Fabric fabric(job.cluster, job.faults);
  const Placement placement(job.plan);
  return build_network_map({placement,
                            fabric,
                            job.programs,
                            job.algorithms,
                            Fold::off,
                            {},
                            job.form,
                            variants_of(job, placement)})
      .rounded;
}

}  // namespace stepcast::testing
