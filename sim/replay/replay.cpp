#include "stepcast/sim/replay/replay.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "large_pages.hpp"
#include "recording_size.hpp"
#include "replayer.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

/// Rounding does not make a segment host-bound.
constexpr double host_bound_margin = 1e-9;

/// Of fewer ranks a second-level cache holds what they use again and again.
constexpr std::uint32_t crowd = 128;

/// A host that costs nothing has no state, so that more steps are found to recur.
bool costs_host_time(const OperatorCost& cost) {
  return cost.main > 0 || cost.worker > 0 || cost.launch > 0;
}

bool costs_host_time(const StageProgram& program) {
  return costs_host_time(program.send_issue) ||
         std::ranges::any_of(program.calls,
                             [](const StageCall& c) { return costs_host_time(c.issue); }) ||
         std::ranges::any_of(program.segments, [](const Segment& s) {
           return std::ranges::any_of(s.operators(),
                                      [](const OperatorCost& o) { return costs_host_time(o); });
         });
}

bool alike(const Segment& a, const Segment& b) {
  const auto numbers = [](const OperatorCost& o) {
    return std::array{o.main, o.worker, o.launch, o.device, o.draw, o.compile};
  };
  return std::ranges::equal(a.operators(), b.operators(), {}, numbers, numbers);
}

bool some_cost_host_time(const ReplayInput& input) {
  const auto any = [](const std::vector<StageProgram>& programs) {
    return std::ranges::any_of(programs, [](const StageProgram& p) { return costs_host_time(p); });
  };
  return input.kinds ? std::ranges::any_of(input.kinds->programs, any) : any(input.programs);
}

}  // namespace

bool compiles(const StageProgram& program) {
  const auto any = [](const std::vector<Segment>& segments) {
    return std::ranges::any_of(segments, &Segment::compiles);
  };
  return any(program.segments) || std::ranges::any_of(program.variants, any);
}

bool host_is_free(const ReplayInput& input) {
  return !(input.stalls && input.stalls->holds_host()) && !some_cost_host_time(input);
}

/// Jitter, pauses and documents that differ rule it out for the whole run.
bool may_recur(const ReplayInput& input) {
  return input.skip_recurring && !(input.stalls && input.stalls->irregular()) &&
         !(input.loads && !input.loads->repeats());
}

/// Whether anything may recur is settled once.
Replayer::Replayer(const ReplayInput& input)
    : input_{input},
      map_{input.network},
      engine_{map_.bandwidths, input.sharing},
      step_ends_(static_cast<std::size_t>(input.steps)),
      may_recur_{may_recur(input) && !input.record},
      host_is_free_{host_is_free(input)} {
  const auto ranks = static_cast<RankIndex>(map_.classes.representative.size());
  crowded_ = ranks > crowd;
  expect_allocations(ranks * room_per_rank);
  // Peers in a plain list: prefetching must not read the map that it wants to spare.
  for (std::size_t c = 0; crowded_ && c < channels; ++c)
    for (const NetworkHop& hop : map_.hops[c]) peers_[c].push_back(hop.peer);
  if (input.record)
    recorder_.emplace(*input.record, map_, input.programs, input.recorded, streams + channels);
  if (recorder_) {
    const double entries = recorded_entries();
    refuse_long_recording(entries);
    // With waits, and the communications that entries refer to.
    expect_allocations(static_cast<std::size_t>(2 * entries) * sizeof(Recording::Entry));
  }
  // With kinds of nodes a stage has several programs, of which the order may differ.
  if (!input.kinds)
    for (const StageProgram& stage : input.programs) orderly_.push_back(orderly(stage));
  std::uint32_t groups = 0;
  calls_.reserve(map_.calls.size());
  for (const NetworkCall& call : map_.calls) {
    calls_.push_back(summary_of(call));
    // Calls of the whole world share the last place of the list.
    if (call.group != NetworkCall::no_group) groups = std::max(groups, call.group + 1);
  }
  open_meetings_.resize(groups + 1);
  ranks_.reserve(ranks);
  for (RankIndex r = 0; r < ranks; ++r) {
    RankState& rank =
        ranks_.emplace_back(static_cast<std::uint64_t>(host(r).queue_depth), !may_recur_,
                            program_of(r).slots, static_cast<std::size_t>(input.shape.chunks));
    rank.id = map_.classes.representative[r];
    rank.stage = map_.classes.stage[r];
    rank.variant = map_.classes.variant[r];
    rank.program = &program_of(r);
    rank.call_of = map_.call_of[r].data();
    rank.order = &input.orders[rank.stage.value];
    // Only programs that compile pay for following it.
    if (compiles(*rank.program)) rank.host_queue.follow_compiling();
    start_stalls(r);
    rank.segments = segments_of(rank);
    if (recorder_) recorder_->host_speed(r, rank.speed.host);
  }
  if (!orderly_.empty()) find_calls_in_turn();
}

/// Most segments of a stage are the same in all of its variants, and then one stands for all: ranks
/// of many variants would read more operators than a cache holds.
const Segment* const* Replayer::segments_of(const RankState& rank) {
  const StageProgram& program = *rank.program;
  const auto [place, fresh] = segments_.try_emplace({&program, rank.variant});
  std::vector<const Segment*>& list = place->second;
  for (std::uint32_t s = 0; fresh && s < program.segments.size(); ++s) {
    const Segment *first = &program.segments[s], *own = &program.segment(s, rank.variant);
    list.push_back(alike(*own, *first) ? first : own);
  }
  return list.data();
}

Timeline Replayer::run() {
  if (watched_) expect_work(expected());
  for (auto r = static_cast<RankIndex>(ranks_.size()); r-- > 0;) wake(r);
  work();
  engine_.run(*this);
  for (const RankState& rank : ranks_) {
    if (rank.waiting != Waiting::done) report_deadlock();
  }
  return timeline();
}

/// Ranks run ahead of the engine's clock as far as what they wait for is known.
void Replayer::work() {
  while (!ready_.empty() || !free_streams_.empty()) {
    // Rank 0 is about to go on from a mark and all others have done what they can.
    if (mark_due_ && free_streams_.empty() && ready_.front() == 0) consider_skip();
    // Streams first: what they begin may let ranks go on.
    if (!free_streams_.empty()) {
      const auto [r, stream] = free_streams_.back();
      free_streams_.pop_back();
      pump_stream(r, stream);
    } else {
      // A rank may be woken more than once, and be done by then.
      const RankIndex r = ready_.front();
      ready_.pop_front();
      if (ranks_[r].waiting != Waiting::done) advance(r);
    }
  }
}

/// A rank goes on until it has to wait; whoever ends that wait wakes it up again, so that nothing
/// is polled.
void Replayer::advance(RankIndex r) {
  RankState& rank = ranks_[r];
  rank.waiting = Waiting::nothing;
  while (rank.step < step_ends_.size()) {
    if (!run_step(r)) return;
    end_step(r);
  }
  rank.waiting = Waiting::done;
}

/// One step from where the rank is in it; false when it has to wait first.
bool Replayer::run_step(RankIndex r) {
  RankState& rank = ranks_[r];
  const StageProgram& code = program(r);
  if (rank.phase == RankState::Phase::begin) {
    begin_step(r);
    rank.phase = RankState::Phase::prologue;
  }
  if (rank.phase == RankState::Phase::prologue) {
    if (!next_instruction(r, code.prologue)) return false;
    rank.phase = RankState::Phase::units;
    rank.pc = 0;
  }
  while (rank.phase == RankState::Phase::units && rank.unit < rank.order->size()) {
    // Where a period begins, the others get the chance to catch up, so that states can be compared.
    if (at_mark(rank)) {
      yield_at_mark(r);
      return false;
    }
    if (!run_unit(r)) return false;
  }
  rank.phase = RankState::Phase::epilogue;
  return next_instruction(r, code.epilogue);
}

/// Only what counts within a step begins anew: clocks, streams and messages go on, because nothing
/// but the programs' own waits stands between two steps.
void Replayer::end_step(RankIndex r) {
  RankState& rank = ranks_[r];
  save_checkpoint(r);
  await_batch(r);
  rank.end = rank.clocks.device;
  if (recorder_) recorder_->end_step(r, rank.end);
  double& end = step_ends_[rank.step];
  end = std::max(end, rank.end);
  // Where its own first step ends: the books tell first and later steps apart by it.
  if (rank.step == 0 && step_ends_.size() > 1) rank.books.first_end = rank.end;
  ++rank.step;
  rank.phase = RankState::Phase::begin;
  rank.part = RankState::Part::receive;
  rank.unit = rank.pc = 0;
  std::ranges::fill(rank.begun.forwards, 0U);
  std::ranges::fill(rank.begun.gradients, 0U);
  rank.met_after_pipeline = false;
  rank.marked_unit = no_unit;
  // Marks compare units of one step.
  if (r == 0) marks_ = {};
}

/// Executes from `pc` to the end of the code; false when the rank has to wait first.
bool Replayer::next_instruction(RankIndex r, const Instructions& code) {
  RankState& rank = ranks_[r];
  while (rank.pc < code.size()) {
    if (!execute(r, code[rank.pc])) return false;
    ++rank.pc;
    ++tasks_;
  }
  return true;
}

/// A collection that is due happens at the next host instruction, whatever that is.
bool Replayer::execute(RankIndex r, const Instruction& instruction) {
  RankState& rank = ranks_[r];
  const auto* wait = std::get_if<Wait>(&instruction);
  // Until it is over, a wait is executed again and again.
  if (wait && !slot_is_over(r, wait->slot)) return false;
  // Pauses of the host happen between instructions, once for each of them.
  collect_garbage(rank);
  if (const auto* run = std::get_if<Compute>(&instruction)) {
    compute(r, run->segment);
  } else if (const auto* start = std::get_if<Communicate>(&instruction)) {
    communicate(r, *start);
  } else if (wait) {
    wait_slot(r, wait->slot);
  } else if (const auto* sync = std::get_if<HostSync>(&instruction)) {
    synchronise(r, host(r).synchronise.value(), sync->of_copy);
  } else {
    // A copy to the host stands here in the compute stream; a later sync may wait for it alone.
    rank.copied = rank.clocks.device;
  }
  return true;
}

/// Factor on the device time of a segment from the documents of the micro-batch at hand.
double Replayer::attention_factor(RankIndex r, std::uint32_t segment) const {
  const auto& attention = program(r).attention;
  if (input_.loads == nullptr || attention.empty() || !attention[segment].scales()) return 1;
  const RankState& rank = ranks_[r];
  const AttentionLoads& loads = *input_.loads;
  const auto& sequence = loads.sequences[loads.of_rank[rank.id.value]];
  // In the second half of a pair the micro-batch is that of the backward.
  const std::size_t unit = rank.unit + (rank.part == RankState::Part::second ? 1 : 0);
  const AttentionLoad& load = sequence[(*rank.order)[unit].micro_batch.value];
  return attention[segment].factor(load.pairs, load.tokens);
}

/// Every synchronisation goes through here, so that none is missing in the recording.
void Replayer::synchronise(RankIndex r, double cost, bool of_copy) {
  RankState& rank = ranks_[r];
  const Clocks before = rank.clocks;
  CompileLag& lag = rank.host_queue.compile_lag();
  // After a copy alone the host is let go where the copy stood, not where the stream is now.
  if (of_copy) {
    lag.wait(before.main, rank.copied);
    rank.clocks.main = std::max(before.main, rank.copied) + cost;
  } else {
    lag.synchronise(before);
    rank.clocks = host_sync(before, cost);
  }
  if (recorder_) recorder_->sync(r, before, rank.clocks, of_copy ? rank.copied : -1);
}

/// Whatever a segment takes beyond the work of the device, the device waited for the host: nothing
/// else can hold it up inside.
void Replayer::compute(RankIndex r, std::uint32_t index) {
  RankState& rank = ranks_[r];
  const Clocks before = rank.clocks;
  const double worked = run_segment(r, *rank.segments[index], attention_factor(r, index));
  const double took = rank.clocks.device - before.device;
  if (recorder_) recorder_->segment(r, before, rank.clocks, index, worked);
  RankTimes& times = rank.times();
  times.computing += Seconds{worked};
  rank.worked += worked;
  times.segments += 1;
  // Rounding alone does not make a segment host-bound.
  if (took <= worked * (1 + host_bound_margin)) return;
  times.host_bound_segments += 1;
  // What compiling held up is known by the queue; the rest was plain dispatch.
  const double compiled = std::min(rank.host_queue.compile_stall(), took - worked);
  const double issued = took - worked - compiled;
  times.host_stall += Seconds{issued};
  times.compile_stall += Seconds{compiled};
  if (!recorder_) return;
  const double at = before.device + issued, end = before.device + (took - worked);
  recorder_->piece(r, {before.device, at, WaitPart::host_stall, ExposedKind::tensor});
  recorder_->piece(r, {at, end, WaitPart::compile_stall, ExposedKind::tensor});
}

/// Waits for what the unit, or both units of the pair, need; then they count as begun.
bool Replayer::receive_inputs(RankIndex r) {
  RankState& rank = ranks_[r];
  // Both inputs of a pair are posted and awaited one after the other, in the order of the units.
  const Unit* unit = &(*rank.order)[rank.unit];
  const std::size_t units = unit->with_next ? 2 : 1;
  if (rank.pc == 0) {
    begin_unit(r);
    rank.pc = 1;
  }
  for (; rank.pc <= units; ++rank.pc) {
    if (!receive(r, unit[rank.pc - 1])) return false;
  }
  // Counted when they begin: first and last units of a chunk have other code.
  for (std::size_t i = 0; i < units; ++i) rank.begun.begin(unit[i]);
  return true;
}

/// The code of the unit, or of both units of the pair.
bool Replayer::run_code(RankIndex r) {
  RankState& rank = ranks_[r];
  const Unit* unit = &(*rank.order)[rank.unit];
  const auto alone = [&](const Unit& u) -> const Instructions& {
    return unit_code(rank.begun, program(r), input_.shape, u);
  };
  // No joint code: the first forward, the last backward, or a program that does not pair.
  const Instructions* together =
      unit->with_next ? pair_code(rank.begun, program(r), input_.shape, *unit, unit[1]) : nullptr;
  if (rank.part == RankState::Part::code) {
    const Instructions& code = together ? *together : alone(*unit);
    if (!next_instruction(r, code)) return false;
    rank.pc = 0;
    rank.part = RankState::Part::second;
  }
  if (together || !unit->with_next) return true;
  return next_instruction(r, alone(unit[1]));
}

/// One unit or pair: wait for its inputs, run its code, send its outputs.
bool Replayer::run_unit(RankIndex r) {
  using Part = RankState::Part;
  RankState& rank = ranks_[r];
  const Unit* unit = &(*rank.order)[rank.unit];
  // Each part may have to wait; the rank comes back to the part it stands in.
  if (rank.part == Part::receive) {
    if (!receive_inputs(r)) return false;
    rank.part = Part::code;
    rank.pc = 0;
    if (recorder_) recorder_->begin_unit(r, *unit, rank.step, rank.clocks.device);
  }
  if (rank.part == Part::code || rank.part == Part::second) {
    if (!run_code(r)) return false;
    rank.part = Part::send;
    if (recorder_) {
      recorder_->end_unit(r, rank.clocks.device);
      if (unit->with_next) recorder_->add_beside(r, unit[1]);
    }
  }
  if (rank.part == Part::send) {
    // Both outputs leave at the end of the pair.
    send(r, *unit);
    if (unit->with_next) send(r, unit[1]);
    rank.part = Part::settle;
  }
  if (rank.part == Part::settle && !settle_send(r)) return false;
  end_unit(r);
  settle_when_due();
  constexpr std::uint64_t units_between = 1 << 14;
  if (watched_ && ++units_ % units_between == 0) tell_progress(r);
  rank.part = Part::receive;
  rank.pc = 0;
  rank.unit += unit->with_next ? 2 : 1;
  return true;
}

/// One rank is named and not all of them, since the others most likely wait for it.
void Replayer::report_deadlock() const {
  // A clock beyond its range makes ranks wait for dates that never come.
  if (engine_.now() > latest_date) refuse_late_date();
  for (RankIndex r = 0; r < ranks_.size(); ++r) {
    const RankState& rank = ranks_[r];
    if (rank.waiting == Waiting::done) continue;
    const RankClasses& classes = map_.classes;
    std::string what = "rank " + std::to_string(classes.representative[r].value) + " of stage " +
                       std::to_string(classes.stage[r].value) + " waits for ever";
    if (rank.waiting == Waiting::message && rank.unit < rank.order->size()) {
      what += " for the input of " + to_string((*rank.order)[rank.unit], input_.shape);
    } else if (rank.waiting == Waiting::slot) {
      what += " for " + program(r).calls[rank.slots[rank.waiting_slot].call].name;
    }
    throw EngineError(what);
  }
  throw EngineError("the replay stopped early");
}

/// What an event makes known lets ranks go on, so that they work before the next one is handled.
void Replayer::on_event(double now, std::uint64_t tag) {
  const std::uint64_t index = tag / tag_kinds;
  switch (static_cast<Tag>(tag % tag_kinds)) {
    case Tag::meeting:
      begin_phase(static_cast<std::uint32_t>(index), now);
      break;
    case Tag::phase_flow:
      break;  // the tag of flows alone
    case Tag::transfer:
      transfer(static_cast<RankIndex>(index / channels),
               Channel{static_cast<std::uint8_t>(index % channels)}, now);
      break;
    case Tag::mark:
      wake(static_cast<RankIndex>(index));
      break;
  }
  work();
}

/// The latency follows the bytes and is ours, because SimGrid would share by it.
void Replayer::on_flow_end(double now, std::uint64_t tag) {
  const std::uint64_t index = tag / tag_kinds;
  if (static_cast<Tag>(tag % tag_kinds) == Tag::phase_flow) {
    // The flow's number rides in the upper half of the index.
    phase_flow_ended(static_cast<std::uint32_t>(index), index >> 32U, now);
  } else {
    const auto r = static_cast<RankIndex>(index / channels);
    const Channel channel{static_cast<std::uint8_t>(index % channels)};
    bytes_ended(r, channel, now);
    pump_channel(r, channel);
  }
  work();
}

Timeline replay(const ReplayInput& input) { return Replayer(input).run(); }

}  // namespace stepcast
