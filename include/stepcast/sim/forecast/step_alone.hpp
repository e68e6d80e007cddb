#pragma once
#include <vector>

#include "stepcast/sim/network/collective_times.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// The step of a checked scenario without contention, which its two numbers share. The
/// scenario outlives it.
class LoneStep {
 public:
  LoneStep(const Scenario& scenario, CollectiveTimes& times);
  /// It is never above replayed(), and takes a small part of its cost: units count by what their
  /// code takes on a free device (docs/models/plan.md).
  Seconds bound() const;
  /// It is never above forecast()'s: every wait of the first ranks is there, each for the least
  /// time that it can take.
  Seconds replayed() const;

 private:
  const Scenario& scenario_;
  std::vector<StageProgram> programs_;  ///< [stage]
  NetworkMap network_;
  std::vector<StageOrder> orders_;  ///< [stage]
};

/// LoneStep::replayed().
Seconds step_alone(const Scenario& scenario, CollectiveTimes& times);

}  // namespace stepcast
