#pragma once
#include <string_view>
#include <utility>
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

/// What was joined in one list of items, for lists that differ only in how much there is to do: one
/// program runs on all ranks, whatever each of them has to do.
class FusionChoices {
 public:
  /// Whether to join: the first list decides, and those after repeat() do the same.
  bool take(bool pays);
  void repeat();

 private:
  std::vector<bool> taken_;
  std::size_t next_ = 0;
  bool repeats_ = false;
};

/// Gives the items with chains of operators of the table joined: FLOPs add up, bytes lose what
/// stays inside, one launch is left. Communications and cube operators end a chain, and so does a
/// join that would take the device longer, where the choices are this list's.
LayerItems fuse(LayerItems items, RuntimeSpec::Fusion fusion, const DeviceSpec& device,
                FusionChoices& choices);
inline LayerItems fuse(LayerItems items, RuntimeSpec::Fusion fusion, const DeviceSpec& device) {
  FusionChoices own;
  return fuse(std::move(items), fusion, device, own);
}

/// Gives the items with the statements of a group (VectorFlow) as few kernels: a value that
/// stays inside moves no bytes, one that is read by several statements is read once, like groups
/// beside each other share a launch. A group is cut behind a reduction whose rows do not stay on
/// chip, and left as it is where its kernels would take the device longer, where the choices are
/// this list's.
LayerItems fuse_statements(LayerItems items, const DeviceSpec& device, FusionChoices& choices);
inline LayerItems fuse_statements(LayerItems items, const DeviceSpec& device) {
  FusionChoices own;
  return fuse_statements(std::move(items), device, own);
}

}  // namespace stepcast
