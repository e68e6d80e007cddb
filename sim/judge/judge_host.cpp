#include <algorithm>

#include "judge_rank.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/replay/held_cores.hpp"

/// What a rank's host does, and what it gives to its device, streams and channels.
namespace stepcast::judge {
namespace {

/// So many things a device has before it: more are of no use to it, and take room.
constexpr std::size_t enough_ahead = 64;

}  // namespace

/// Goes on with the host as far as it may: until it is held, or its device has enough to do.
void Job::advance(Member& a) {
  HostState& h = a.host;
  // What it gives may tell it something at once.
  if (h.working) return;
  h.working = true;
  while (!h.held && !may_rest(a)) {
    if (h.segment != nullptr) {
      if (!issue_operators(a)) break;
    } else if (h.next_action < h.actions.size()) {
      act(a, h.actions[h.next_action++]);
    } else if (!next_actions(a)) {
      break;
    }
  }
  h.working = false;
}

/// Only what a stream begins before the device gets there asks for a host that is far ahead.
bool Job::may_rest(const Member& a) const {
  if (a.device.waiting() < enough_ahead) return false;
  const HostState& h = a.host;
  if (h.step > 0 || eager_[a.stage] == Eager::never) return true;
  return eager_[a.stage] == Eager::prologue && h.next_unit > 0;
}

/// A step runs the prologue, all units of the stage's order, and the epilogue.
bool Job::next_actions(Member& a) {
  HostState& h = a.host;
  if (h.step == step_ends_.size()) return false;
  h.actions.clear();
  h.next_action = 0;
  const StageOrder& order = input_.step.orders[a.stage];
  if (!h.begun) {
    h.begun = true;
    std::ranges::fill(h.forwards, 0U);
    std::ranges::fill(h.gradients, 0U);
    h.met_after_pipeline = false;
    h.actions.push_back({Action::What::begin_step});
    add_code(a, a.program->prologue, nullptr);
  } else if (h.next_unit < order.size()) {
    add_unit(a, order);
  } else {
    add_code(a, a.program->epilogue, nullptr);
    for (const auto what : {Action::What::end_code, Action::What::save, Action::What::end_step})
      h.actions.push_back({what});
  }
  return true;
}

/// Pairs are two units in a row unless the program has them as one.
void Job::add_unit(Member& a, const StageOrder& order) {
  HostState& h = a.host;
  const std::size_t units = order[h.next_unit].with_next ? 2 : 1;
  const Unit* const first = &order[h.next_unit];
  const Unit* const last = first + units;
  h.next_unit += units;
  h.actions.push_back({Action::What::begin_unit, first});
  // A pair waits for both inputs before either half begins.
  for (const Unit* u = first; u != last; ++u) h.actions.push_back({Action::What::receive, u});
  h.actions.push_back({Action::What::open_unit, first});
  // First forwards and last backwards of a chunk have programs of their own.
  for (const Unit* u = first; u != last; ++u) {
    if (u->kind == UnitKind::forward) ++h.forwards[u->chunk.value];
    if (u->kind == UnitKind::backward || u->kind == UnitKind::backward_weight)
      ++h.gradients[u->chunk.value];
  }
  // A pair that starts or ends a chunk's work runs as two units, one after the other.
  const auto& paired = a.program->of(first->chunk, first->slice).paired;
  if (units == 2 && !paired.empty() && h.forwards[first->chunk.value] > 1 &&
      !is_last_gradient(a, first[1]))
    add_code(a, paired[first[1].chunk.value], first);
  else
    for (const Unit* u = first; u != last; ++u) add_code(a, code_of(a, *u), u);
  h.actions.push_back({Action::What::close_unit, first});
  // Outputs leave when the whole unit is over.
  for (const Unit* u = first; u != last; ++u) h.actions.push_back({Action::What::send, u});
  if (watched_ && a.rank == 0) tell_progress(a);
  h.actions.push_back({Action::What::settle, first});
  h.actions.push_back({Action::What::end_unit, first});
}

/// By the first rank: none is far behind another.
void Job::tell_progress(const Member& a) const {
  const auto units = static_cast<double>(input_.step.orders[a.stage].size());
  const double steps = a.host.step + static_cast<double>(a.host.next_unit) / units;
  tell_share(std::min(1.0, steps / static_cast<double>(step_ends_.size())));
}

void Job::add_code(Member& a, const Instructions& code, const Unit* unit) const {
  a.host.actions.reserve(a.host.actions.size() + code.size() + 1);
  for (const Instruction& instruction : code)
    a.host.actions.push_back({Action::What::instruction, unit, &instruction});
}

bool Job::is_last_gradient(const Member& a, const Unit& unit) const {
  return a.host.gradients[unit.chunk.value] ==
         micro_batches_per_chunk(input_.step.shape) * input_.step.shape.slices;
}

const Instructions& Job::code_of(const Member& a, const Unit& unit) const {
  const ChunkProgram& chunk = a.program->of(unit.chunk, unit.slice);
  const bool last = is_last_gradient(a, unit);
  switch (unit.kind) {
    case UnitKind::forward:
      return a.host.forwards[unit.chunk.value] == 1 ? chunk.first_forward : chunk.forward;
    case UnitKind::backward_input:
      return chunk.backward_input;
    case UnitKind::backward_weight:
      return last ? chunk.last_backward_weight : chunk.backward_weight;
    case UnitKind::backward:
      break;
  }
  return last ? chunk.last_backward : chunk.backward;
}

void Job::act(Member& a, const Action& action) {
  using enum Action::What;
  // One case per action of a host, in the order in which a step has them.
  switch (action.what) {
    case begin_step:
      return Job::begin_step(a);
    case begin_unit:
      return Job::begin_unit(a);
    case receive:
      return Job::receive(a, *action.unit);
    case open_unit:
    case close_unit:
      return record_unit(a, *action.unit, action.what == open_unit);
    case instruction:
      return instruct(a, *action.instruction, action.unit);
    case send:
      return Job::send(a, *action.unit);
    case settle:
      return settle_sends(a);
    case end_unit:
      return Job::end_unit(a);
    case end_code:
      return Job::end_code(a);
    case save:
      return save_checkpoint(a);
    case end_step:
      return Job::end_step(a);
  }
}

/// Each kind of instruction is one job for the device, or for a stream beside it.
void Job::instruct(Member& a, const Instruction& instruction, const Unit* unit) {
  ++tasks_;
  collect_garbage(a.host);
  if (const auto* run = std::get_if<Compute>(&instruction)) {
    compute(a, run->segment, unit);
  } else if (const auto* start = std::get_if<Communicate>(&instruction)) {
    communicate(a, *start);
  } else if (const auto* awaited = std::get_if<Wait>(&instruction)) {
    wait(a, awaited->slot);
  } else if (const auto* sync = std::get_if<HostSync>(&instruction)) {
    const double cost = a.spec->synchronise.value();
    sync->of_copy ? hold_host_for_copy(a, cost) : hold_host(a, cost);
  } else {
    // A marker of the device's progress, which a later synchronisation asks for.
    a.host.copied = std::make_shared<double>(unknown_time);
    a.device.give([this, &a, at = a.host.copied] {
      *at = now();
      a.device.done();
    });
  }
}

double Job::issue(Member& a, const OperatorCost& cost) const {
  // (1) and (2) of docs/models/segments.md; the launch latency passes on the way to the device.
  HostState& h = a.host;
  h.main += h.factor * cost.main;
  h.worker = std::max(h.worker, h.main) + h.factor * cost.worker;
  return h.worker + cost.launch;
}

/// What compiling holds up is known once the device got there.
double Job::issue_communication(Member& a, const OperatorCost& cost, bool after_compute,
                                const std::shared_ptr<Issued>& issued,
                                const std::shared_ptr<Leaving>& leaving) {
  const Clocks host = a.host.clocks();
  const double ready = issue(a, cost);
  if (issued) issued->host = {ready, ready};
  record_issue(a, {host, a.host.clocks()}, after_compute, issued, leaving);
  if (!a.compiles) return ready;
  a.device.give([&a, host, &cost, ready, issued] {
    const double late = a.lag.issue_communication(host, cost, a.host.factor);
    if (issued) issued->host.prompt = ready - late;
    a.device.done();
  });
  return ready;
}

/// What the segment takes is measured from when the device gets to it.
void Job::compute(Member& a, std::uint32_t index, const Unit* unit) {
  const Segment& segment = a.program->segment(index, input_.step.network.classes.variant[a.rank]);
  const double factor = segment_factor(a, index, unit);
  a.host.segment = &segment;
  a.host.next_operator = 0;
  const HostClocks begun{a.host.clocks(), a.host.clocks()};
  const auto spent = recorder_ ? std::make_shared<HostClocks>(begun) : nullptr;
  a.host.spent = spent;
  a.device.give([this, &a, factor, index, spent, operators = segment.size()] {
    a.begun = now();
    a.segment = index;
    a.spent = spent;
    a.left = operators;
    a.segment_factor = factor;
    a.segment_worked = a.segment_lost = a.compile_stall = 0;
    run_operators(a);
  });
}

/// A full queue holds the host until the operator `queue_depth` before has ended.
bool Job::has_place(Member& a) const {
  const auto depth = static_cast<std::size_t>(a.spec->queue_depth);
  return a.host.operators < depth || a.host.operators - depth < a.forgotten + a.ends.size();
}

/// Operator by operator, at most `queue_depth` ahead of the device. Returns whether all of the
/// segment are issued.
bool Job::issue_operators(Member& a) {
  HostState& h = a.host;
  const auto depth = static_cast<std::size_t>(a.spec->queue_depth);
  const std::vector<OperatorCost>& operators = h.segment->operators();
  for (; h.next_operator < operators.size() && has_place(a); ++h.next_operator, ++h.operators) {
    const OperatorCost& op = operators[h.next_operator];
    const double free = h.main;
    double freed = -unknown_time;  // a place in the queue
    if (h.operators >= depth) {
      for (; a.forgotten < h.operators - depth; ++a.forgotten) a.ends.pop_front();
      h.main = std::max(h.main, freed = a.ends.front());
    }
    const Clocks host{h.main, h.worker, 0};
    a.launched.push_back({&op, issue(a, op), host, free, freed});
  }
  const bool all = h.next_operator == operators.size();
  if (all) {
    h.segment = nullptr;
    if (h.spent) h.spent->after = h.clocks();
  }
  // Told of all of them at once: those that follow each other are one execution.
  if (std::exchange(a.awaits_operator, false)) run_operators(a);
  return all || has_place(a);
}

void Job::communicate(Member& a, const Communicate& instruction) {
  const StageCall& call = a.program->calls[instruction.call];
  const auto issued = std::make_shared<Issued>();
  issued->call = &call;
  // What needs the compute stream, or belongs to a later step, waits until it gets here.
  const bool after_compute = instruction.after_compute || a.host.step > 0;
  issue_communication(a, call.issue, after_compute, issued);
  const NetworkMap& map = input_.step.network;
  issued->held = map.calls[map.call_of[a.rank][instruction.call]].held;
  a.host.slots[instruction.slot] = issued;
  const auto mark = after_compute ? std::make_shared<Mark>() : nullptr;
  // Where the device stands when the call is issued: cores that it holds count from there.
  if (mark || issued->held > 0)
    a.device.give([this, &a, issued, mark] {
      issued->device = now();
      issued->worked = a.worked;
      if (mark) mark->reach();
      a.device.done();
    });
  // Copies meet nobody and are not counted.
  const std::uint64_t made =
      call.over_host_link() ? 0 : a.host.calls_made[static_cast<std::size_t>(call.group)]++;
  Lane& stream = a.stream[static_cast<std::size_t>(call.stream)];
  const auto ended = [this, issued, &stream] {
    issued->end = now();
    issued->over.reach();
    stream.done();
  };
  const auto begin = [this, &a, index = instruction.call, issued, made, ended] {
    if (!issued->call->over_host_link()) return meet(a, index, made, *issued, ended);
    // A copy takes its own time on its stream.
    issued->start = issued->arrived = now();
    const std::uint32_t network = input_.step.network.call_of[a.rank][index];
    record_begin({{&a, issued.get()}}, network);
    world_.at(issued->start + issued->call->host_link.value(), [this, &a, issued, network, ended] {
      a.log.add(issued->start, now(), issued->call->kind);
      record_end(issued->communication, network, issued->start);
      ended();
    });
  };
  stream.give([this, issued, mark, begin] {
    const auto when_issued = [this, issued, begin] { world_.at(issued->host.at, begin); };
    mark ? mark->then(when_issued) : when_issued();
  });
}

/// The first rendezvous with other stages behind the pipeline shows how uneven they are.
void Job::wait(Member& a, std::uint32_t slot) {
  const std::shared_ptr<Issued> issued = a.host.slots[slot];
  expects(issued != nullptr, "a slot is issued before it is awaited");
  // Groups across stages: their first meeting shows how uneven the pipeline is.
  const StageCall* call = issued->call;
  const bool crosses = call->group == GroupKind::world || call->group == GroupKind::embedding ||
                       call->group == GroupKind::mirror || call->group == GroupKind::pipeline;
  const bool after_pipeline = crosses && !a.host.met_after_pipeline;
  a.host.met_after_pipeline = a.host.met_after_pipeline || crosses;
  a.device.give([this, &a, issued, after_pipeline, host = a.host.clocks()] {
    issued->over.then([this, &a, issued, after_pipeline, host, from = now()] {
      // Cores that the call held slow what ran beside it: that is paid here.
      const double taken = taken_by(
          {issued->held, issued->start, issued->end, issued->device, a.worked - issued->worked},
          from);
      world_.at(from + taken, [this, &a, issued, after_pipeline, host, from, taken] {
        const ExposedKind kind = issued->call->kind;
        times(a).exposed[static_cast<std::size_t>(kind)] += Seconds{taken};
        record_cores(a, host, from + taken, *issued);
        waited(a, from + taken, issued->start, kind, issued->host, after_pipeline);
        record_wait(a, host, issued->communication, now());
        a.device.done();
      });
    });
  });
}

/// The host waits until all that it has issued is done, and then spends `cost`; `device`: so does
/// the device.
void Job::hold_host(Member& a, double cost, bool device) {
  a.host.held = true;
  a.device.give([this, &a, cost, device] {
    HostState& h = a.host;
    const Clocks before = h.clocks();
    a.lag.synchronise({h.main, h.worker, now()});
    const double on = h.main = std::max({h.main, h.worker, now()}) + cost;
    record_sync(a, before, -1);
    h.held = false;
    advance(a);
    if (!device) return a.device.done();
    world_.at(on, [this, &a, from = now(), on, worker = before.worker] {
      waited(a, from, on, ExposedKind::data, {on, on}, false);
      record_wait(a, {on, worker, 0}, Recording::none, now());
      a.device.done();
    });
  });
}

/// The marker of the copy counts, not what was issued behind it.
void Job::hold_host_for_copy(Member& a, double cost) {
  a.host.held = true;
  a.device.give([this, &a, cost, copied = a.host.copied] {
    HostState& h = a.host;
    const Clocks before = h.clocks();
    a.lag.wait(h.main, *copied);
    h.main = std::max(h.main, *copied) + cost;
    record_sync(a, before, *copied);
    h.held = false;
    advance(a);
    a.device.done();
  });
}

void Job::receive(Member& a, const Unit& unit) {
  const auto source = source_of(input_.step.shape, unit, Stage{a.stage});
  // An input of the same stage, or none, needs no message.
  if (!source || source->stage == Stage{a.stage}) return;
  issue_communication(a, a.program->send_issue, false);
  // The ideal without a bubble: inputs are there.
  if (!input_.step.await_inputs) return;
  // Messages of several units may be there at a time; the unit's own is picked.
  const Message wanted{unit.kind != UnitKind::forward, unit.micro_batch, unit.chunk, unit.slice};
  a.device.give([this, &a, wanted, host = a.host.clocks()] { pick_up(a, wanted, now(), host); });
}

void Job::send(Member& a, const Unit& unit) {
  const auto reader = reader_of(input_.step.shape, unit, Stage{a.stage});
  if (!reader || reader->stage == Stage{a.stage}) return;
  const bool output = unit.kind == UnitKind::forward;
  const Channel channel = channel_of(input_.step.shape.placement, unit.chunk, output);
  const auto leaving = std::make_shared<Leaving>();
  const double issued = issue_communication(a, a.program->send_issue, true, {}, leaving);
  // The message leaves when its unit is done, when the host has issued it, and in order.
  a.device.give([this, &a, issued, leaving] {
    leaving->ready = std::max(issued, now());
    leaving->unit_done.reach();
    a.device.done();
  });
  ++tasks_;
  ++a.host.sends;
  const Message message{!output, unit.micro_batch, reader->chunk, unit.slice};
  a.channel[static_cast<std::size_t>(channel)].give([this, &a, leaving, channel, message] {
    leaving->unit_done.then([this, &a, leaving, channel, message] {
      world_.at(leaving->ready,
                [this, &a, leaving, channel, message] { transfer(a, channel, message, *leaving); });
    });
  });
}

/// With blocking transfers the compute stream waits until what it sent has arrived.
void Job::settle_sends(Member& a) {
  if (input_.step.p2p == ScheduleSpec::PointToPoint::overlapped) return;
  a.device.give([this, &a, sends = a.host.sends, host = a.host.clocks()] {
    const auto all_sent = [this, &a, sends, host, from = now()] {
      if (a.sends_done < sends) return;
      a.sent = nullptr;
      world_.at(a.last_send_arrival, [this, &a, host, from] {
        waited(a, from, a.last_send_start, ExposedKind::pipeline, {}, true);
        record_wait(a, host, a.last_send, now());
        a.device.done();
      });
    };
    if (a.sends_done < sends)
      a.sent = all_sent;
    else
      all_sent();
  });
}

void Job::end_step(Member& a) {
  await_batch(a);
  HostState& h = a.host;
  a.device.give([this, &a, step = h.step] {
    a.end = now();
    // A step ends with its last rank.
    step_ends_[step] = std::max(step_ends_[step], a.end);
    if (step == 0 && step_ends_.size() > 1) a.books.first_end = a.end;
    if (recorder_) recorder_->end_step(a.rank, a.end);
    a.device_step = step + 1;
    a.device.done();
  });
  ++h.step;
  h.begun = false;
  h.next_unit = 0;
}

}  // namespace stepcast::judge
