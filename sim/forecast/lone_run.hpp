#pragma once
#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// One forward and one backward of a program on one rank, whose exchanges meet no other.
struct LoneRun {
  ExpertModuleTimes times;
  Seconds device{0};         ///< of its kernels
  Seconds issue{0};          ///< of its host: of the thread that has more to do
  std::size_t launches = 0;  ///< of kernels and exchanges

  Seconds waited() const { return times.forward + times.backward - device; }
};

/// Runs the first chunk of the program.
LoneRun run_alone(const Scenario& scenario, const Placement& placement, StageProgram program);
/// What the first is more, and hides more, than the second.
SplitExperts difference(const LoneRun& split, const LoneRun& whole);

}  // namespace stepcast
