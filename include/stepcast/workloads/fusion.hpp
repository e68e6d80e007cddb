#pragma once
#include <string_view>
#include <vector>

#include "stepcast/workloads/operators.hpp"

/// Here vector operators become one. Model and sources: docs/models/fusion.md.
namespace stepcast {

/// A pattern is two vector operators that follow each other and become one.
struct FusionPattern {
  std::vector<OperatorRole> first, second;  ///< any of them
  double read;  ///< what the second reads of the first, as a share of the second's bytes
  bool kept;    ///< something later reads it too, so that it is written all the same
  RuntimeSpec::Fusion from;  ///< the least that fuses it: `pattern` kernels exist, `dvm` makes them
  std::string_view source;
};
/// The table has every pattern once; the first that matches counts.
const std::vector<FusionPattern>& fusion_patterns();

/// This gives the items with chains of operators of the table joined: FLOPs add up, bytes lose what
/// stays inside, one launch is left. Communications and cube operators end a chain, and so does a
/// join that would take the device longer.
LayerItems fuse(LayerItems items, RuntimeSpec::Fusion fusion, const DeviceSpec& device);

/// This gives the items with the statements of a group (VectorFlow) as few kernels: a value that
/// stays inside moves no bytes, one that is read by several statements is read once, like groups
/// beside each other share a launch. A group is cut behind a reduction whose rows do not stay on
/// chip, and left as it is where its kernels would take the device longer.
LayerItems fuse_statements(LayerItems items, const DeviceSpec& device);

}  // namespace stepcast
