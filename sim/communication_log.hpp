#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "stepcast/sim/timeline.hpp"

namespace stepcast {

/// The communications of one rank in flight, so that a wait can be split by what moved meanwhile.
class CommunicationLog {
 public:
  using Ticket = std::uint64_t;

  /// A communication that starts to move data at `start`; its end is not known yet.
  Ticket open(double start, ExposedKind kind);
  void close(Ticket ticket, double end);

  /// Adds the parts of [from, to) in which something moved to `times.exposed`, and calls
  /// `uncovered(a, b)` for each part in which nothing did, in order.
  template <class Uncovered>
  void split(double from, double to, RankTimes& times, Uncovered uncovered) const;

  /// Forgets what ended by `time`: no later wait reaches behind it. Adds to the total.
  void forget(double time);
  /// Time in which something moved; complete after forget(infinity).
  double total() const { return total_; }

 private:
  struct Interval {
    double start, end;
    ExposedKind kind;
    Ticket ticket;
  };
  std::vector<Interval> intervals_;  ///< by start
  Ticket next_ = 0;
  double total_ = 0, covered_until_ = 0;
};

template <class Uncovered>
void CommunicationLog::split(double from, double to, RankTimes& times, Uncovered uncovered) const {
  double at = from;
  for (const Interval& interval : intervals_) {
    if (at >= to || interval.start >= to) break;
    if (interval.end <= at) continue;
    if (interval.start > at) {
      uncovered(at, interval.start);
      at = interval.start;
    }
    const double until = interval.end < to ? interval.end : to;
    times.exposed[static_cast<std::size_t>(interval.kind)] += Seconds{until - at};
    at = until;
  }
  if (at < to) uncovered(at, to);
}

}  // namespace stepcast
