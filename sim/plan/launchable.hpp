#pragma once
#include <map>
#include <string>
#include <tuple>

#include "stepcast/sim/plan/plan.hpp"

namespace stepcast {

inline constexpr const char* runs_in_key = "plan.runs_in";  ///< refusals begin with it

/// Which points a launch file of `plan.runs_in` can say.
class Launchable {
 public:
  explicit Launchable(const PlanSpace& space) : space_{space} {}

  /// Why no launch file starts the point; empty: one does, or the plan runs anywhere. Points of one
  /// kind are asked once: what a framework lacks goes by which sizes are more than one, not by how
  /// large they are.
  const std::string& refusal(const PlanPoint& point);

 private:
  using Kind = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, unsigned>;
  Kind kind_of(const PlanPoint& point) const;

  const PlanSpace& space_;
  std::map<Kind, std::string> known_;
};

/// The same of one point by itself.
std::string launch_refusal(const PlanSpace& space, const PlanPoint& point);
/// Whether a launch file of `plan.runs_in`, or of the usual framework of the hardware, starts it.
bool has_launch_file(const PlanSpace& space, const PlanPoint& point);

}  // namespace stepcast
