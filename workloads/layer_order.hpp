#pragma once
#include <cstddef>
#include <vector>

#include "stepcast/topology/cluster_spec.hpp"
#include "stepcast/topology/parallel_plan.hpp"
#include "stepcast/workloads/operators.hpp"

/// The order in which a pass of a layer stands in its program, so that work that does not depend on
/// an exchange runs beside it (`runtime.layer_order: overlapped`). docs/models/layer_order.md.
/// Private to workloads/.
namespace stepcast {

/// The items of a pass by their places as they were written; empty: as they were written.
using LayerOrder = std::vector<std::size_t>;

/// What depends on what in one pass, from the slack of its items.
class PassDependencies {
 public:
  explicit PassDependencies(const LayerItems& items);

  std::size_t size() const { return size_; }
  /// Whether the later item, `j`, cannot run before the earlier one, `i`.
  bool depends(std::size_t j, std::size_t i) const { return depends_[j * size_ + i] != 0; }
  /// Communications that must have ended before the item begins, unless another waited for them.
  const std::vector<std::size_t>& waits_for(std::size_t item) const { return waits_[item]; }
  /// Items that may stand elsewhere.
  const std::vector<std::size_t>& movable() const { return movable_; }

 private:
  std::size_t size_;
  std::vector<char> depends_;
  std::vector<std::vector<std::size_t>> waits_;
  std::vector<std::size_t> movable_;
};

/// How long each item of a pass is taken to last, to choose an order by: never a forecast.
/// Operators take their device time, transfers their bytes over the slowest link that they cross.
std::vector<double> expected_times(const LayerItems& items, const ClusterSpec& cluster,
                                   const ParallelPlan& plan, const DeviceSpec& device, bool fp8);

/// When a pass in this order ends, alone on its device, each stream working in order [s].
double expected_end(const LayerItems& items, const PassDependencies& dependencies,
                    const std::vector<double>& times, const LayerOrder& order);

/// The order found by moving one item at a time to the place beside an exchange where it shortens
/// the pass most, from the written order on, until no move shortens it. Only items move that hide
/// nothing where they are written.
LayerOrder overlapping_order(const LayerItems& items, const std::vector<double>& times);

/// The items in that order. Communications run until their first reader, which waits for them. The
/// items may do other amounts of work than those that the order was found for.
LayerItems in_order(const LayerItems& items, const LayerOrder& order);

/// Bytes of gradients that wait for their weight gradients, at the moment that most do.
double waiting_gradients(const LayerItems& items, const LayerOrder& order);

}  // namespace stepcast
