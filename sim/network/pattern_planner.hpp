#pragma once
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "job_graph.hpp"

namespace stepcast {

/// Link of that kind of member a (mesh: towards member b; wire: number b of its node).
LinkId member_link(const Fabric& fabric, LinkKind kind, DeviceId a, DeviceId b);

/// Wires as a group names them, so that groups that lie alike on a torus or full mesh share a plan:
/// as if its first member stood at the origin of what it sees. A group that reaches around an edge
/// of the grid keeps its place, because the order of its members is another one.
class WireFrame {
 public:
  WireFrame(const Fabric& fabric, std::span<const DeviceId> members);
  std::uint32_t named(std::uint32_t wire) const;
  std::uint32_t real(std::uint32_t name) const;
  std::uint32_t place(DeviceId device) const;  ///< of a device in its node

 private:
  const NodeWires& wires_;
  std::uint32_t first_ = 0, origin_ = 0;
};

/// The plan of one call by the devices of its group.
CollectivePlan plan_call(const NetworkMapInput& input, std::span<const DeviceId> devices,
                         const StageCall& call, NetworkForm form);

/// NetworkCall::held of one call by the devices of its group.
double held_by(const Fabric& fabric, std::span<const DeviceId> devices, const StageCall& call);

/// The flows of each phase, their links left out; the launch of the collective counts in the first,
/// unless a kernel that runs already starts it.
std::vector<std::vector<NetworkFlow>> timed_phases(const CollectivePlan& plan, const Fabric& fabric,
                                                   bool in_kernel = false);

/// Plans the calls of one group and names the links by members.
class PatternPlanner {
 public:
  /// The members repeat after `period` of them; those of the first one alone are named.
  /// They live as long as the planner.
  PatternPlanner(const NetworkMapInput& input, std::span<const Rank> members, std::uint32_t stage,
                 std::size_t period);

  /// Adds call `index` of the stage's program.
  void add(std::uint32_t index);
  /// False where a call treats members differently that are a period apart.
  bool repeats() const { return repeats_; }
  /// Roles are left to the graph, which compares all of its patterns.
  GroupPattern take();

 private:
  using LinkKey = std::tuple<LinkKind, std::uint32_t, std::uint32_t>;

  const CollectivePlan& plan(const StageCall& call);
  LinkKey key_of(LinkId link) const;
  std::uint32_t member_with(std::uint32_t value,
                            std::uint32_t (Fabric::*place)(DeviceId) const) const;

  const NetworkMapInput& input_;
  std::size_t period_;  ///< 0: that of all members
  bool repeats_ = true;
  std::span<const Rank> members_;
  std::vector<DeviceId> devices_;
  std::optional<WireFrame> frame_;                          ///< of these devices
  std::vector<std::uint32_t> experts_;                      ///< expert rank of each member
  std::unordered_map<std::uint32_t, std::uint32_t> index_;  ///< device -> member
  std::map<std::tuple<CollectiveKind, double, std::string, Skew>, CollectivePlan> plans_;
  std::map<LinkKey, std::vector<GroupPattern::Load>> loads_;
  GroupPattern pattern_;
};

}  // namespace stepcast
