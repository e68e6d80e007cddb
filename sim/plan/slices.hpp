#pragma once
#include "placement.hpp"

/// Slices of a model, and what they take.
namespace stepcast {

/// Sums over the layers before each place of the model.
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
