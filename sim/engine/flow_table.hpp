#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "stepcast/sim/engine/engine.hpp"

namespace stepcast {

/// Flows under way, and which of them are alone on all of their links: those need no sharing, so
/// they only become the network's when another one comes to meet them.
class FlowTable {
 public:
  using Index = std::uint32_t;
  static constexpr Index none = std::numeric_limits<Index>::max();

  struct Flow {
    std::vector<LinkUse> path;
    double bytes = 0;  ///< left at `start`
    double start = 0;
    double alone = 0;  ///< time of `bytes` without company
    std::uint64_t tag = 0;
    std::uint32_t generation =
        0;  ///< of this entry: an end that was foreseen for another one is void
    bool in_network = false;
  };

  explicit FlowTable(const std::vector<double>& bandwidths)
      : bandwidths_{bandwidths}, links_(bandwidths.size()) {}

  /// Adds a flow and lists in `met` the flows that were alone until now, itself included when it
  /// has company.
  Index add(std::span<const LinkUse> path, double bytes, double now, std::uint64_t tag,
            std::vector<Index>& met);
  /// Hands a flow to the network with what is left of it; false when nothing is left.
  bool enter_network(Index index, double now);
  void remove(Index index);
  /// Moves the starts of all flows.
  void shift(double time) {
    for (Flow& flow : flows_) flow.start += time;
  }

  Flow& operator[](Index index) { return flows_[index]; }
  const Flow& operator[](Index index) const { return flows_[index]; }

 private:
  struct LinkState {
    std::uint32_t active = 0;
    Index alone = none;
  };
  const std::vector<double>& bandwidths_;
  std::vector<LinkState> links_;
  std::vector<Flow> flows_;
  std::vector<Index> free_;
};

}  // namespace stepcast
