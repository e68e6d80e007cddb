#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/replay/replay.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {

/// The stalls of a job whose devices, hosts and links do not differ for ever.
StallsSpec without_spread(StallsSpec spec);

/// What a step replays.
enum class StepKind : std::uint8_t {
  even,    ///< devices do not differ for ever: ranks that are alike are one class
  spread,  ///< they do: every rank is a class of its own
  worst    ///< they do: the classes of an even step, at the pace of the worst replicas
};

/// All of a step that no draw changes: it is made once and replayed as often as seeds or
/// replicas ask for it. The scenario, its loads and the ideal outlive it.
struct StepSetup {
  StepSetup(const Scenario& scenario, const AttentionLoads* loads, const Ideal& ideal,
            bool describe_links);
  StepSetup(const StepSetup&) = delete;
  StepSetup& operator=(const StepSetup&) = delete;

  StallPlan stalls(const StallsSpec& spec) const;
  bool judged() const;  ///< by SimGrid alone (simulate.engine)
  /// What a replay needs, but for the stalls.
  ReplayInput replay_input() const;
  /// A process makes at most one run in which SimGrid shares flows.
  Timeline replayed(const StallPlan& stalls, Recording* record = nullptr,
                    const RecordedClasses& recorded = {}) const;

  /// Calls a function with the input of the network map. Only the programs of the scenario
  /// itself have it, not those of an ideal host.
  NetworkMap with_network_input(bool describe_links,
                                const std::function<NetworkMap(const NetworkMapInput&)>& use) const;
  /// Says whether all links are as the cluster has them, and alike for all nodes.
  bool intact() const;
  /// Says whether a step replays every micro-batch, so that recording it changes no bit of it.
  bool replays_all() const;

  const Scenario& scenario;
  const Ideal& ideal;
  const AttentionLoads* loads;
  Fabric fabric;
  Placement placement;
  LayerTable layers;
  LayerLoads experts;
  std::vector<StageProgram> programs;
  std::optional<KindPrograms> kinds;
  HostSpec host;
  std::optional<Seconds> latency;  ///< of pipeline transfers, instead of the network
  std::vector<StageOrder> orders;
  StepKind step_kind;
  NetworkMap network;

 private:
  StepKind its_kind() const;
  /// Throws InputError where the judge does not know what the step does.
  void check_judged() const;
};

}  // namespace stepcast
