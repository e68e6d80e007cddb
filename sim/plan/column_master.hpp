#pragma once
#include "placement.hpp"

/// The integer programme over columns of stages when the period of each chunk is fixed.
namespace stepcast {

/// Where a virtual stage may begin when no part of chunk c is longer than `periods[c]`.
class StageWindows {
 public:
  StageWindows(const PlacementProblem& problem, const LayerSums& sums,
               const std::vector<double>& periods);
  /// A placement without regard to memory exists.
  bool open() const { return begins_[0][0]; }
  /// One micro-batch through the first chunks takes no less [s].
  double least_pass() const { return least_pass_; }
  /// Such a placement has this virtual stage begin with this layer. One virtual stage more is the
  /// end.
  bool begins(std::size_t part, std::size_t layer) const { return begins_[part][layer]; }

 private:
  std::vector<std::vector<bool>> begins_;
  double least_pass_ = 0;
};

/// A column of a stage is one slice for each of its chunks that fits the memory, with the fewest
/// recomputed layers in the first chunk.
class ColumnMaster {
 public:
  ColumnMaster(const PlacementProblem& problem, const LayerSums& sums,
               const std::vector<double>& periods);

  /// Combinations of slices of all stages, those that do not fit included.
  double columns() const { return combinations_; }
  struct Answer {
    bool complete = false;  ///< solved, or proven infeasible
    std::optional<PlacedLayers> placed;
    double pass = 0;  ///< of the placed layers through the first chunks: the least one [s]
    int nodes = 0;
  };
  Answer solve(const PlacementLimits& limits);

 private:
  class Model;
  /// Slices of a virtual stage that hold the same kinds of layers.
  struct Part {
    std::vector<int> counts;  ///< [run]
    LayerSlice slice;         ///< one of them
  };
  struct Column {
    std::vector<std::size_t> parts;       ///< [chunk] of parts_[virtual stage]
    std::vector<std::size_t> recomputed;  ///< [chunk]
    double pass = 0;
  };
  std::vector<Part> parts_of(std::size_t virtual_stage, const StageWindows& windows) const;
  void add_columns(std::size_t stage);
  void add_column(std::size_t stage, Column column);
  const Part& part(std::size_t stage, const Column& column, std::size_t chunk) const {
    return parts_[chunk * stages_ + stage][column.parts[chunk]];
  }
  double unit(std::size_t stage, const Column& column, std::size_t chunk) const;
  bool fits(std::size_t stage, const Column& column) const;
  PlacedLayers read(const double* values) const;

  const PlacementProblem& problem_;
  const LayerSums& sums_;
  const std::vector<double> periods_;
  std::size_t stages_, chunks_;
  std::vector<std::vector<Part>> parts_;      ///< [virtual stage]
  std::vector<std::vector<Column>> columns_;  ///< [stage]
  bool open_ = true;
  double combinations_ = 0;
};

}  // namespace stepcast
