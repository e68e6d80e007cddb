#include <algorithm>
#include <cmath>

#include "replayer.hpp"

// Skips micro-batches when the whole state of the job recurs. docs/models/replay.md.
namespace stepcast {
namespace {

/// States are equal when no time differs by more than this, relative to the clock.
constexpr double equal_times = 1e-12;

/// Times are compared against the clock, because rounding grows with it.
bool equal_state(const std::vector<double>& a, const std::vector<double>& b, double clock) {
  const double most = equal_times * clock;
  return std::ranges::equal(
      a, b, [most](double x, double y) { return x == y || std::abs(x - y) <= most; });
}

}  // namespace

/// Micro-batches after which the order of a stage and the state of a pipeline can repeat.
std::int64_t Replayer::period() const {
  // An interleaved stage repeats after a group, others after as many micro-batches as stages.
  return input_.shape.chunks > 1 ? input_.shape.group : input_.shape.stages;
}

/// The rank stands before a unit of chunk 0 that begins a period, for the first time.
bool Replayer::at_mark(const RankState& rank) const {
  if (!may_recur_) return false;
  // Between two units, and not twice before the same one.
  if (rank.part != RankState::Part::receive || rank.pc != 0 || rank.unit == rank.marked_unit)
    return false;
  const Unit& unit = (*rank.order)[rank.unit];
  return unit.chunk.value == 0 && unit.slice.value == 0 && unit.micro_batch.value % period() == 0;
}

/// Ranks that nothing holds back let the others catch up, so that a state can recur.
void Replayer::yield_at_mark(RankIndex r) {
  ranks_[r].marked_unit = ranks_[r].unit;
  mark_due_ = mark_due_ || r == 0;
  if (input_.await_inputs) return wake(r);
  // Where nobody waits for messages they have to catch up at marks: logs would grow with the step.
  engine_.post(std::max(engine_.now(), ranks_[r].clocks.device), tag_of(Tag::mark, r));
}

/// Compares the state with those of the last marks and skips as often as what happened since one of
/// them recurs.
void Replayer::consider_skip() {
  mark_due_ = false;
  const RankState& first = ranks_.front();
  const Unit& unit = (*first.order)[first.unit];
  // Forwards and backwards of rank 0 are compared with their like.
  std::deque<Mark>& marks = marks_[static_cast<std::size_t>(unit.kind)];
  Mark now;
  now.time = first.clocks.device;
  now.micro_batch = unit.micro_batch.value;
  now.length = marks.empty() ? 0 : now.time - marks.back().time;
  const auto same_pace = [&now](const Mark& before) {
    return before.length > 0 && std::abs(now.length - before.length) <= equal_times * now.time;
  };
  // Paces are cheap to compare; states are compared only when a pace has come twice.
  if (std::ranges::any_of(marks, same_pace) && engine_.may_shift()) {
    settle();
    describe(now);
    // NOLINTNEXTLINE(modernize-loop-convert): clang 14 compiles no views of libstdc++
    for (auto before = marks.rbegin(); before != marks.rend(); ++before) {
      if (!same_pace(*before) || !skip_since(*before, now)) continue;
      // Older marks describe dates before the jump.
      for (std::deque<Mark>& old : marks_) old.clear();
      return;
    }
  }
  marks.push_back(std::move(now));
  if (marks.size() > most_marks) marks.pop_front();
}

/// Whether the states are equal and something was skipped.
bool Replayer::skip_since(const Mark& before, const Mark& now) {
  // Marks at which the pace was not steady carry no state.
  if (before.ranks.empty() || !equal_state(before.state, now.state, now.time)) return false;
  const std::int64_t times = recurrences(before, now);
  if (times > 0) skip(before, now, times);
  return times > 0;
}

/// What the future depends on, relative to the mark, and the counters that move on with it.
void Replayer::describe(Mark& mark) const {
  const bool follows_clock =
      input_.stalls && (input_.stalls->idle_clock || input_.stalls->power_cap);
  for (const RankState& rank : ranks_) {
    mark.ranks.push_back({rank.unit, rank.begun, rank.books});
    // A host behind the device, which costs nothing, cannot be felt any more.
    const bool free_host =
        host_is_free_ && std::max(rank.clocks.main, rank.clocks.worker) <= rank.clocks.device;
    rank.append_state(free_host, follows_clock, mark.time, mark.micro_batch, mark.state);
  }
  describe_meetings(mark);
  // The order in which ranks go on decides ties.
  for (const RankIndex r : ready_) mark.state.push_back(r);
  engine_.append_state(
      mark.time, [this](std::uint64_t tag) { return name_of(tag); }, mark.state);
}

/// Rendezvous by name and not by number, because numbers are given again as they come free.
void Replayer::describe_meetings(Mark& mark) const {
  std::vector<std::pair<double, const Meeting*>> named;
  for (const Meeting& meeting : meetings_) {
    if (!meeting.members.empty()) named.emplace_back(name_of(meeting), &meeting);
  }
  std::ranges::sort(named);
  for (const auto& [name, meeting] : named) {
    mark.state.insert(mark.state.end(), {name, static_cast<double>(meeting->members.size())});
    for (const std::uint32_t number : {meeting->call, meeting->phase, meeting->running})
      mark.state.push_back(number);
    mark.state.push_back(meeting->start - mark.time);
    mark.state.push_back(meeting->running > 0 ? meeting->phase_end - mark.time : 0);
    for (const Meeting::Member& member : meeting->members) {
      mark.state.push_back(member.rank);
      mark.state.push_back(member.call);
      mark.state.push_back(ranks_[member.rank].slots[member.slot].issue - member.issue);
    }
  }
}

/// A stream is at one rendezvous at a time, so the least rank that has arrived and its stream name
/// it.
double Replayer::name_of(const Meeting& meeting) const {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Meeting::Member& member : meeting.members) {
    const auto stream = static_cast<std::uint64_t>(program(member.rank).calls[member.call].stream);
    least = std::min(least, member.rank * std::uint64_t{streams} + stream);
  }
  return static_cast<double>(least);
}

/// The tag with the name of its rendezvous in the place of the number; the flow of a phase is the
/// higher half.
double Replayer::name_of(std::uint64_t tag) const {
  const std::uint64_t index = tag / tag_kinds;
  const auto kind = static_cast<double>(tag % tag_kinds);
  const auto what = static_cast<Tag>(tag % tag_kinds);
  if (what == Tag::transfer || what == Tag::mark)
    return static_cast<double>(index) * tag_kinds + kind;
  const auto id = static_cast<std::uint32_t>(index);
  const auto flow = static_cast<double>(index >> 32U);
  const auto names = static_cast<double>(ranks_.size() * streams);
  return (flow * names + name_of(meetings_[id])) * tag_kinds + kind;
}

/// How often what happened between the marks happens again from now on: as long as every rank has
/// the same units before it and none of them is the first or the last of a chunk.
std::int64_t Replayer::recurrences(const Mark& before, const Mark& now) const {
  std::int64_t times = std::numeric_limits<std::int64_t>::max();
  const std::int64_t micro_batches = now.micro_batch - before.micro_batch;
  const std::size_t units = now.ranks.front().unit - before.ranks.front().unit;
  // No unit in between: nothing has happened that could happen again.
  if (units == 0) return 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Mark::Rank &a = before.ranks[r], &b = now.ranks[r];
    // All ranks must have done the same number of units, and be amid them.
    if (b.unit - a.unit != units || ranks_[r].phase != RankState::Phase::units) return 0;
    for (std::size_t c = 0; c < a.begun.forwards.size(); ++c) {
      // A first forward has code of its own and does not repeat.
      if (a.begun.forwards[c] < 2) return 0;
      const std::uint32_t moved = b.begun.gradients[c] - a.begun.gradients[c];
      // Stop before the last gradient of a chunk, which starts reductions.
      if (moved > 0)
        times = std::min(
            times,
            (std::int64_t{gradients_per_chunk(input_.shape)} - 1 - b.begun.gradients[c]) / moved);
    }
    const StageOrder& order = *ranks_[r].order;
    std::size_t i = a.unit;
    const auto again = [&](const Unit& u, const Unit& later) {
      return u.kind == later.kind && u.chunk == later.chunk && u.slice == later.slice &&
             u.with_next == later.with_next &&
             later.micro_batch.value == u.micro_batch.value + micro_batches;
    };
    // The rank may be inside its unit or pair, so that repeats too.
    const std::size_t inside = order[i].with_next ? 2 : 1;
    // As far as the order of this rank goes on repeating itself.
    const std::size_t wanted =
        a.unit + inside +
        units * static_cast<std::size_t>(std::clamp<std::int64_t>(times, 0, 1 << 30));
    while (i < wanted && i + units < order.size() && again(order[i], order[i + units])) ++i;
    if (i < a.unit + inside) return 0;
    times = std::min(times, static_cast<std::int64_t>((i - a.unit - inside) / units));
  }
  return std::max<std::int64_t>(0, times);
}

/// As if the units between the marks had run that many times more.
void Replayer::skip(const Mark& before, const Mark& now, std::int64_t times) {
  const auto count = static_cast<double>(times);
  const double time = count * (now.time - before.time);
  // Units, counters and books move on by as much as between the marks, so many times.
  const auto micro_batches =
      static_cast<std::uint32_t>(times) * (now.micro_batch - before.micro_batch);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    RankState& rank = ranks_[r];
    const Mark::Rank &a = before.ranks[r], &b = now.ranks[r];
    const std::size_t units = static_cast<std::size_t>(times) * (b.unit - a.unit);
    rank.unit += units;
    if (rank.marked_unit != no_unit) rank.marked_unit += units;
    for (std::size_t c = 0; c < a.begun.forwards.size(); ++c) {
      rank.begun.forwards[c] +=
          static_cast<std::uint32_t>(times) * (b.begun.forwards[c] - a.begun.forwards[c]);
      rank.begun.gradients[c] +=
          static_cast<std::uint32_t>(times) * (b.begun.gradients[c] - a.begun.gradients[c]);
    }
    for (std::size_t k = 0; k < rank.books.times.size(); ++k) {
      // Books after the period minus books before it are what one period adds.
      RankTimes period = b.books.times[k];
      add(period, a.books.times[k], -1);
      add(rank.books.times[k], period, count);
    }
    rank.shift(time, micro_batches);
  }
  // The clock of the engine moves with those of the ranks.
  for (Meeting& meeting : meetings_) {
    meeting.start += time;
    meeting.phase_end += time;
  }
  engine_.shift(time);
  skipped_micro_batches_ += micro_batches;
}

}  // namespace stepcast
