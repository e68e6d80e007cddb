#include "stepcast/sim/judge/judge.hpp"

#include <algorithm>

#include "judge_rank.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/phases.hpp"

namespace stepcast::judge {
namespace {

/// Rounding does not make a segment host-bound: the part of a second that SimGrid's clock resolves.
constexpr double clock_noise = 1e-11;
constexpr double host_bound_margin = 1e-9;
/// A host goes on when its device has fewer things before it.
constexpr std::size_t fill_up_below = 32;

/// Whether the host makes a kernel for something of the program.
bool compiles(const StageProgram& program) {
  const auto makes = [](const OperatorCost& cost) { return cost.compile > 0; };
  const auto any = [&](const std::vector<Segment>& segments) {
    return std::ranges::any_of(segments, &Segment::compiles);
  };
  return makes(program.send_issue) || any(program.segments) ||
         std::ranges::any_of(program.variants, any) ||
         std::ranges::any_of(program.calls, [&](const StageCall& c) { return makes(c.issue); });
}

}  // namespace

void Lane::work() {
  // A job may give the lane more work while it runs; the loop below takes that too, without a
  // second one inside.
  if (working_) return;
  working_ = true;
  while (!busy_ && !jobs_.empty()) {
    const Then job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    job();
    if (taken) taken();
  }
  working_ = false;
}

void Mark::reach() {
  reached_ = true;
  for (const Then& next : std::exchange(waiting_, {})) next();
}

Job::Eager Job::eager(const StageProgram& program) {
  const auto begins_early = [](const Instructions& code) {
    return std::ranges::any_of(code, [](const Instruction& instruction) {
      const auto* start = std::get_if<Communicate>(&instruction);
      return start != nullptr && !start->after_compute;
    });
  };
  // Any code that starts a communication ahead of the compute stream makes the rank look ahead
  // everywhere; in the prologue alone it needs to only there.
  for (const ChunkProgram& chunk : program.chunks)
    for (const Instructions* code :
         {&chunk.forward, &chunk.first_forward, &chunk.backward, &chunk.last_backward,
          &chunk.backward_input, &chunk.backward_weight, &chunk.last_backward_weight})
      if (begins_early(*code)) return Eager::always;
  for (const ChunkProgram& chunk : program.chunks)
    if (std::ranges::any_of(chunk.paired, begins_early)) return Eager::always;
  if (begins_early(program.epilogue)) return Eager::always;
  return begins_early(program.prologue) ? Eager::prologue : Eager::never;
}

Job::Job(const JudgeInput& input)
    : input_{input},
      world_{make_reference_world(input.platform)},
      calls_{input, world_},
      step_ends_(static_cast<std::size_t>(input.step.steps)) {
  if (input.step.record != nullptr)
    recorder_.emplace(*input.step.record, input.step.network, input.step.programs,
                      input.step.recorded, streams + channels);
  // Calls are matched by their order among those of their kind.
  for (const StageProgram& program : input.step.programs) {
    std::array<std::uint32_t, group_kinds> next{};
    auto& ordinals = ordinal_.emplace_back();
    ordinals.reserve(program.calls.size());
    for (const StageCall& call : program.calls)
      ordinals.push_back(call.over_host_link() ? 0 : next[static_cast<std::size_t>(call.group)]++);
    eager_.push_back(eager(program));
  }
  for (std::uint32_t r = 0; r < input.placement.world(); ++r) {
    // Without folding, rank and class are one number.
    expects(input.step.network.classes.class_of[r] == r, "the judge folds no ranks");
    Member& a = ranks_.emplace_back();
    a.rank = r;
    a.stage = input.placement.stage_of(Rank{r}).value;
    const KindPrograms* kinds = input.step.kinds;
    a.program =
        kinds ? &kinds->programs[kinds->of_rank[r]][a.stage] : &input.step.programs[a.stage];
    a.spec = kinds ? &kinds->hosts[kinds->of_rank[r]] : &input.step.host;
    a.compiles = compiles(*a.program);
    a.host.slots.resize(a.program->slots);
    a.host.forwards.resize(static_cast<std::size_t>(input.step.shape.chunks));
    a.host.gradients = a.host.forwards;
    a.device.taken = [this, &a] {
      if (a.device.waiting() < fill_up_below) advance(a);
    };
    set_stalls(a);
    if (recorder_) recorder_->host_speed(r, a.host.factor);
  }
  // Flows must be known to SimGrid before its platform is sealed.
  begin_phase("counting messages on SimGrid's routes");
  calls_.plan_all();
  for (Member& a : ranks_)
    for (std::size_t kind = 0; kind < group_kinds; ++kind)
      a.groups[kind] = calls_.group(static_cast<GroupKind>(kind), Rank{a.rank});
}

std::uint32_t Job::host_of(std::uint32_t rank) const {
  // A test may move members to other hosts, to see the comparison fail.
  return input_.host_of_rank.empty() ? input_.placement.device_of(Rank{rank}).value
                                     : input_.host_of_rank[rank];
}

Timeline Job::run() {
  begin_phase("replaying the step on SimGrid");
  world_.run([this] {
    for (Member& a : ranks_) advance(a);
  });
  refuse_standstill();
  return timeline();
}

void Job::refuse_standstill() const {
  for (const Member& a : ranks_)
    if (a.device_step < step_ends_.size())
      throw EngineError("rank " + std::to_string(a.rank) + " of stage " + std::to_string(a.stage) +
                        " waits for ever");
}

/// Operators that follow each other without a wait for the host are one execution.
void Job::run_operators(Member& a) {
  while (a.left > 0) {
    if (a.launched.empty()) {
      // The host is held, or comes with more.
      a.awaits_operator = true;
      return advance(a);
    }
    const double begin = now();
    book(a, a.launched.front(), begin);
    if (a.launched.front().ready > begin)
      return world_.at(a.launched.front().ready, [this, &a] { run_operators(a); });
    double end = begin;
    while (a.left > 0 && !a.launched.empty()) {
      Launched& next = a.launched.front();
      if (next.ready > end) break;
      book(a, next, end);
      end = end_of_work(a, *next.cost, end);
      a.launched.pop_front();
      --a.left;
      a.ends.push_back(end);
      // A place in the queue is free, from `end` on.
      advance(a);
    }
    a.segment_worked += end - begin;
    if (end > begin)
      return world_.work(host_of(a.rank), end - begin, [this, &a] { run_operators(a); });
  }
  end_segment(a);
}

/// What compiling holds up, once for each operator.
void Job::book(Member& a, Launched& launched, double device) const {
  if (!a.compiles || std::exchange(launched.booked, true)) return;
  a.lag.wait(launched.free, launched.freed);
  a.compile_stall += a.lag.issue({launched.host.main, launched.host.worker, device}, *launched.cost,
                                 a.host.factor);
}

void Job::end_segment(Member& a) {
  // Longer than its operators: the device has waited for the host.
  const double took = now() - a.begun, worked = a.segment_worked;
  RankTimes& times = this->times(a);
  times.computing += Seconds{worked};
  a.worked += worked;
  times.segments += 1;
  times.clock += Seconds{a.segment_lost};
  double compiled = 0;
  if (took > worked * (1 + host_bound_margin) + clock_noise) {
    times.host_bound_segments += 1;
    // What late kernels cost is told apart from plain dispatch.
    compiled = std::min(a.compile_stall, took - worked);
    times.host_stall += Seconds{took - worked - compiled};
    times.compile_stall += Seconds{compiled};
  }
  record_segment(a, took - worked - compiled, took - worked);
  a.device.done();
}

void Job::waited(Member& a, double from, double moving, ExposedKind kind, const HostReady& host,
                 bool pipeline) {
  // The wait itself counts from when something moved; before that the rank waits for others.
  const double to = now();
  if (to <= from) return;
  // Only that part of the movement that the compute stream has waited for.
  moving = std::clamp(moving, from, to);
  times(a).exposed[static_cast<std::size_t>(kind)] += Seconds{to - moving};
  record_piece(a, {moving, to, WaitPart::exposed, kind});
  if (moving <= from) return;
  a.log.add({from, moving, host, pipeline});
  // Of that wait, the part in which the call was late because of compiling is kept apart.
  a.lag.take(std::max(0.0, std::min(host.at, moving) - std::max(host.prompt, from)));
}

/// All members are there when the last one comes; then the bytes move.
void Job::meet(Member& a, std::uint32_t call, std::uint64_t made, Issued& issued, Then next) {
  const StageCall& own = a.program->calls[call];
  const Group* const group = a.groups[static_cast<std::size_t>(own.group)];
  // The same group meets again and again: `made` counts its calls.
  auto& place = meetings_[{group, made}];
  if (!place) place = std::make_shared<Met>();
  const std::shared_ptr<Met> met = place;
  issued.arrived = now();
  met->members.emplace_back(a.rank, &issued, own.kind, 0);
  met->over.then(std::move(next));
  if (met->members.size() < group->members) return;
  // Taken out before the bytes move, since the next call of the group may come meanwhile.
  meetings_.erase({group, made});
  // Bytes move from when all are there: that is the start for each of them.
  for (auto& [rank, member, kind, ticket] : met->members) {
    member->start = now();
    ticket = ranks_[rank].log.open(member->start, kind);
  }
  met->phases = &group->calls.at(ordinal_[a.stage][call]);
  met->network = input_.step.network.call_of[a.rank][call];
  met->start = now();
  if (recorder_) {
    std::vector<std::pair<Member*, Issued*>> members;
    for (const auto& [rank, member, kind, ticket] : met->members)
      members.emplace_back(&ranks_[rank], member);
    record_begin(members, met->network);
  }
  move(met, 0);
}

/// Phase after phase, each until its last message has arrived.
void Job::move(const std::shared_ptr<Met>& met, std::size_t phase) {
  if (phase < met->phases->size())
    return world_.move((*met->phases)[phase], [this, met, phase] { move(met, phase + 1); });
  for (const auto& [rank, member, kind, ticket] : met->members)
    ranks_[rank].log.close(ticket, now());
  record_end(std::get<1>(met->members.front())->communication, met->network, met->start);
  met->over.reach();
}

/// The bytes hold the channel, the message arrives a latency later.
void Job::transfer(Member& a, Channel channel, Message message, const Leaving& leaving) {
  const NetworkHop& hop = input_.step.network.hop(channel, a.rank);
  Member& peer = ranks_[hop.peer];
  // The log opens on both ends, since either may be waiting for the message.
  message.start = now();
  message.recorded = record_transfer(a, channel, message, leaving);
  const std::pair tickets{a.log.open(message.start, ExposedKind::pipeline),
                          peer.log.open(message.start, ExposedKind::pipeline)};
  const auto through = [this, &a, &peer, channel, message, tickets] {
    arrived(a, peer, channel, message, tickets);
  };
  // A synthetic workload may give a latency in place of the network.
  if (input_.step.boundary_latency || !(hop.flow.bytes > 0)) return through();
  world_.send(host_of(a.rank), host_of(peer.rank), hop.flow.bytes, through);
}

void Job::arrived(Member& a, Member& peer, Channel channel, Message message,
                  std::pair<CommunicationLog::Ticket, CommunicationLog::Ticket> tickets) {
  const double latency = input_.step.boundary_latency
                             ? input_.step.boundary_latency->value()
                             : input_.step.network.hop(channel, a.rank).flow.latency;
  message.arrival = now() + latency;
  a.log.close(tickets.first, message.arrival);
  peer.log.close(tickets.second, message.arrival);
  if (recorder_) {
    recorder_->moved(channel, a.rank, message.start, now());
    if (message.recorded != Recording::none)
      recorder_->end(message.recorded, now(), message.arrival);
  }
  if (message.arrival >= a.last_send_arrival) a.last_send = message.recorded;
  a.last_send_start = message.start;
  // Messages of other channels may arrive later.
  a.last_send_arrival = std::max(a.last_send_arrival, message.arrival);
  ++a.sends_done;
  if (const Then sent = a.sent) sent();
  // Without awaiting inputs nobody reads them.
  if (input_.step.await_inputs) peer.inbox.push_back(message);
  if (const Then received = std::exchange(peer.received, nullptr)) received();
  a.channel[static_cast<std::size_t>(channel)].done();
}

/// Other messages may come before the wanted one.
void Job::pick_up(Member& a, const Message& wanted, double from, const Clocks& host) {
  const auto found =
      std::ranges::find_if(a.inbox, [&](const Message& m) { return m.same_unit(wanted); });
  if (found == a.inbox.end()) {
    a.received = [this, &a, wanted, from, host] { pick_up(a, wanted, from, host); };
    return;
  }
  const Message message = *found;
  a.inbox.erase(found);
  // Bytes are there, the latency may still run.
  world_.at(message.arrival, [this, &a, from, host, message] {
    waited(a, from, message.start, ExposedKind::pipeline, {}, true);
    record_wait(a, host, message.recorded, now());
    a.device.done();
  });
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
  for (Member& a : ranks_) {
    // Waiting for the last rank at the end counts as the pipeline's.
    if (end > a.end) a.log.add({a.end, end, {}, true});
    std::vector<Recording::Piece> pieces;
    a.log.settle(unknown_time, unknown_time, a.books, recorder_ ? &pieces : nullptr);
    for (const Recording::Piece& piece : pieces) record_piece(a, piece);
    record_wait(a, a.host.clocks(), Recording::none, end);
    result.classes.push_back(step_ends_.size() == 1
                                 ? a.books.times[0]
                                 : later_steps(a.books, step_ends_.front(), step_ends_.size()));
    result.classes.back().end = Seconds{a.end};
  }
  if (recorder_) recorder_->finish(end);
  result.solver = Solver::reference;
  result.tasks = tasks_;
  result.flows = world_.communications();
  return result;
}

}  // namespace stepcast::judge

namespace stepcast {

Timeline judged(const JudgeInput& input) {
  begin_phase("giving the platform to SimGrid");
  return judge::Job(input).run();
}

}  // namespace stepcast
