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
  return input_.shape.chunks > 1 ? input_.shape.group : input_.shape.stages;
}

/// The rank stands before a unit of chunk 0 that begins a period, for the first time.
bool Replayer::at_mark(const RankState& rank) const {
  if (!may_recur_) return false;
  if (rank.part != RankState::Part::receive || rank.pc != 0 || rank.unit == rank.marked_unit)
    return false;
  const Unit& unit = (*rank.order)[rank.unit];
  return unit.chunk.value == 0 && unit.slice.value == 0 && unit.micro_batch.value % period() == 0;
}

/// Ranks that nothing holds back let the others catch up, so that a state can recur.
void Replayer::yield_at_mark(RankIndex r) {
  ranks_[r].marked_unit = ranks_[r].unit;
  mark_due_ = mark_due_ || r == 0;
  wake(r);
}

/// Compares the state with that of one period ago and skips as many periods as recur.
void Replayer::consider_skip() {
  mark_due_ = false;
  const RankState& first = ranks_.front();
  const Unit& unit = (*first.order)[first.unit];
  Mark& before = marks_[static_cast<std::size_t>(unit.kind)];
  Mark now;
  now.time = first.clocks.device;
  now.micro_batch = unit.micro_batch.value;
  now.length = now.time - before.time;
  const bool same_pace =
      before.length > 0 && std::abs(now.length - before.length) <= equal_times * now.time;
  if (same_pace && engine_.between_flows()) {
    settle();
    describe(now);
    if (!before.ranks.empty() && equal_state(before.state, now.state, now.time)) {
      const std::int64_t periods = recurring_periods(before, now);
      if (periods > 0) {
        skip(before, now, periods);
        now = Mark{};
      }
    }
  }
  before = std::move(now);
}

/// What the future depends on, relative to the mark, and the counters that move on with it.
void Replayer::describe(Mark& mark) const {
  const bool follows_clock = input_.stalls && input_.stalls->idle_clock;
  for (const RankState& rank : ranks_) {
    mark.ranks.push_back({rank.unit, rank.forwards, rank.gradients, rank.books});
    const bool free_host =
        host_is_free_ && std::max(rank.clocks.main, rank.clocks.worker) <= rank.clocks.device;
    rank.append_state(free_host, follows_clock, mark.time, mark.micro_batch, mark.state);
  }
  for (const Meeting& meeting : meetings_) {
    mark.state.push_back(static_cast<double>(meeting.members.size()));
    if (meeting.members.empty()) continue;
    for (const std::uint32_t number : {meeting.call, meeting.phase, meeting.running})
      mark.state.push_back(number);
    mark.state.push_back(meeting.start - mark.time);
    for (const Meeting::Member& member : meeting.members) {
      mark.state.push_back(member.rank);
      mark.state.push_back(member.call);
      mark.state.push_back(ranks_[member.rank].slots[member.slot].issue - member.issue);
    }
  }
  for (const RankIndex r : ready_) mark.state.push_back(r);
  engine_.append_state(mark.time, mark.state);
}

/// How often what happened between the marks happens again from now on: as long as every rank has
/// the same units before it and none of them is the first or the last of a chunk.
std::int64_t Replayer::recurring_periods(const Mark& before, const Mark& now) const {
  std::int64_t periods = std::numeric_limits<std::int64_t>::max();
  const std::size_t units = now.ranks.front().unit - before.ranks.front().unit;
  if (units == 0) return 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Mark::Rank &a = before.ranks[r], &b = now.ranks[r];
    if (b.unit - a.unit != units || ranks_[r].phase != RankState::Phase::units) return 0;
    for (std::size_t c = 0; c < a.forwards.size(); ++c) {
      if (a.forwards[c] < 2) return 0;
      const std::uint32_t moved = b.gradients[c] - a.gradients[c];
      if (moved > 0)
        periods =
            std::min(periods, (std::int64_t{gradients_per_chunk()} - 1 - b.gradients[c]) / moved);
    }
    const StageOrder& order = *ranks_[r].order;
    std::size_t i = a.unit;
    const auto again = [&](const Unit& u, const Unit& later) {
      return u.kind == later.kind && u.chunk == later.chunk && u.slice == later.slice &&
             u.with_next == later.with_next &&
             later.micro_batch.value == u.micro_batch.value + period();
    };
    // The rank may be inside its unit or pair, so that repeats too.
    const std::size_t inside = order[i].with_next ? 2 : 1;
    const std::size_t wanted =
        a.unit + inside +
        units * static_cast<std::size_t>(std::clamp<std::int64_t>(periods, 0, 1 << 30));
    while (i < wanted && i + units < order.size() && again(order[i], order[i + units])) ++i;
    if (i < a.unit + inside) return 0;
    periods = std::min(periods, static_cast<std::int64_t>((i - a.unit - inside) / units));
  }
  return std::max<std::int64_t>(0, periods);
}

/// As if the units between the marks had run that many times more.
void Replayer::skip(const Mark& before, const Mark& now, std::int64_t periods) {
  const auto count = static_cast<double>(periods);
  const double time = count * now.length;
  const auto micro_batches = static_cast<std::uint32_t>(periods * period());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    RankState& rank = ranks_[r];
    const Mark::Rank &a = before.ranks[r], &b = now.ranks[r];
    const std::size_t units = static_cast<std::size_t>(periods) * (b.unit - a.unit);
    rank.unit += units;
    if (rank.marked_unit != no_unit) rank.marked_unit += units;
    for (std::size_t c = 0; c < a.forwards.size(); ++c) {
      rank.forwards[c] += static_cast<std::uint32_t>(periods) * (b.forwards[c] - a.forwards[c]);
      rank.gradients[c] += static_cast<std::uint32_t>(periods) * (b.gradients[c] - a.gradients[c]);
    }
    for (std::size_t k = 0; k < rank.books.times.size(); ++k) {
      RankTimes period = b.books.times[k];
      add(period, a.books.times[k], -1);
      add(rank.books.times[k], period, count);
    }
    rank.shift(time, micro_batches);
  }
  for (Meeting& meeting : meetings_) meeting.start += time;
  engine_.shift(time);
  skipped_micro_batches_ += micro_batches;
}

}  // namespace stepcast
