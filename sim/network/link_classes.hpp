#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "stepcast/sim/engine/engine.hpp"

/// Links that carry the same flows, as one shared resource of the engine each.
/// docs/models/folding.md.
namespace stepcast {

/// Weights of flows on one link, by flow: of each instance, or of all instances of a flow together.
using LinkLoads = std::vector<std::pair<std::uint32_t, double>>;

/// All instances of a flow together.
LinkLoads merged(LinkLoads instances);

class LinkClasses {
 public:
  explicit LinkClasses(std::size_t flows) : of_flow_(flows), tightest_(flows, none) {}

  /// A link of that bandwidth [B/s] with those instances of flows; `shared` when two flows can be
  /// on it at a time.
  void add(double bandwidth, LinkLoads instances, bool shared);
  /// After the last link: flows that meet others keep their tightest private link too.
  void finish();

  /// Capacities of the classes that the engine knows, in units of the weight that one share stands
  /// for.
  const std::vector<double>& bandwidths() const { return bandwidths_; }
  /// Loads of some link that the engine knows have no common share and are rounded.
  bool rounded() const { return rounded_; }
  /// Shared links of a flow and its tightest private one; empty when it can meet no other flow.
  std::vector<LinkUse> path(std::uint32_t flow) const;
  /// Time per byte of the flow when it is alone: largest load / bandwidth over its links.
  double seconds_per_byte(std::uint32_t flow) const;

 private:
  struct Class {
    double bandwidth;
    LinkLoads instances;
    LinkLoads loads;  ///< merged
    bool shared;      ///< flows can meet here
    bool in_engine = false;
    std::uint32_t index = 0;  ///< into bandwidths_, when in the engine
    LinkLoads shares = {};    ///< whole numbers, by flow, when in the engine
    double load_of(std::uint32_t flow) const;
    /// Sets `shares`, and `rounded` where the weights have no common one; returns the weight of
    /// one.
    double count_shares(bool& rounded);
  };
  static constexpr std::uint32_t none = UINT32_MAX;
  void enter(Class& c);
  void keep_tightest_private(std::uint32_t flow);

  std::vector<Class> classes_;
  std::vector<std::vector<std::uint32_t>> of_flow_;  ///< classes that each flow crosses
  std::vector<std::uint32_t> tightest_;  ///< private class that each flow keeps, or none
  std::vector<double> bandwidths_;
  bool rounded_ = false;
};

}  // namespace stepcast
