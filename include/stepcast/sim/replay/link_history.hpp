#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "stepcast/sim/replay/recording.hpp"

namespace stepcast {

/// The use of every link over time, added up while a run goes on, so that no communication has to
/// be kept. How long the run will be is not known: when its parts are used up, each two become one.
class LinkHistory {
 public:
  /// `network` has its links described, and outlives this.
  explicit LinkHistory(const NetworkMap& network);

  /// A collective, or a transfer of a class, loads its links evenly from `from` to `to`.
  void add_call(std::uint32_t call, double from, double to);
  void add_transfer(Channel channel, std::uint32_t sender, double from, double to);
  void take(Recording& out);

 private:
  struct Load {
    std::uint32_t link;
    double bytes;
  };
  using Loads = std::vector<Load>;

  void add_flow(const NetworkFlow& flow, Loads& loads) const;
  void add(const Loads& loads, double from, double to);
  void spread(std::vector<float>& busy, double from, double to, double seconds) const;
  void lengthen();

  const NetworkMap& network_;
  /// [flow number] the links that it loads, with the bytes over each per byte of the flow.
  std::vector<std::vector<std::pair<std::uint32_t, double>>> of_flow_;
  std::vector<Loads> of_call_;  ///< made when a call first moves
  std::vector<bool> known_;
  std::vector<Recording::LinkUse> links_;
  double part_;
};

}  // namespace stepcast
