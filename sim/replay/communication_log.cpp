#include "stepcast/sim/replay/communication_log.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {

namespace {

/// Dates closer than this, relative to themselves, are one: members of a group get there by other
/// sums.
constexpr double same_date = 1e-12;

}  // namespace

/// By start, and of those that start together by kind: which of them was told first depends on how
/// many ranks are simulated.
CommunicationLog::Ticket CommunicationLog::insert(double start, double end, ExposedKind kind) {
  const double earlier = start * (1 - same_date);
  const auto before = [&](const Interval& i) {
    return i.start < earlier || (i.start <= start * (1 + same_date) && i.kind <= kind);
  };
  // Neighbours are moved back one by one: what comes in late is nearly in order.
  std::size_t place = intervals_.size();
  intervals_.emplace_back();
  for (; place > first_ && !before(intervals_[place - 1]); --place)
    intervals_[place] = intervals_[place - 1];
  Interval& interval = intervals_[place];
  interval.start = start;
  interval.end = end;
  interval.ticket = next_;
  interval.kind = kind;
  if (constexpr std::size_t soon = 3; intervals_.capacity() >= intervals_.size() + soon)
    __builtin_prefetch(intervals_.data() + intervals_.size() + (soon - 1), 1);
  return next_++;
}

/// The end is not known yet, and until then everything after the start counts as covered.
CommunicationLog::Ticket CommunicationLog::open(double start, ExposedKind kind) {
  return insert(start, std::numeric_limits<double>::infinity(), kind);
}

void CommunicationLog::add(double start, double end, ExposedKind kind) { insert(start, end, kind); }

/// The search runs from the back, because what began last mostly ends first.
void CommunicationLog::close(Ticket ticket, double end) {
  const auto found =
      std::ranges::find(intervals_.rbegin(), intervals_.rend(), ticket, &Interval::ticket);
  found->end = end;
}

/// Parts in which something moved are exposed, by the kind that began first, or that comes first
/// in ExposedKind of those that began together; the rest is the host's, then the peer's.
void CommunicationLog::split(const Wait& wait, RankTimes& times,
                             std::vector<Recording::Piece>* pieces) const {
  const auto note = [&](double from, double to, WaitPart part, ExposedKind kind) {
    if (pieces && to > from) pieces->push_back({from, to, part, kind});
  };
  // Nothing moved here: first the host was late, then it compiled, then others were late.
  const auto uncovered = [&](double a, double b) {
    const double host = std::clamp(wait.host.at, a, b);
    const double prompt = std::clamp(wait.host.prompt, a, host);
    times.host_stall += Seconds{prompt - a};
    times.compile_stall += Seconds{host - prompt};
    (wait.pipeline ? times.bubble : times.other_idle) += Seconds{b - host};
    note(a, prompt, WaitPart::host_stall, {});
    note(prompt, host, WaitPart::compile_stall, {});
    note(host, b, wait.pipeline ? WaitPart::bubble : WaitPart::other_idle, {});
  };
  double at = wait.from;
  for (std::size_t i = first_; i < intervals_.size() && at < wait.to; ++i) {
    const Interval& interval = intervals_[i];
    // Intervals come by start; each covers what none before it has.
    if (interval.start >= wait.to) break;
    if (interval.end <= at) continue;
    if (interval.start > at) uncovered(std::exchange(at, interval.start), interval.start);
    const double until = std::min(interval.end, wait.to);
    times.exposed[static_cast<std::size_t>(interval.kind)] += Seconds{until - at};
    note(at, until, WaitPart::exposed, interval.kind);
    at = until;
  }
  if (at < wait.to) uncovered(at, wait.to);
}

/// A wait is split only when nothing can begin before its end any more.
void CommunicationLog::settle(double time, double device, StepBooks& books,
                              std::vector<Recording::Piece>* pieces) {
  std::size_t settled = 0;
  // Waits end in order of time, so that the first unsettled one ends the loop.
  while (settled < waits_.size() && waits_[settled].to <= time) {
    const Wait& wait = waits_[settled++];
    forget(wait.from, books);
    split(wait, books.times[wait.to <= books.first_end ? 0 : 1], pieces);
  }
  waits_.erase(waits_.begin(), waits_.begin() + static_cast<std::ptrdiff_t>(settled));
  // No later wait reaches behind the clock of the device, or behind the first wait that is open.
  forget(std::min(time, waits_.empty() ? device : waits_.front().from), books);
  intervals_.erase(intervals_.begin(), intervals_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
  settled_until_ = time;
}

/// What no open wait can meet only counts in the total, as a union; the end of the first step cuts
/// it in two.
void CommunicationLog::forget(double time, StepBooks& books) {
  for (; first_ < intervals_.size() && intervals_[first_].end <= time; ++first_) {
    const Interval& interval = intervals_[first_];
    // Overlapping communications count once.
    const double from = std::max(interval.start, covered_until_);
    const double cut = std::clamp(books.first_end, from, std::max(from, interval.end));
    books.times[0].communication += Seconds{cut - from};
    books.times[1].communication += Seconds{std::max(0.0, interval.end - cut)};
    covered_until_ = std::max(covered_until_, interval.end);
  }
}

void CommunicationLog::shift(double time) {
  // Skipped steps repeat the last one: every date moves by the same time.
  for (Interval& interval : intervals_) {
    interval.start += time;
    interval.end += time;
  }
  for (Wait& wait : waits_) {
    wait.from += time;
    wait.to += time;
    wait.host.at += time;
    wait.host.prompt += time;
  }
  covered_until_ += time;
  settled_until_ += time;
}

/// Tickets are left out: they only tell intervals apart, and differ between any two marks.
void CommunicationLog::append_state(double origin, std::vector<double>& state) const {
  state.push_back(static_cast<double>(intervals_.size()));
  for (const Interval& interval : intervals_) {
    state.push_back(interval.start - origin);
    state.push_back(interval.end - origin);
    state.push_back(static_cast<double>(interval.kind));
  }
  for (const Wait& wait : waits_) {
    for (const double time : {wait.from, wait.to, std::max(wait.from, wait.host.at),
                              std::max(wait.from, wait.host.prompt)})
      state.push_back(time - origin);
    state.push_back(wait.pipeline ? 1 : 0);
  }
  // What is covered before anything that is still to be counted makes no difference.
  const double counts_from =
      intervals_.empty() ? settled_until_ : std::min(settled_until_, intervals_.front().start);
  state.push_back(std::max(covered_until_, counts_from) - origin);
}

Seconds RankTimes::exposed_total() const {
  Seconds total{0};
  for (const Seconds part : exposed) total += part;
  return total;
}

}  // namespace stepcast
