#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "stepcast/workloads/operators.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

/// Says what the operators of a stage's program are, beyond the times that a segment keeps.
struct OperatorInventory {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  std::vector<Operator> operators;  ///< distinct ones
  /// [variant][segment][i] This is the place of operator i of a segment in `operators`; none where
  /// the host works alone.
  std::vector<std::vector<std::vector<std::uint32_t>>> of;
};

/// The operators of the program that lower_stage gives for the same arguments.
OperatorInventory stage_operators(const WorkloadSpec& spec, const LayerTable& layers,
                                  const ClusterSpec& cluster, Stage stage);

}  // namespace stepcast
