#pragma once
#include "stepcast/sim/scenario/scenario.hpp"

/// A scenario whose rates and times are others.
namespace stepcast::laws {

/// Every rate of the scenario (FLOP/s, B/s) times `factor` and every time of it (latencies,
/// launches, dispatch, pauses, overheads, periods, dates) divided by it. What a key is follows from
/// its type in the description, so that a new key is scaled too.
Scenario scaled(Scenario scenario, double factor);

/// Links between devices that many times as fast: bandwidths, latencies and the steps of the
/// library.
Scenario with_faster_links(Scenario scenario, double factor);
/// Devices: FLOP/s, memory bandwidth, launches.
Scenario with_faster_devices(Scenario scenario, double factor);
/// Hosts: all times of the runtime.
Scenario with_faster_hosts(Scenario scenario, double factor);

}  // namespace stepcast::laws
