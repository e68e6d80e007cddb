#pragma once
#include <optional>
#include <string>

#include "layout.hpp"

/// Which layers each chunk of each stage holds and how many of them it computes again: integers
/// that make the pipeline fast and fit its memory. Formulation: docs/models/plan.md.
namespace stepcast {

/// Like layers that follow each other in the model.
struct LayerRun {
  std::int64_t layers = 0;
  double unit = 0;                       ///< forward and backward of one layer and micro-batch [s]
  double recompute = 0;                  ///< more when its forward runs again [s]
  double states = 0;                     ///< bytes of parameters, gradients and optimizer
  double kept = 0, kept_recomputed = 0;  ///< bytes of activations of one micro-batch
};

struct PlacementProblem {
  std::int64_t stages = 1, chunks = 1, micro_batches = 1;
  std::vector<LayerRun> runs;  ///< in the order of the model
  LayerRun first, last;        ///< embedding; MTP modules and head; `layers` is unused
  double capacity = 0;         ///< bytes for states and activations of a stage
  HeldMoments moments;         ///< [stage][moment][chunk]
  std::int64_t layers() const;
};

/// Of the time that stages in lockstep would wait between chunks, what simulations show to be lost
/// (docs/models/plan.md).
inline constexpr double lost_between_chunks = 0.5;

struct PlacedLayers {
  Table layers, recomputed;  ///< [chunk][stage]; the first layers of a chunk are recomputed
};

/// Time per micro-batch in the steady state [s], from the busiest stage of each chunk. Stages pass
/// chunk after chunk in step, so a long chunk of one stage is not made up for by a short one; while
/// a round of micro-batches goes over from one chunk to the next, the stages that have the shorter
/// one wait for the others, half of the time. Grows with each of them.
double steady_period(const PlacementProblem& problem, const std::vector<double>& busiest);
/// The steady state over all micro-batches, and one micro-batch through the first chunks [s]: what
/// is minimised.
double placement_time(const PlacementProblem& problem, const PlacedLayers& placed);
/// Bytes of the fullest stage.
double placement_memory(const PlacementProblem& problem, const PlacedLayers& placed);

/// Stage dynamic programme: the least busiest chunk when each chunk may fill its even share of the
/// memory. Nothing when no split fits that share.
std::optional<PlacedLayers> place_by_stages(const PlacementProblem& problem);

/// Layers balanced as a forecast does, and on each stage as many recomputed as fit it, the most
/// bytes per time first. Nothing when a stage does not fit with all of them.
std::optional<PlacedLayers> place_evenly(const PlacementProblem& problem);

struct PlacementLimits {
  double seconds = 15;
  int nodes = 20'000;
};

struct PlacementSolution {
  std::optional<PlacedLayers> placed;
  std::string solver;  ///< `cbc` or `stage dynamic programme`
  std::string status;  ///< `optimal`, `stopped at the limit`, `infeasible`, `no solution found`
  double time = 0;     ///< placement_time [s]
  double bound = 0;    ///< no placement of the formulation is faster [s]
  double gap() const { return time > bound ? (time - bound) / time : 0; }
};

/// Integer programme by CBC, started from the better one of the stage dynamic programme and the
/// even placement, which also stands in where CBC has no solution that fits. Solved period by
/// period over columns of stages where those are few (`optimal`: of all tables), otherwise at once.
PlacementSolution place_layers(const PlacementProblem& problem, const PlacementLimits& limits);

/// The problem of one point; the scenario's own recompute mode is left aside.
PlacementProblem placement_problem(const Scenario& scenario, double capacity,
                                   CollectiveTimes& times, MomentTable& moments);

}  // namespace stepcast
