#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stepcast/sim/engine/engine.hpp"
#include "stepcast/sim/engine/reference_world.hpp"

/// What the engine and module `simgrid` know of each other. The module is loaded when flows first
/// meet in SimGrid.
namespace stepcast {

/// The engine as the network sees it. Dates are the network's, in seconds since its start.
class NetworkWatcher {
 public:
  virtual ~NetworkWatcher() = default;
  /// Seconds from `date` to what comes next outside of the network; negative without any.
  virtual double next_date(double date) = 0;
  /// The clock has reached this date.
  virtual void arrived(double date) = 0;
  /// That flow has ended; told before `arrived`.
  virtual void ended(std::uint32_t flow) = 0;
};

/// A network in which flows share links max-min fairly and that owns the clock while they do.
class FlowNetwork {
 public:
  virtual ~FlowNetwork() = default;
  /// Runs until nothing is left inside and outside. Whatever a watcher throws comes through.
  virtual void run(NetworkWatcher& watcher) = 0;
  /// Seconds from `date` to the next end of a flow; negative without flows.
  virtual double next_end(double date) = 0;
  /// A flow of `bytes` > 0 starts now; `flow` is the caller's number.
  virtual void start(std::span<const LinkUse> path, double bytes, std::uint32_t flow) = 0;
  /// Dates closer than this are one date [s].
  virtual void set_precision(double seconds) = 0;
};

/// The network in SimGrid, of which a process has one. This is the entry of the module.
using MakeSimgridNetwork = FlowNetwork*(const std::vector<double>& bandwidths);

/// Whether module `simgrid` was called in this process, or in one that it was forked from.
bool simgrid_is_loaded();

/// Makes it, loading the module. Throws EngineError when the module is missing.
FlowNetwork& simgrid_network(const std::vector<double>& bandwidths);

/// The world of the judge, likewise.
ReferenceWorld* simgrid_world(const Platform& platform, const std::string& paje,
                              const std::string& file);

}  // namespace stepcast
