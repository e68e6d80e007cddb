#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "stepcast/sim/engine.hpp"
#include "stepcast/topology/fabric.hpp"
#include "stepcast/workloads/collectives.hpp"

/// Links that carry the same flows, as one shared resource of the engine each.
/// docs/models/folding.md.
namespace stepcast {

/// One flow of one class, seen from its representative.
struct FlowTemplate {
  enum class Kind { call, forward, backward };
  std::uint32_t owner, call, phase, flow;  ///< class, then the place in its NetworkCall
  std::uint64_t channel;  ///< in-order channel: flows of one channel never meet each other
  Kind kind;
  std::vector<LinkWeight> links;  ///< of the representative's instance, those to look at
};

/// Sum of the weights of all instances of each flow template on one link.
using LinkLoads = std::map<std::uint32_t, double>;

class LinkClasses {
 public:
  explicit LinkClasses(const Fabric& fabric) : fabric_{fabric} {}

  static std::set<LinkId> links_of(const std::vector<FlowTemplate>& templates);
  /// Asks `loads` for the flows on every link of the templates, merges links that carry the same,
  /// and separates private classes (one channel alone) from shared ones.
  void find(const std::vector<FlowTemplate>& templates,
            const std::function<LinkLoads(LinkId)>& loads);

  /// Capacities of the classes that the engine knows, in units of the weight that one share stands
  /// for.
  const std::vector<double>& bandwidths() const { return bandwidths_; }
  /// Shared links of a flow and its tightest private one; empty when it can meet no other flow.
  std::vector<LinkUse> path(std::uint32_t id) const;
  /// Time per byte of the flow when it is alone: largest load / bandwidth over its links.
  double seconds_per_byte(std::uint32_t id) const;

  /// Devices whose traffic can cross the link.
  std::vector<DeviceId> devices_behind(LinkId link) const;
  /// Whether the device is an end of the link, or behind it.
  bool touches(LinkId link, DeviceId device) const;

 private:
  struct Class {
    double bandwidth;
    LinkLoads loads;
    bool shared;  ///< flows can meet here
    bool in_engine = false;
    std::uint32_t index = 0;  ///< into bandwidths_, when in the engine
    double share = 1;         ///< weight of one share
  };
  void add(LinkId link, const LinkLoads& loads, const std::vector<FlowTemplate>& templates);
  void enter(Class& c);
  void keep_tightest_private(std::uint32_t id);

  const Fabric& fabric_;
  std::vector<Class> classes_;
  std::vector<std::vector<std::uint32_t>> of_template_;  ///< classes that each template crosses
  std::vector<double> bandwidths_;
};

}  // namespace stepcast
