#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "stepcast/sim/timeline.hpp"

namespace stepcast {

/// The communications of one rank, and the waits in which none that it waited for moved data yet.
/// Ranks run ahead of each other, so what else moved in a wait is known only later: waits are kept
/// and split when nothing can begin before their end any more.
class CommunicationLog {
 public:
  using Ticket = std::uint64_t;

  /// A wait of the compute stream before what it waits for starts to move data.
  struct Wait {
    double from, to;
    double host_ready;  ///< until then the host was late
    bool pipeline;      ///< for a pipeline peer: bubble, otherwise idle
  };

  /// A communication that starts to move data at `start`; its end is not known yet.
  Ticket open(double start, ExposedKind kind);
  void close(Ticket ticket, double end);
  void add(const Wait& wait) { waits_.push_back(wait); }

  /// Splits the waits that end by `time`, up to which all communications are known, into `times`:
  /// exposed where something moved, then host stall, bubble or idle. `device`: no later wait
  /// reaches behind it.
  void settle(double time, double device, RankTimes& times);
  /// Time in which something moved; complete after everything is settled.
  double total() const { return total_; }

 private:
  struct Interval {
    double start, end;
    ExposedKind kind;
    Ticket ticket;
  };
  void split(const Wait& wait, RankTimes& times) const;
  void forget(double time);

  std::vector<Interval> intervals_;  ///< by start, from `first_` on
  std::size_t first_ = 0;
  std::vector<Wait> waits_;  ///< in order of time
  Ticket next_ = 0;
  double total_ = 0, covered_until_ = 0;
};

}  // namespace stepcast
