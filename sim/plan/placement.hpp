#pragma once
#include <optional>
#include <string>

#include "layout.hpp"
#include "stepcast/workloads/layer_split.hpp"

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

struct PlacedLayers {
  Table layers, recomputed;  ///< [chunk][stage]; the first layers of a chunk are recomputed
};

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

/// Work and not time ends a search, so that its answer is the same on every machine.
struct PlacementLimits {
  int nodes = 500;  ///< of all branch-and-bound trees together
};

std::string limit_text(const PlacementLimits& limits);

struct PlacementSolution {
  std::optional<PlacedLayers> placed;
  std::string solver;  ///< `cbc` or `stage dynamic programme`
  std::string status;  ///< `optimal`, `stopped at the limit of N nodes`, `infeasible`
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

/// Sums over the layers before each place of the model, of which slices are differences.
struct LayerSums {
  std::vector<double> unit{0}, recompute{0}, states{0}, kept{0}, saved{0};
  explicit LayerSums(const PlacementProblem& problem);
};

/// Layers [first, end), the first `recomputed` of them computed again.
struct LayerSlice {
  std::size_t first = 0, end = 0, recomputed = 0;
};

/// Forward and backward of one micro-batch [s].
double slice_unit(const LayerSums& sums, const LayerSlice& slice);
/// Activations of one micro-batch [B].
double slice_kept(const LayerSums& sums, const LayerSlice& slice);
/// What stands at the ends of the model on this virtual stage.
LayerRun ends_of(const PlacementProblem& problem, std::size_t virtual_stage);

}  // namespace stepcast
