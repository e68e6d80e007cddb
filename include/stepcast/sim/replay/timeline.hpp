#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// Says where the time of one rank went. The seven parts add up to the step time: at each
/// instant the first that applies of computing, exposed communication, bubble, host stall, compile
/// stall, other idle, fleet (docs/formats.md, "Attribution").
struct RankTimes {
  Seconds computing{0};
  std::array<Seconds, exposed_kinds>
      exposed{};          ///< waiting while a communication of the rank moves data
  Seconds bubble{0};      ///< waiting for a pipeline peer
  Seconds host_stall{0};  ///< waiting for the host
  /// Waiting for the host, which would have been there had it compiled nothing
  /// (docs/models/fusion.md).
  Seconds compile_stall{0};
  Seconds other_idle{0};
  /// Waiting for slower devices of the fleet (docs/models/spread.md). A replay has none: a forecast
  /// adds it.
  Seconds fleet{0};
  Seconds communication{0};        ///< some communication of the rank in flight, exposed or not
  Seconds end{0};                  ///< when the rank was done with its last step
  double segments = 0;             ///< that the device ran
  double host_bound_segments = 0;  ///< of these, that ended later because the host was late
  /// Of computing: what the state of the clock made longer, below 0 shorter
  /// (docs/models/clocks.md).
  Seconds clock{0};

  Seconds exposed_total() const;
  /// The share of the segments that the host held up.
  double host_bound_share() const { return segments > 0 ? host_bound_segments / segments : 0; }
  /// Whether the host held up most segments, or took more time than the device did.
  bool bound_by_host() const {
    return host_bound_share() > 0.5 || late_host() > computing + exposed_total();
  }
  /// Waiting for the host, whatever it did.
  Seconds late_host() const { return host_stall + compile_stall; }
  Seconds total() const {
    return computing + exposed_total() + bubble + late_host() + other_idle + fleet;
  }
};

/// Adds every part of `part` times `weight`; `end` is left alone.
void add(RankTimes& sum, const RankTimes& part, double weight);

/// Says who gave the flows their shares of the links: nobody, as none met; SimGrid beside our
/// queue; the incremental solver; or SimGrid with all of the step on it (the judge).
enum class Solver { closed_form, simgrid, incremental, reference };

/// The timeline is what a replay produced, per rank class.
struct Timeline {
  Seconds step_time{0};        ///< of one step: the makespan, or the mean of all after the first
  std::vector<Seconds> steps;  ///< each step, from the end of the one before
  std::vector<RankTimes> classes;           ///< a step, likewise
  std::uint64_t skipped_micro_batches = 0;  ///< that repeat others exactly, not replayed
  Solver solver = Solver::closed_form;
  std::uint64_t tasks = 0;       ///< instructions and transfers executed
  std::uint64_t events = 0;      ///< handled by the queue
  std::uint64_t flows = 0;       ///< that met another on a link
  std::uint64_t lone_flows = 0;  ///< that could meet no other and took their closed form
};

}  // namespace stepcast
