#include "stepcast/sim/replay/recorder.hpp"

#include <algorithm>
#include <utility>

#include "recording_size.hpp"

namespace stepcast {
Recorder::Recorder(Recording& out, const NetworkMap& network,
                   const std::vector<StageProgram>& programs, const RecordedClasses& recorded,
                   std::size_t lanes)
    : out_{out}, network_{network}, records_(network.classes.stage.size()), channels_{lanes} {
  const RankClasses& classes = network.classes;
  const std::size_t count = classes.stage.size();
  std::vector<bool> seen(programs.size());
  for (std::size_t c = 0; c < count; ++c) {
    const std::uint32_t stage = classes.stage[c].value;
    // The first ones, and where asked for one of each stage, so that every stage can be drawn.
    records_[c] = c < recorded.first || (recorded.of_each_stage && !seen[stage]);
    seen[stage] = true;
  }
  cursors_.resize(count);
  steps_.resize(count);
  last_on_channel_.resize(count * lanes, none);
  out_ = {};
  out_.ranks.resize(count);
  // When every class is recorded, sums over all of them are not needed.
  if (std::ranges::find(records_, false) == records_.end()) return;
  for (const StageProgram& program : programs)
    out_.worked.emplace_back(program.variants.size() + 1,
                             std::vector<Recording::Worked>(program.segments.size()));
  first_step_ = out_.worked;
  links_.emplace(network);
}

void Recorder::host_speed(std::uint32_t r, double factor) {
  if (records(r)) out_.ranks[r].host_speed = factor;
}

void Recorder::begin_unit(std::uint32_t r, const Unit& unit, std::uint32_t step, double device) {
  if (!records(r)) return;
  auto& units = out_.ranks[r].units;
  cursors_[r].unit = static_cast<std::uint32_t>(units.size());
  units.push_back({unit, step, device, device});
}

void Recorder::end_unit(std::uint32_t r, double device) {
  if (!records(r)) return;
  out_.ranks[r].units[cursors_[r].unit].end = device;
  cursors_[r].unit = none;
}

/// The other unit of a pair, which took the same time.
void Recorder::add_beside(std::uint32_t r, const Unit& unit) {
  if (!records(r)) return;
  auto& units = out_.ranks[r].units;
  Recording::UnitSpan beside = units.back();
  beside.unit = unit;
  units.push_back(beside);
}

void Recorder::end_step(std::uint32_t r, double device) {
  ++steps_[r];
  if (records(r)) out_.ranks[r].step_ends.push_back(device);
}

/// What is added up has no dates, so that the step is told by those that the class has ended.
void Recorder::add_work(std::uint32_t r, std::uint32_t segment, double seconds) {
  // The first step fills the pipeline: of several steps the others count.
  auto& sums = steps_[r] == 0 ? first_step_ : out_.worked;
  const RankClasses& classes = network_.classes;
  Recording::Worked& sum = sums[classes.stage[r].value][classes.variant[r]][segment];
  const double ranks = classes.ranks[r];
  sum.count += ranks;
  sum.seconds += ranks * seconds;
}

/// The first step of several is left out, as in all sums.
void Recorder::finish(double end) {
  out_.end = end;
  if (!links_) return;
  if (steps_.front() < 2) out_.worked = std::move(first_step_);
  links_->take(out_);
}

/// Whatever moved a clock without an entry was a pause, since everything else leaves one.
std::uint32_t Recorder::add(std::uint32_t r, const Clocks& before, Recording::Entry entry) {
  Cursor& cursor = cursors_[r];
  auto& entries = out_.ranks[r].entries;
  if (before != cursor.last) {
    entries.push_back({.after = before, .unit = cursor.unit, .kind = Recording::Kind::pause});
    ++entries_;
  }
  entry.unit = cursor.unit;
  cursor.last = entry.after;
  entries.push_back(entry);
  // A run that is too long is told with what it had so far.
  if (++entries_ > most_recorded_entries) refuse_long_recording(static_cast<double>(entries_));
  return static_cast<std::uint32_t>(entries.size() - 1);
}

std::uint32_t Recorder::segment(std::uint32_t r, const Clocks& before, const Clocks& after,
                                std::uint32_t what, double worked) {
  if (links_) add_work(r, what, worked);
  if (!records(r)) return none;
  return add(r, before,
             {.after = after, .worked = worked, .what = what, .kind = Recording::Kind::segment});
}

std::uint32_t Recorder::issue(std::uint32_t r, const Clocks& before, const Clocks& after,
                              bool after_compute) {
  if (!records(r)) return none;
  return add(r, before,
             {.after = after, .kind = Recording::Kind::issue, .after_compute = after_compute});
}

void Recorder::wait(std::uint32_t r, const Clocks& before, const Clocks& after,
                    std::uint32_t communication) {
  if (!records(r)) return;
  add(r, before, {.after = after, .communication = communication, .kind = Recording::Kind::wait});
}

void Recorder::give_cores(std::uint32_t r, const Clocks& before, const Clocks& after,
                          std::uint32_t communication) {
  if (!records(r)) return;
  // Where a kernel ends as a communication begins, rounding decides whether it gave any.
  constexpr double rounding = 1e-12;
  if (after.device - before.device <= rounding * after.device) {
    if (cursors_[r].last == before) cursors_[r].last = after;
    return;
  }
  add(r, before,
      {.after = after, .communication = communication, .kind = Recording::Kind::give_cores});
}

void Recorder::sync(std::uint32_t r, const Clocks& before, const Clocks& after, double copied) {
  if (records(r)) add(r, before, {.after = after, .copied = copied, .kind = Recording::Kind::sync});
}

/// Pieces of no length would only be drawn.
void Recorder::piece(std::uint32_t r, const Recording::Piece& piece) {
  if (records(r) && piece.to > piece.from) out_.ranks[r].pieces.push_back(piece);
}

std::uint32_t Recorder::begin_collective(std::uint32_t network, double start) {
  out_.communications.push_back({.start = start,
                                 .network = network,
                                 .first_member = static_cast<std::uint32_t>(out_.members.size())});
  return static_cast<std::uint32_t>(out_.communications.size() - 1);
}

std::uint32_t Recorder::begin_transfer(Channel channel, const Unit& unit, double start) {
  out_.communications.push_back({.start = start,
                                 .channel = channel,
                                 .unit = unit,
                                 .first_member = static_cast<std::uint32_t>(out_.members.size())});
  return static_cast<std::uint32_t>(out_.communications.size() - 1);
}

/// The communication before on the same stream is noted, because it is one of the reasons for a
/// late start.
std::uint32_t Recorder::member(std::uint32_t communication, const Recording::Member& member,
                               std::size_t channel) {
  Recording::Member known = member;
  if (records(member.rank_class)) {
    std::uint32_t& last = last_on_channel_[member.rank_class * channels_ + channel];
    // In-order streams: what came before on the lane may be why this one began late.
    known.before = last;
    // All but the receiver of a transfer.
    if (member.call != none || member.entry != none) last = communication;
  }
  ++out_.communications[communication].members;
  out_.members.push_back(known);
  const auto index = static_cast<std::uint32_t>(out_.members.size() - 1);
  issued(communication, index, member.entry);
  return index;
}

void Recorder::issued(std::uint32_t communication, std::uint32_t member, std::uint32_t entry) {
  out_.members[member].entry = entry;
  const std::uint32_t r = out_.members[member].rank_class;
  if (entry != none) out_.ranks[r].entries[entry].communication = communication;
}

void Recorder::end(std::uint32_t communication, double end, double arrival) {
  out_.communications[communication].end = end;
  out_.communications[communication].arrival = arrival;
}

/// An entry that is not recorded has no communication to refer to.
std::uint32_t Recorder::communication_of(std::uint32_t r, std::uint32_t entry) const {
  return records(r) && entry != none ? out_.ranks[r].entries[entry].communication : none;
}

}  // namespace stepcast
