#include "stepcast/sim/judge/judge.hpp"

#include <algorithm>

#include "judge_rank.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast::judge {

Job::Job(const JudgeInput& input)
    : input_{input},
      world_{make_reference_world(input.platform)},
      calls_{input, world_},
      step_ends_(static_cast<std::size_t>(input.step.steps)) {
  // Calls are matched by their order among those of their kind.
  for (const StageProgram& program : input.step.programs) {
    std::array<std::uint32_t, group_kinds> next{};
    auto& ordinals = ordinal_.emplace_back();
    for (const StageCall& call : program.calls)
      ordinals.push_back(call.over_host_link() ? 0 : next[static_cast<std::size_t>(call.group)]++);
  }
  for (std::uint32_t r = 0; r < input.placement.world(); ++r) {
    // Without folding, rank and class are one number.
    expects(input.step.network.classes.class_of[r] == r, "the judge folds no ranks");
    Actors& a = ranks_.emplace_back();
    a.rank = r;
    a.stage = input.placement.stage_of(Rank{r}).value;
    a.slots.resize(program(a).slots);
    a.forwards.resize(static_cast<std::size_t>(input.step.shape.chunks));
    a.gradients = a.forwards;
  }
  // Flows must be known to SimGrid before its platform is sealed.
  calls_.plan_all();
}

std::uint32_t Job::host_of(std::uint32_t rank) const {
  // A test may move members to other hosts, to see the comparison fail.
  return input_.host_of_rank.empty() ? input_.placement.device_of(Rank{rank}).value
                                     : input_.host_of_rank[rank];
}

/// Keeps the host's actor alive until the device has finished the queued work.
void Job::add_rank(Actors& a) {
  const std::string name = "rank:" + std::to_string(a.rank);
  const std::uint32_t host = host_of(a.rank);
  // Served lanes are servants: the world ends when all hosts have ended.
  const auto served = [this, host](Lane& lane, const std::string& its_name) {
    lane.begin = [this, host, &lane, its_name] {
      world_.add_actor(
          host, its_name, [&lane] { lane.work(); }, true);
    };
  };
  served(a.device, name + ".device");
  for (std::size_t s = 0; s < streams; ++s)
    served(a.stream[s], name + ".stream" + std::to_string(s));
  for (std::size_t c = 0; c < channels; ++c)
    served(a.channel[c], name + ".channel" + std::to_string(c));
  world_.add_actor(
      host, name + ".host", [this, &a] { run_host(a); }, false);
}

Timeline Job::run() {
  for (Actors& a : ranks_) add_rank(a);
  world_.run();
  return timeline();
}

void Job::waited(Actors& a, double from, double moving, ExposedKind kind, const HostReady& host,
                 bool pipeline) {
  // The wait itself counts from when something moved; before that the rank waits for others.
  const double to = ReferenceWorld::now();
  if (to <= from) return;
  // Only that part of the movement that the compute stream has waited for.
  moving = std::clamp(moving, from, to);
  times(a).exposed[static_cast<std::size_t>(kind)] += Seconds{to - moving};
  if (moving <= from) return;
  a.log.add({from, moving, host, pipeline});
  // Of that wait, the part in which the call was late because of compiling is kept apart.
  a.lag.take(std::max(0.0, std::min(host.at, moving) - std::max(host.prompt, from)));
}

/// All members are there when the last one comes; it moves the bytes, the others wait.
void Job::meet(Actors& a, std::uint32_t call, std::uint64_t made, Issued& issued) {
  const StageCall& own = program(a).calls[call];
  const std::uint64_t group = input_.placement.group_key(own.group, Rank{a.rank});
  // The same group meets again and again: `made` counts its calls.
  auto& place = meetings_[{own.group, group, made}];
  if (!place) place = std::make_shared<Met>();
  const std::shared_ptr<Met> met = place;
  met->members.emplace_back(a.rank, &issued, own.kind, 0);
  if (met->members.size() < input_.placement.group(own.group, Rank{a.rank}).size())
    return met->over.await();
  // Taken out before the bytes move, since the next call of the group may come meanwhile.
  meetings_.erase({own.group, group, made});
  // Bytes move from when all are there: that is the start for each of them.
  for (auto& [rank, member, kind, ticket] : met->members) {
    member->start = ReferenceWorld::now();
    ticket = ranks_[rank].log.open(member->start, kind);
  }
  // Phase after phase, each until its last message has arrived.
  for (const auto& phase : calls_.phases(own.group, Rank{a.rank}, ordinal_[a.stage][call]))
    ReferenceWorld::sleep_until(world_.move(phase));
  for (const auto& [rank, member, kind, ticket] : met->members)
    ranks_[rank].log.close(ticket, ReferenceWorld::now());
  met->over.reach();
}

/// The bytes hold the channel, the message arrives a latency later.
void Job::transfer(Actors& a, Channel channel, Message message) {
  const NetworkHop& hop = input_.step.network.hop(channel, a.rank);
  Actors& peer = ranks_[hop.peer];
  // The log opens on both ends, since either may be waiting for the message.
  message.start = ReferenceWorld::now();
  const auto own = a.log.open(message.start, ExposedKind::pipeline);
  const auto its = peer.log.open(message.start, ExposedKind::pipeline);
  // A synthetic workload may give a latency in place of the network.
  double latency = hop.flow.latency;
  if (input_.step.boundary_latency)
    latency = input_.step.boundary_latency->value();
  else if (hop.flow.bytes > 0)
    world_.send(host_of(a.rank), host_of(peer.rank), hop.flow.bytes);
  message.arrival = ReferenceWorld::now() + latency;
  a.log.close(own, message.arrival);
  peer.log.close(its, message.arrival);
  a.last_send_start = message.start;
  // Messages of other channels may arrive later.
  a.last_send_arrival = std::max(a.last_send_arrival, message.arrival);
  ++a.sends_done;
  a.sent.tell();
  peer.inbox.push_back(message);
  peer.received.tell();
}

/// Ranks that are done early wait for the last one.
Timeline Job::timeline() {
  Timeline result;
  // The last step has ended when the last rank has.
  const double end = step_ends_.back();
  for (std::size_t k = 0; k < step_ends_.size(); ++k)
    result.steps.push_back(Seconds{step_ends_[k] - (k == 0 ? 0 : step_ends_[k - 1])});
  // The first step warms up; the time of a step is the mean of the others.
  result.step_time =
      step_ends_.size() == 1
          ? Seconds{end}
          : Seconds{(end - step_ends_.front()) / static_cast<double>(step_ends_.size() - 1)};
  for (Actors& a : ranks_) {
    // Waiting for the last rank at the end counts as the pipeline's.
    if (end > a.end) a.log.add({a.end, end, {}, true});
    a.log.settle(unknown_time, unknown_time, a.books);
    result.classes.push_back(step_ends_.size() == 1
                                 ? a.books.times[0]
                                 : later_steps(a.books, step_ends_.front(), step_ends_.size()));
    result.classes.back().end = Seconds{a.end};
  }
  result.solver = Solver::reference;
  result.tasks = tasks_;
  result.flows = world_.communications();
  return result;
}

}  // namespace stepcast::judge

namespace stepcast {

Timeline judged(const JudgeInput& input) { return judge::Job(input).run(); }

}  // namespace stepcast
