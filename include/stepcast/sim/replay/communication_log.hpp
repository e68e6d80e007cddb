#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "stepcast/sim/replay/recording.hpp"
#include "stepcast/sim/replay/timeline.hpp"

namespace stepcast {

/// What one rank did in the first step, and in all later ones together.
struct StepBooks {
  std::array<RankTimes, 2> times;
  double first_end = std::numeric_limits<double>::infinity();  ///< end of its first step [s]
};

/// One of the `steps` - 1 steps after the first, of a job whose first step ended at `first_end`.
RankTimes later_steps(const StepBooks& books, double first_end, std::size_t steps);

/// When the host had issued what is waited for, and when it would have had it compiled nothing.
struct HostReady {
  double at = 0, prompt = 0;
};

/// The communications of one rank, and the waits in which none that it waited for moved data yet.
/// Ranks run ahead of each other, so what else moved in a wait is known only later: waits are kept
/// and split when nothing can begin before their end any more.
class CommunicationLog {
 public:
  using Ticket = std::uint32_t;

  /// A wait of the compute stream before what it waits for starts to move data.
  struct Wait {
    double from, to;
    HostReady host;  ///< until then the host was late
    bool pipeline;   ///< for a pipeline peer: bubble, otherwise idle
  };

  /// A communication that starts to move data at `start`; its end is not known yet.
  Ticket open(double start, ExposedKind kind);
  void close(Ticket ticket, double end);
  /// One whose end is known.
  void add(double start, double end, ExposedKind kind);
  void add(const Wait& wait) { waits_.push_back(wait); }

  /// Splits the waits that end by `time`, up to which all communications are known, into the books:
  /// exposed where something moved, then host or compile stall, bubble or idle. `device`: no later
  /// wait reaches behind it. Time in which something moved is complete after everything is settled.
  /// `pieces`: gets the parts of the waits too.
  void settle(double time, double device, StepBooks& books,
              std::vector<Recording::Piece>* pieces = nullptr);

  /// Moves everything that is not settled by `time`.
  void shift(double time);
  /// Appends all that later splits depend on, times relative to `origin`.
  void append_state(double origin, std::vector<double>& state) const;

  /// Asks the processor for what the next communication will need.
  void prefetch() const {
    if (!intervals_.empty()) __builtin_prefetch(&intervals_.back(), 1);
    if (!waits_.empty()) __builtin_prefetch(&waits_.back(), 1);
  }

 private:
  struct Interval {
    double start, end;
    Ticket ticket;
    ExposedKind kind;
  };
  Ticket insert(double start, double end, ExposedKind kind);
  void split(const Wait& wait, RankTimes& times, std::vector<Recording::Piece>* pieces) const;
  void forget(double time, StepBooks& books);

  std::vector<Interval> intervals_;  ///< by start, then by kind, from `first_` on
  std::size_t first_ = 0;
  std::vector<Wait> waits_;  ///< in order of time
  Ticket next_ = 0;
  double covered_until_ = 0, settled_until_ = 0;
};

}  // namespace stepcast
