#pragma once
#include <cstdint>
#include <vector>

#include "stepcast/sim/network/collective_times.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/replay/stall_plan.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// How devices and hosts of a step without contention work.
enum class LonePace : std::uint8_t {
  even,     ///< all alike, without waits of the framework
  expected  ///< as forecast() counts them: at the pace of the fleet, with these waits
};

/// The step of a checked scenario without contention, which its two numbers share. The
/// scenario outlives it.
class LoneStep {
 public:
  LoneStep(const Scenario& scenario, CollectiveTimes& times, LonePace pace = LonePace::expected);
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
  StallPlan stalls_;                ///< the pace of the fleet, and what a framework waits for
};

/// LoneStep::replayed(), at the expected pace.
Seconds step_alone(const Scenario& scenario, CollectiveTimes& times);

}  // namespace stepcast
