#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sim/forecast/load_steps.hpp"
#include "stepcast/sim/forecast/seeds.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/replay/data_plan.hpp"
#include "stepcast/sim/replay/recording.hpp"
#include "stepcast/sim/replay/timeline.hpp"
#include "stepcast/sim/scenario/layers.hpp"
#include "stepcast/workloads/memory.hpp"

namespace stepcast {

/// One pipeline stage of a forecast: its mean rank.
struct StageForecast {
  RankTimes times;
  std::optional<MemoryBudget> memory;  ///< nothing for a synthetic workload
  std::vector<std::int64_t> layers;    ///< per chunk; empty for a synthetic workload
};

/// Says how one collective of the model ran.
struct CollectiveUse {
  std::string name;   ///< `all_gather attention in`
  std::string group;  ///< `tensor`
  std::string algorithm;
  Bytes bytes{0};
  Seconds alone{0};  ///< of one group, when nothing else uses the network
  friend bool operator==(const CollectiveUse&, const CollectiveUse&) = default;
};

/// Says how far the groups of one kind reach in a cluster of several kinds of nodes.
struct GroupReach {
  std::string group;   ///< `tensor`
  std::string fabric;  ///< the widest that one of them crosses, `node` or `spine`
  std::int64_t groups = 0;
  std::int64_t mixed =
      0;  ///< of them with nodes of several kinds, which go at the slowest one's pace
};

/// Says what the documents of one step are and what their imbalance costs.
struct DataForecast {
  PackedBatch batch;
  Imbalance imbalance;           ///< of the replicas and micro-batches
  double context_imbalance = 1;  ///< of the context ranks of a slot
  double attention_share = 1;    ///< pairs that are visible, of those of whole sequences
  Seconds even_step_time{0};     ///< of a step whose slots all hold the mean
};

/// The routed experts of one MoE layer and micro-batch by themselves on the fullest rank,
/// from lining up tokens for the dispatch to adding up what the combine brings, forward and back.
struct ExpertModuleTimes {
  Seconds forward{0}, backward{0};
};

/// Says what `moe.overlap: chunks(n)` or `tiles(n)` does to that module, over forward and
/// backward: part-filled tiles, weights that are read again, launches and interference cost time on
/// the device, and less of the exchanges is waited for. The cost is less than nothing where one
/// kernel of tiles saves more than that, what is hidden where a host that must issue more cannot
/// keep ahead.
struct SplitExperts {
  Seconds cost{0}, hidden{0};
  Seconds gain() const { return hidden - cost; }
};

/// Says what `communication.tensor.overlap: chunks(n)` does to one layer and micro-batch,
/// likewise, and what its host issues for it beside that: launches, and their time on the host
/// thread that has more to do.
struct SplitProducts {
  SplitExperts split;
  Seconds issue{0};
  std::size_t launches = 0;
};

/// Says how unevenly the experts are loaded and what that costs.
struct ExpertForecast {
  double expert_imbalance = 1, rank_imbalance = 1;  ///< largest over mean load
  double dropped = 0;                               ///< part of all (token, expert) pairs
  /// The matrix products of the routed experts of one layer and micro-batch, forward and
  /// backward: on a rank of mean load, and on the fullest one, for which its expert group waits.
  Seconds balanced{0}, fullest{0};
  /// The difference over all micro-batches and MoE layers of the stage that has most of
  /// them.
  Seconds cost{0};
  ExpertModuleTimes module;
  std::optional<SplitExperts> split;  ///< where tokens travel in pieces
  /// The weights of copies of experts that pass the busiest rank in a step.
  Bytes copied{0};
};

/// Says what persistent differences cost (`stalls.spread`).
struct SpreadForecast {
  /// Only the worst replicas were replayed, one after the other as if all were like it.
  struct Folded {
    std::size_t replicas = 0, replayed = 0;
    /// A replica that was left out could make the step longer by this part of it, by the formula
    /// of a pipeline; 0: none could.
    double error_bound = 0;
  };
  Seconds calm_step_time{0};     ///< of the same job without spread
  std::optional<Folded> folded;  ///< nothing: every rank was simulated by itself
};

/// Says what the fleet of the cluster costs on average (`cluster.fleet`).
struct FleetForecast {
  Seconds flawless{0};      ///< the step of equal devices
  Seconds cost{0};          ///< that the expected step takes longer
  SpeedFactors pace{};      ///< at which a job of equal devices takes as long as the expected step
  Seconds low{0}, high{0};  ///< one fleet of ten takes less, one more
};
/// Says whether the step is the expected one of a fleet: not where a spread is drawn
/// (`stalls.spread`), where times are given (synthetic workloads, task graphs), or by the judge.
bool counts_fleet(const Scenario& scenario);

/// What a step takes, devices times overhead [J].
struct Energy {
  double idle = 0, computing = 0, communicating = 0;
  double step() const { return idle + computing + communicating; }
};

/// A forecast is what one step of a scenario takes. Definitions of the metrics: docs/formats.md.
struct Forecast {
  Seconds step_time{0};
  std::vector<StageForecast> stages;
  RankTimes mean;                          ///< over all ranks; its parts add up to the step time
  std::vector<CollectiveUse> collectives;  ///< distinct ones, in program order
  std::optional<double>
      model_flops;  ///< of the whole step [FLOP]; nothing for a synthetic workload
  std::optional<double> executed_flops;   ///< with recomputation
  std::vector<GroupReach> groups;         ///< of a cluster of several kinds of nodes
  std::optional<DataForecast> data;       ///< nothing without documents
  std::optional<ExpertForecast> experts;  ///< nothing without experts
  std::optional<SplitProducts> products;  ///< where tensor ranks have them in pieces
  std::optional<SpreadForecast> spread;   ///< nothing without spread
  std::optional<FleetForecast> fleet;     ///< nothing where none counts
  std::optional<SeedStatistics> seeds;    ///< of several seeds, where they were asked for
  std::optional<LoadSteps> load_steps;    ///< of several steps, where they were asked for
  std::optional<Energy> energy;           ///< nothing where the power of the device is not known
  std::optional<double> fullest_uplink;   ///< NetworkMap::fullest_uplink; nothing: routing ideal
  Timeline timeline;                      ///< of equal devices

  double bubble_ratio() const { return mean.bubble / step_time; }
  bool fits_memory() const;
};

/// Runs the scenario: it lowers the model, orders the pipeline, and replays one step. Throws
/// InputError where a named collective algorithm does not apply, EngineError when the replay fails.
Forecast forecast(const Scenario& scenario);

/// An ideal is what a run leaves out or holds still, to see how much it matters.
struct Ideal {
  bool free_communication = false;  ///< bytes and latencies of all collectives and transfers
  bool free_latency = false;        ///< latencies of collectives and transfers: their bytes remain
  bool free_host = false;  ///< issuing operators and communications, launches, synchronisations
  bool no_bubble = false;  ///< no stage waits for the input of another
  /// Each stage has these layers instead of those that suit the device best; nullptr: the latter.
  const LayerTable* layers = nullptr;
};
Forecast forecast(const Scenario& scenario, const Ideal& ideal);

/// Says whether SimGrid shares the flows of its steps: a process makes at most one such run.
bool needs_simgrid(const Scenario& scenario);

/// A run with all that it executed, and what its indices mean.
struct RecordedRun {
  Forecast forecast;
  bool exact = false;                  ///< nothing could recur: it is what forecast() gives
  LayerTable layers;                   ///< empty for a synthetic workload
  std::vector<StageProgram> programs;  ///< [stage]
  NetworkMap network;                  ///< with its links
  Recording recording;
};
/// Nothing that recurs is skipped, so it takes longer and its last digits may differ from
/// `forecast`, but where nothing could recur. Classes that are not `recorded` are added up while
/// they run. Throws InputError when the run is too long to record.
RecordedRun record(const Scenario& scenario, const RecordedClasses& recorded = {});

/// A forecast without its run: layers and memory of each stage, as forecast() has them. Whatever
/// depends on time is zero.
Forecast memory_forecast(const Scenario& scenario);

}  // namespace stepcast
