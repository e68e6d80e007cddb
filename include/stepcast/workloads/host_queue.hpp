#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "stepcast/workloads/segment.hpp"

namespace stepcast {

/// How much earlier the host threads of a rank would be free had they compiled nothing: the
/// time of compiling that no stall has shown yet, and that nothing the host waited for has taken
/// up. A stall is the compiling's as far as it would not be there without the lag, and what it
/// shows is taken from the lag, so that a second of compiling counts once at most. Nothing that
/// was compiled, no lag. Derivation: docs/models/fusion.md, "Kernels for new shapes".
struct CompileLag {
  double main = 0, worker = 0;  ///< >= 0 [s]

  /// The main thread is free at `free` and waits for what is there at `date`.
  void wait(double free, double date);
  /// The main thread waits until all `clocks` are reached, as host_sync().
  void synchronise(const Clocks& clocks);
  /// The host issues a communication at these clocks. Returns how much earlier it would be there.
  double issue_communication(const Clocks& clocks, const OperatorCost& cost, double host_factor);
  /// The host issues an operator. Returns how much of the device's wait for it is there because of
  /// compiling, which is taken from the lag.
  double issue(const Clocks& clocks, const OperatorCost& op, double host_factor);
  /// So much of it was seen.
  void take(double shown);
};

/// The host may run at most `depth` (>= 1) compute operators ahead of the stream: before the main
/// thread issues operator i it waits for the end of operator i - depth. Remembers runs rather than
/// operators; memory is bounded by `depth`. Between runs the caller may move any clock forward (a
/// communication, a host pause), never back. Derivation: docs/models/host.md.
class HostQueue {
 public:
  /// A compact queue takes less room for the same clocks, but queues with equal futures may have
  /// unequal states.
  explicit HostQueue(std::uint64_t depth, bool compact = false);
  /// The clocks after the segment. It takes the matrix when the queue cannot bind, the
  /// operator loop otherwise. The segment must outlive the queue.
  Clocks run(const Clocks& clocks, const Segment& segment, const SpeedFactors& speed);
  /// The end of the device work of an operator that begins at `start`; it never decreases
  /// with `start`.
  using EndOfWork = std::function<double(double start, const OperatorCost& op)>;
  /// Runs the segment where the device's speed changes during it: operator by operator.
  Clocks run(const Clocks& clocks, const Segment& segment, double host_factor,
             const EndOfWork& end_of);

  /// From the first run on every segment is stepped through beside what else is done, so that it is
  /// known what compiling holds up. No clock changes by it.
  void follow_compiling() { follows_ = true; }
  /// How long the device waited for compiling inside the last run, where that is followed.
  double compile_stall() const { return compile_stall_; }
  /// What moves a clock between two runs is told here.
  CompileLag& compile_lag() { return compile_lag_; }

  /// Moves everything that is remembered by `time`.
  void shift(double time);
  /// Appends all that later runs depend on, with times relative to `origin`: two queues with
  /// equal states behave alike from there on.
  void append_state(double origin, std::vector<double>& state) const;

  /// Asks the processor for what the next runs will read; nothing else follows from it.
  void prefetch() const;

  std::uint64_t operator_loops() const { return loops_; }  ///< how often the slow form was needed
  std::uint64_t remembered_runs() const { return next_ - first_; }
  std::size_t room_for_starts() const { return starts_.size(); }

 private:
  /// A run is what a later operator may have to wait for. Each run asks for this much of one; it
  /// stands by itself so that several share a line of the cache, since a job has a queue per rank
  /// and its runs are a few operators each.
  class End {
   public:
    End() = default;
    End(std::uint64_t operators, bool each_known, double device_end)
        : device{device_end}, code_{2 * operators + (each_known ? 1 : 0)} {}
    /// Operators up to the end of the run, counted over all runs.
    std::uint64_t operators() const { return code_ / 2; }
    /// The ends of all of its operators are in `ends_`.
    bool each_known() const { return code_ % 2 != 0; }
    double device = 0;  ///< end of its last operator

   private:
    std::uint64_t code_ = 0;
  };
  /// The ends of a run's operators follow from this. Only runs whose ends are not known have one:
  /// where the queue binds those are few.
  struct Start {
    std::uint64_t run;
    const Segment* segment;
    SpeedFactors speed;
    Clocks entry;
  };

  bool may_bind(const Clocks& clocks, std::uint64_t size);
  template <class Issue>
  Clocks operator_loop(Clocks clocks, const Segment& segment, double host_factor,
                       const Issue& issue);
  void forget(double main);
  void remember(std::uint64_t operators, bool each_known, double device_end);
  void recall_ends(std::uint64_t run);
  void keep_start(const Start& start);
  const Start& start_of(std::uint64_t run);
  void drop_starts();
  void make_room_for_start();
  void reserve_ends();
  void reserve_runs();
  double& end_of(std::uint64_t index) { return ends_[index & (ends_.size() - 1)]; }
  std::size_t place(std::uint64_t run) const { return run & (runs_.size() - 1); }
  Start& start_at(std::uint64_t number) { return starts_[number & (starts_.size() - 1)]; }
  const Start& start_at(std::uint64_t number) const {
    return starts_[number & (starts_.size() - 1)];
  }
  std::uint64_t first_operator(std::uint64_t run) const {
    return run == first_ ? forgotten_ : runs_[place(run - 1)].operators();
  }

  std::uint64_t depth_;
  bool compact_;
  bool follows_ = false;
  double compile_stall_ = 0;
  CompileLag compile_lag_;
  std::uint64_t issued_ = 0;     ///< operators so far
  std::uint64_t forgotten_ = 0;  ///< operators of runs that are out of reach
  std::uint64_t loops_ = 0;
  std::uint64_t first_ = 0, next_ = 0;  ///< runs in reach, counted over all
  std::uint64_t gate_ = 0;              ///< the run of operator last - depth, for the run at hand
  std::vector<End> runs_;               ///< [run modulo the size], which is a power of two
  std::uint64_t first_start_ = 0, next_start_ = 0;  ///< counted over all
  std::vector<Start> starts_;  ///< [number modulo the size], in order of their runs
  std::vector<double> ends_;   ///< end of operator i at i modulo the size, a power of two >= depth
};

}  // namespace stepcast
