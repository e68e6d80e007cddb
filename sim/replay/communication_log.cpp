#include "communication_log.hpp"

#include <algorithm>
#include <utility>

namespace stepcast {

CommunicationLog::Ticket CommunicationLog::open(double start, ExposedKind kind) {
  const Interval interval{start, std::numeric_limits<double>::infinity(), kind, next_};
  const auto later = [](double time, const Interval& i) { return time < i.start; };
  const auto first = intervals_.begin() + static_cast<std::ptrdiff_t>(first_);
  intervals_.insert(std::upper_bound(first, intervals_.end(), start, later), interval);
  return next_++;
}

void CommunicationLog::close(Ticket ticket, double end) {
  const auto found =
      std::ranges::find(intervals_.rbegin(), intervals_.rend(), ticket, &Interval::ticket);
  found->end = end;
}

/// Parts in which something moved are exposed, by the kind that began first; the rest is the
/// host's, then the peer's.
void CommunicationLog::split(const Wait& wait, RankTimes& times) const {
  const auto uncovered = [&](double a, double b) {
    const double host = std::clamp(wait.host_ready, a, b);
    times.host_stall += Seconds{host - a};
    (wait.pipeline ? times.bubble : times.other_idle) += Seconds{b - host};
  };
  double at = wait.from;
  for (std::size_t i = first_; i < intervals_.size() && at < wait.to; ++i) {
    const Interval& interval = intervals_[i];
    if (interval.start >= wait.to) break;
    if (interval.end <= at) continue;
    if (interval.start > at) uncovered(std::exchange(at, interval.start), interval.start);
    const double until = std::min(interval.end, wait.to);
    times.exposed[static_cast<std::size_t>(interval.kind)] += Seconds{until - at};
    at = until;
  }
  if (at < wait.to) uncovered(at, wait.to);
}

void CommunicationLog::settle(double time, double device, RankTimes& times) {
  std::size_t settled = 0;
  while (settled < waits_.size() && waits_[settled].to <= time) {
    forget(waits_[settled].from);
    split(waits_[settled++], times);
  }
  waits_.erase(waits_.begin(), waits_.begin() + static_cast<std::ptrdiff_t>(settled));
  forget(std::min(time, waits_.empty() ? device : waits_.front().from));
  intervals_.erase(intervals_.begin(), intervals_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

void CommunicationLog::forget(double time) {
  for (; first_ < intervals_.size() && intervals_[first_].end <= time; ++first_) {
    const Interval& interval = intervals_[first_];
    total_ += std::max(0.0, interval.end - std::max(interval.start, covered_until_));
    covered_until_ = std::max(covered_until_, interval.end);
  }
}

Seconds RankTimes::exposed_total() const {
  Seconds total{0};
  for (const Seconds part : exposed) total += part;
  return total;
}

}  // namespace stepcast
