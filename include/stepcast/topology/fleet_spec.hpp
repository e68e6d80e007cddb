#pragma once

namespace stepcast {

/// How the devices of a cluster differ, for as long as a job runs. The step of a job is its
/// expectation over all such fleets. Laws and sources: docs/models/spread.md.
struct FleetSpec {
  struct SlowNodes {
    double share = 0;   ///< of the nodes
    double factor = 1;  ///< on device and host time of a slow one
    friend bool operator==(const SlowNodes&, const SlowNodes&) = default;
  };
  /// An event slows one device for some minutes; a step falls into it or does not.
  struct Throttled {
    double share = 0;   ///< of the time of a device
    double factor = 1;  ///< on device time meanwhile
    friend bool operator==(const Throttled&, const Throttled&) = default;
  };

  double device_sigma = 0;  ///< of the logarithm of the factor on device time, whose mean is 1
  SlowNodes slow_nodes;
  bool screened = false;  ///< slow nodes were found and left out
  Throttled throttled;

  /// The nodes that are slow in a job.
  double slow_share() const { return screened ? 0 : slow_nodes.share; }
  /// Says whether all devices are alike.
  bool flawless() const;
  friend bool operator==(const FleetSpec&, const FleetSpec&) = default;
};

}  // namespace stepcast
