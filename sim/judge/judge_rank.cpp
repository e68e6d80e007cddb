#include "judge_rank.hpp"

#include <algorithm>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/replay/held_cores.hpp"

/// What a rank's host gives to its device, streams and channels.
namespace stepcast::judge {
namespace {

/// Rounding does not make a segment host-bound: the part of a second that SimGrid's clock resolves.
constexpr double clock_noise = 1e-11;
constexpr double host_bound_margin = 1e-9;

}  // namespace

/// The units of the order, pairs as two in a row unless the program has them as one.
void Job::run_host(Actors& a) {
  const StageProgram& code = program(a);
  // A step runs the prologue, all units of the stage's order, and the epilogue.
  const StageOrder& order = input_.step.orders[a.stage];
  for (a.step = 0; a.step < step_ends_.size(); ++a.step) {
    std::ranges::fill(a.forwards, 0U);
    std::ranges::fill(a.gradients, 0U);
    a.met_after_pipeline = false;
    run_code(a, code.prologue);
    for (std::size_t u = 0; u < order.size(); u += order[u].with_next ? 2 : 1)
      run_unit(a, order, u);
    run_code(a, code.epilogue);
    end_step(a);
  }
  // The host may be far ahead: its actor lives until the device has done the last job.
  bool done = false;
  ReferenceWorld::Signal told;
  a.device.give([&] {
    done = true;
    told.tell();
  });
  told.wait_until([&] { return done; });
}

void Job::run_unit(Actors& a, const StageOrder& order, std::size_t u) {
  const std::size_t units = order[u].with_next ? 2 : 1;
  // A pair waits for both inputs before either half begins.
  for (std::size_t i = 0; i < units; ++i) receive(a, order[u + i]);
  // First forwards and last backwards of a chunk have programs of their own.
  for (std::size_t i = 0; i < units; ++i) {
    const Unit& unit = order[u + i];
    if (unit.kind == UnitKind::forward) ++a.forwards[unit.chunk.value];
    if (unit.kind == UnitKind::backward || unit.kind == UnitKind::backward_weight)
      ++a.gradients[unit.chunk.value];
  }
  const auto last_of = [&](const Unit& unit) {
    return a.gradients[unit.chunk.value] ==
           micro_batches_per_chunk(input_.step.shape) * input_.step.shape.slices;
  };
  const Unit& first = order[u];
  // A pair that starts or ends a chunk's work runs as two units, one after the other.
  const auto& paired = program(a).of(first.chunk, first.slice).paired;
  if (units == 2 && !paired.empty() && a.forwards[first.chunk.value] > 1 && !last_of(order[u + 1]))
    run_code(a, paired[order[u + 1].chunk.value]);
  else
    for (std::size_t i = 0; i < units; ++i) run_code(a, code_of(a, order[u + i]));
  // Outputs leave when the whole unit is over.
  for (std::size_t i = 0; i < units; ++i) send(a, order[u + i]);
  settle_sends(a);
}

const Instructions& Job::code_of(const Actors& a, const Unit& unit) const {
  const ChunkProgram& chunk = program(a).of(unit.chunk, unit.slice);
  const bool last = a.gradients[unit.chunk.value] ==
                    micro_batches_per_chunk(input_.step.shape) * input_.step.shape.slices;
  switch (unit.kind) {
    case UnitKind::forward:
      return a.forwards[unit.chunk.value] == 1 ? chunk.first_forward : chunk.forward;
    case UnitKind::backward_input:
      return chunk.backward_input;
    case UnitKind::backward_weight:
      return last ? chunk.last_backward_weight : chunk.backward_weight;
    case UnitKind::backward:
      break;
  }
  return last ? chunk.last_backward : chunk.backward;
}

void Job::run_code(Actors& a, const Instructions& code) {
  // Each kind of instruction is one job for the device, or for a stream beside it.
  for (const Instruction& instruction : code) {
    ++tasks_;
    if (const auto* run = std::get_if<Compute>(&instruction)) {
      compute(a, run->segment);
    } else if (const auto* start = std::get_if<Communicate>(&instruction)) {
      communicate(a, *start);
    } else if (const auto* awaited = std::get_if<Wait>(&instruction)) {
      wait(a, awaited->slot);
    } else if (const auto* sync = std::get_if<HostSync>(&instruction)) {
      synchronise(a, sync->of_copy);
    } else {
      // A marker of the device's progress, which a later synchronisation asks for.
      a.copied = std::make_shared<double>(unknown_time);
      a.device.give([at = a.copied] { *at = ReferenceWorld::now(); });
    }
  }
}

double Job::issue(Actors& a, const OperatorCost& cost) {
  // (1) and (2) of docs/models/segments.md; the launch latency passes on the way to the device.
  a.main += cost.main;
  a.worker = std::max(a.worker, a.main) + cost.worker;
  return a.worker + cost.launch;
}

/// What compiling holds up is known once the device got there.
double Job::issue_communication(Actors& a, const OperatorCost& cost,
                                const std::shared_ptr<Issued>& issued) {
  const Clocks host{a.main, a.worker, 0};
  const double ready = issue(a, cost);
  if (issued) issued->host.at = ready;
  a.device.give([&a, host, cost, ready, issued] {
    const double late = a.lag.issue_communication(host, cost, 1);
    if (issued) issued->host.prompt = ready - late;
  });
  return ready;
}

/// The host issues operator by operator, at most `queue_depth` ahead of the device.
void Job::compute(Actors& a, std::uint32_t index) {
  const Segment& segment = program(a).segment(index, input_.step.network.classes.variant[a.rank]);
  const auto depth = static_cast<std::size_t>(input_.step.host.queue_depth);
  const auto before = std::make_shared<double>(0);
  // What the segment takes is measured between two jobs of the device.
  a.device.give([&a, before] {
    *before = ReferenceWorld::now();
    a.compile_stall = 0;
  });
  for (const OperatorCost& op : segment.operators()) {
    const double free = a.main;
    double freed = -unknown_time;  // a place in the queue
    // A full queue holds the host until the operator `depth` before has ended.
    if (a.operators >= depth) {
      const std::size_t gate = a.operators - depth;
      a.operator_ended.wait_until([&] { return a.ends.size() > gate; });
      a.main = std::max(a.main, freed = a.ends[gate]);
    }
    const Clocks host{a.main, a.worker, 0};
    const double ready = issue(a, op);
    // The device is an actor: it sleeps until the operator is there, then executes.
    a.device.give([&a, &op, ready, free, freed, host] {
      a.lag.wait(free, freed);
      a.compile_stall += a.lag.issue({host.main, host.worker, ReferenceWorld::now()}, op, 1);
      ReferenceWorld::sleep_until(ready);
      ReferenceWorld::execute(op.device);
      a.ends.push_back(ReferenceWorld::now());
      a.operator_ended.tell();
    });
    ++a.operators;
  }
  a.device.give([this, &a, before, worked = segment.device_time()] {
    // Longer than its operators: the device has waited for the host.
    const double took = ReferenceWorld::now() - *before;
    RankTimes& times = this->times(a);
    times.computing += Seconds{worked};
    a.worked += worked;
    times.segments += 1;
    if (took <= worked * (1 + host_bound_margin) + clock_noise) return;
    times.host_bound_segments += 1;
    // What late kernels cost is told apart from plain dispatch.
    const double compiled = std::min(a.compile_stall, took - worked);
    times.host_stall += Seconds{took - worked - compiled};
    times.compile_stall += Seconds{compiled};
  });
}

void Job::communicate(Actors& a, const Communicate& instruction) {
  const StageCall& call = program(a).calls[instruction.call];
  const auto issued = std::make_shared<Issued>();
  issue_communication(a, call.issue, issued);
  issued->call = &call;
  const NetworkMap& map = input_.step.network;
  issued->held = map.calls[map.call_of[a.rank][instruction.call]].held;
  a.slots[instruction.slot] = issued;
  // Where the device stands when the call is issued: cores that it holds count from there.
  a.device.give([&a, issued] {
    issued->device = ReferenceWorld::now();
    issued->worked = a.worked;
  });
  std::shared_ptr<Mark> mark;
  // What needs the compute stream, or belongs to a later step, waits until it gets here.
  if (instruction.after_compute || a.step > 0) {
    mark = std::make_shared<Mark>();
    a.device.give([mark] { mark->reach(); });
  }
  // Copies meet nobody and are not counted.
  const std::uint64_t made =
      call.over_host_link() ? 0 : a.calls_made[static_cast<std::size_t>(call.group)]++;
  a.stream[static_cast<std::size_t>(call.stream)].give(
      [this, &a, &call, index = instruction.call, issued, mark, made] {
        if (mark) mark->await();
        ReferenceWorld::sleep_until(issued->host.at);
        // A copy takes its own time on its stream.
        if (call.over_host_link()) {
          issued->start = ReferenceWorld::now();
          ReferenceWorld::sleep_until(issued->start + call.host_link.value());
          a.log.add(issued->start, ReferenceWorld::now(), call.kind);
        } else {
          meet(a, index, made, *issued);
        }
        issued->end = ReferenceWorld::now();
        issued->over.reach();
      });
}

/// The first rendezvous with other stages behind the pipeline shows how uneven they are.
void Job::wait(Actors& a, std::uint32_t slot) {
  const std::shared_ptr<Issued> issued = a.slots[slot];
  expects(issued != nullptr, "a slot is issued before it is awaited");
  // Groups across stages: their first meeting shows how uneven the pipeline is.
  const StageCall* call = issued->call;
  const bool crosses = call->group == GroupKind::world || call->group == GroupKind::embedding ||
                       call->group == GroupKind::mirror || call->group == GroupKind::pipeline;
  const bool after_pipeline = crosses && !a.met_after_pipeline;
  a.met_after_pipeline = a.met_after_pipeline || crosses;
  a.device.give([this, &a, issued, kind = call->kind, after_pipeline] {
    const double from = ReferenceWorld::now();
    issued->over.await();
    // Cores that the call held slow what ran beside it: that is paid here.
    const double taken = taken_by(
        {issued->held, issued->start, issued->end, issued->device, a.worked - issued->worked},
        from);
    ReferenceWorld::sleep_until(from + taken);
    times(a).exposed[static_cast<std::size_t>(kind)] += Seconds{taken};
    waited(a, from + taken, issued->start, kind, issued->host, after_pipeline);
  });
}

void Job::synchronise(Actors& a, bool of_copy) {
  const double cost = input_.step.host.synchronise.value();
  // The marker of the copy counts, not what was issued behind it.
  if (of_copy) {
    const auto copied = a.copied;
    Mark drained;
    a.device.give([&] {
      a.lag.wait(a.main, *copied);
      drained.reach();
    });
    drained.await();
    a.main = std::max(a.main, *copied) + cost;
    return;
  }
  double at = 0;
  Mark drained;
  // The host waits until all that it has issued is done.
  a.device.give([&] {
    at = ReferenceWorld::now();
    a.lag.synchronise({a.main, a.worker, at});
    drained.reach();
  });
  drained.await();
  a.main = std::max({a.main, a.worker, at}) + cost;
}

void Job::receive(Actors& a, const Unit& unit) {
  const auto source = source_of(input_.step.shape, unit, Stage{a.stage});
  // An input of the same stage, or none, needs no message.
  if (!source || source->stage == Stage{a.stage}) return;
  issue_communication(a, program(a).send_issue);
  // Messages of several units may be there at a time; the unit's own is picked.
  const Message wanted{unit.kind != UnitKind::forward, unit.micro_batch, unit.chunk, unit.slice};
  a.device.give([this, &a, wanted] {
    const double from = ReferenceWorld::now();
    const auto found = [&] {
      return std::ranges::find_if(a.inbox, [&](const Message& m) { return m.same_unit(wanted); });
    };
    a.received.wait_until([&] { return found() != a.inbox.end(); });
    const Message message = *found();
    a.inbox.erase(found());
    // Bytes are there, the latency may still run.
    ReferenceWorld::sleep_until(message.arrival);
    waited(a, from, message.start, ExposedKind::pipeline, {}, true);
  });
}

void Job::send(Actors& a, const Unit& unit) {
  const auto reader = reader_of(input_.step.shape, unit, Stage{a.stage});
  if (!reader || reader->stage == Stage{a.stage}) return;
  const bool output = unit.kind == UnitKind::forward;
  const Channel channel = channel_of(input_.step.shape.placement, unit.chunk, output);
  const double issued = issue_communication(a, program(a).send_issue);
  // The message leaves when its unit is done, when the host has issued it, and in order.
  const auto mark = std::make_shared<Mark>();
  a.device.give([mark] { mark->reach(); });
  ++tasks_;
  ++a.sends;
  const Message message{!output, unit.micro_batch, reader->chunk, unit.slice};
  a.channel[static_cast<std::size_t>(channel)].give([this, &a, mark, issued, channel, message] {
    mark->await();
    ReferenceWorld::sleep_until(issued);
    transfer(a, channel, message);
  });
}

/// With blocking transfers the compute stream waits until what it sent has arrived.
void Job::settle_sends(Actors& a) {
  if (input_.step.p2p == ScheduleSpec::PointToPoint::overlapped) return;
  a.device.give([this, &a, sends = a.sends] {
    const double from = ReferenceWorld::now();
    a.sent.wait_until([&] { return a.sends_done >= sends; });
    ReferenceWorld::sleep_until(a.last_send_arrival);
    waited(a, from, a.last_send_start, ExposedKind::pipeline, {}, true);
  });
}

void Job::end_step(Actors& a) {
  a.device.give([this, &a, step = a.step] {
    a.end = ReferenceWorld::now();
    // A step ends with its last rank.
    step_ends_[step] = std::max(step_ends_[step], a.end);
    if (step == 0 && step_ends_.size() > 1) a.books.first_end = a.end;
    a.device_step = step + 1;
  });
}

}  // namespace stepcast::judge
