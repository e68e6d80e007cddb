#include "stepcast/sim/replay/lanes.hpp"

#include <cmath>
#include <map>
#include <optional>

#include "../large_pages.hpp"
#include "lane_replayer.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

std::uint64_t seed_of(const StallPlan& plan) {
  return static_cast<std::uint64_t>(plan.spec.compute_jitter->seed);
}

bool only_draws_segments(const StallPlan& plan) {
  const StallsSpec& spec = plan.spec;
  // A factor that never changes is as good as a speed; changes in time are not.
  const bool steady =
      std::ranges::all_of(plan.profiles, [](const SpeedProfile& p) { return p.steady(); });
  return spec.compute_jitter && spec.compute_jitter->sigma > 0 && steady &&
         plan.gc_offset.empty() && !spec.allocator_pauses && !spec.data_loader &&
         !spec.checkpoint && !plan.idle_clock && !plan.power_cap;
}

/// Calls meet in the order of issue where each kind of group has one stream, whoever calls.
bool kinds_have_one_stream(const ReplayInput& input) {
  std::map<GroupKind, Stream> stream_of;
  for (const StageProgram& program : input.programs)
    for (const StageCall& call : program.calls)
      if (!call.over_host_link() &&
          stream_of.try_emplace(call.group, call.stream).first->second != call.stream)
        return false;
  // Calls of a trace have groups of their own, met once.
  return std::ranges::none_of(input.network.calls, [](const NetworkCall& c) { return c.once; });
}

/// Copies between devices and their hosts share links, so that they meet in the engine.
bool copies_meet(const ReplayInput& input) {
  const std::vector<Stage>& stages = input.network.classes.stage;
  for (std::size_t r = 0; r < stages.size(); ++r) {
    const auto& calls = input.programs[stages[r].value].calls;
    for (std::size_t c = 0; c < calls.size(); ++c)
      if (calls[c].over_host_link() && !input.network.calls[input.network.call_of[r][c]].lone)
        return true;
  }
  return false;
}

}  // namespace

bool may_run_in_lanes(const ReplayInput& input, const StallPlan& stalls) {
  return only_draws_segments(stalls) && input.steps == 1 && input.record == nullptr &&
         input.loads == nullptr && input.kinds == nullptr && input.await_inputs &&
         std::ranges::none_of(input.programs, compiles) && input.sharing != Sharing::simgrid &&
         kinds_have_one_stream(input) && !copies_meet(input);
}

std::vector<bool> shared_streams(const ReplayInput& input) {
  std::vector<bool> shared(streams, false);
  for (std::size_t r = 0; r < input.network.classes.stage.size(); ++r) {
    const auto& calls = input.programs[input.network.classes.stage[r].value].calls;
    // One call that may meet others puts the whole stream on the engine.
    for (std::size_t c = 0; c < calls.size(); ++c) {
      if (!input.network.calls[input.network.call_of[r][c]].lone)
        shared[static_cast<std::size_t>(calls[c].stream)] = true;
    }
  }
  return shared;
}

/// Lanes that no plan has run the last one again.
LaneReplayer::LaneReplayer(const ReplayInput& input, std::span<const StallPlan> plans)
    : input_{input},
      map_{input.network},
      sigma_{plans.front().spec.compute_jitter->sigma},
      host_is_free_{host_is_free(input)},
      plans_{plans.size()},
      shared_{shared_streams(input)} {
  expect_allocations(map_.classes.representative.size() * lanes * room_per_rank);
  std::uint32_t groups = 0;
  for (const NetworkCall& call : map_.calls)
    if (call.group != NetworkCall::no_group) groups = std::max(groups, call.group + 1);
  open_meetings_.resize(groups + 1);
  // Code is laid out per stage and variant and shared by all ranks of it.
  for (std::uint32_t s = 0; s < input.programs.size(); ++s) {
    auto& variants = codes_.emplace_back();
    for (std::uint32_t v = 0; v <= input.programs[s].variants.size(); ++v)
      variants.push_back(step_code(input, Stage{s}, v, shared_));
  }
  const auto plan = [&](std::size_t l) -> const StallPlan& {
    return plans[std::min(l, plans.size() - 1)];
  };
  // Unused lanes repeat the last plan, so that vectors are always full.
  for (std::size_t l = 0; l < lanes; ++l) {
    seeds_.push_back(seed_of(plan(l)));
    Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>(map_, input.sharing));
    lane.client.replayer = this;
    lane.client.lane = l;
  }
  ranks_.reserve(map_.classes.representative.size());
  for (RankIndex r = 0; r < map_.classes.representative.size(); ++r) {
    const std::uint32_t stage = map_.classes.stage[r].value;
    const StageProgram& program = input.programs[stage];
    const std::uint32_t variant = map_.classes.variant[r];
    LaneRank& rank = ranks_.emplace_back(codes_[stage][variant], program.slots);
    rank.program = &program;
    rank.call_of = map_.call_of[r].data();
    rank.id = map_.classes.representative[r];
    rank.variant = variant;
    for (std::size_t l = 0; l < lanes; ++l) {
      // Speeds of the seed; a steady profile is one factor.
      const SpeedFactors speed = plan(l).speed_of(rank.id);
      rank.speeds.device[l] = speed.device * plan(l).profile_of(rank.id).factor_at(0);
      rank.speeds.host[l] = speed.host;
    }
  }
}

std::vector<std::optional<Seconds>> LaneReplayer::run() {
  for (auto r = static_cast<RankIndex>(ranks_.size()); r-- > 0;) wake(r);
  work();
  const auto certain = [&](std::size_t l) { return lanes_[l]->certain; };
  std::vector<std::optional<Seconds>> steps(plans_);
  while (done_ < ranks_.size()) {
    // When no lane is certain any more, there is nothing left to find out.
    bool any = false;
    for (std::size_t l = 0; l < plans_; ++l) any = any || certain(l);
    if (!any || !step_engines()) return steps;
    work();
  }
  for (std::size_t l = 0; l < plans_; ++l)
    if (certain(l)) steps[l] = Seconds{end_[l]};
  return steps;
}

/// Where all lanes hold each other back, the one that has the least to fear takes one step all the
/// same: of what is to come it goes least beyond its bound. Whether that was too far, posts tell.
/// False: nothing is to come, and ranks wait for ever.
bool LaneReplayer::step_engines() {
  refresh_bounds();
  const auto run = [&](Lane& lane) {
    lane.in_event = true;
    const bool moved = lane.engine.run_before(lane.client, lane.bound);
    lane.in_event = false;
    return moved;
  };
  bool moved = false;
  // Each engine up to its bound, in turn.
  for (auto& lane : lanes_) moved = run(*lane) || moved;
  if (moved) return true;
  const auto beyond = [](const auto& lane) {
    const double next = lane->engine.next_date();
    if (std::isfinite(next) && !lane->certain) return -unknown_date;  // it counts no more
    return std::isfinite(next) ? next - lane->bound : unknown_date;
  };
  // Least beyond its bound: the step that is most likely harmless.
  Lane& next = **std::ranges::min_element(lanes_, {}, beyond);
  next.bound = std::nextafter(next.engine.next_date(), unknown_date);
  return run(next);
}

std::vector<std::optional<Seconds>> replay_in_lanes(const ReplayInput& input,
                                                    std::span<const StallPlan> plans) {
  expects(!plans.empty() && plans.size() <= lanes, "a lane per plan");
  ReplayInput own = input;
  // Whatever is asked of the stalls beyond draws is the same in all plans.
  own.stalls = &plans.front();
  try {
    return LaneReplayer(own, plans).run();
  } catch (const InputError&) {  // a replay alone says which plan does not end, and why
    return std::vector<std::optional<Seconds>>(plans.size());
  }
}

}  // namespace stepcast
