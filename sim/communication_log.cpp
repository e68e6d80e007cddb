#include "communication_log.hpp"

#include <algorithm>

namespace stepcast {

CommunicationLog::Ticket CommunicationLog::open(double start, ExposedKind kind) {
  const Interval interval{start, std::numeric_limits<double>::infinity(), kind, next_};
  const auto later = [](double time, const Interval& i) { return time < i.start; };
  intervals_.insert(std::upper_bound(intervals_.begin(), intervals_.end(), start, later), interval);
  return next_++;
}

void CommunicationLog::close(Ticket ticket, double end) {
  const auto found =
      std::ranges::find(intervals_.rbegin(), intervals_.rend(), ticket, &Interval::ticket);
  found->end = end;
}

void CommunicationLog::forget(double time) {
  std::size_t gone = 0;
  while (gone < intervals_.size() && intervals_[gone].end <= time) {
    const Interval& interval = intervals_[gone++];
    total_ += std::max(0.0, interval.end - std::max(interval.start, covered_until_));
    covered_until_ = std::max(covered_until_, interval.end);
  }
  intervals_.erase(intervals_.begin(), intervals_.begin() + static_cast<std::ptrdiff_t>(gone));
}

Seconds RankTimes::exposed_total() const {
  Seconds total{0};
  for (const Seconds part : exposed) total += part;
  return total;
}

}  // namespace stepcast
