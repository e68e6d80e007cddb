#include "launchable.hpp"

#include <array>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/import/export.hpp"

namespace stepcast {
namespace {

/// The kind of export_launch; empty: any.
std::string launch_kind(PlanSpec::RunsIn runs_in) {
  constexpr std::array kinds{"", "megatron", "mindspeed", "mindformers"};
  return kinds.at(static_cast<std::size_t>(runs_in));
}

}  // namespace

Launchable::Kind Launchable::kind_of(const PlanPoint& point) const {
  const Strategy& s = point.strategy;
  const std::int64_t dp = point.devices / (s.tp * s.cp * s.pp);
  // An export refuses keys and combinations, never sizes as such. Points that agree in what is
  // above 1 and what divides are refused alike, and one export answers for all of them.
  const std::int64_t layers = space_.bases[s.base].scenario.workload.model.layers;
  unsigned bits = 0;
  for (const bool one :
       {s.tp > 1, s.pp > 1, s.vpp > 1, s.cp > 1, s.ep > 1, s.etp > 1, dp > 1, s.etp == s.tp,
        s.micro_batch > 1, s.sequence_parallel, layers % (s.pp * s.vpp) == 0})
    bits = 2 * bits + (one ? 1 : 0);
  return {s.base, s.schedule, s.zero, bits};
}

const std::string& Launchable::refusal(const PlanPoint& point) {
  static const std::string none;
  if (space_.spec.runs_in == PlanSpec::RunsIn::any) return none;
  const auto [known, added] = known_.try_emplace(kind_of(point));
  if (added) known->second = launch_refusal(space_, point);
  return known->second;
}

std::string launch_refusal(const PlanSpace& space, const PlanPoint& point) {
  if (space.spec.runs_in == PlanSpec::RunsIn::any) return {};
  const std::string kind = launch_kind(space.spec.runs_in);
  std::vector<std::string> keys =
      export_launch(read_point(space, point, space.presets), kind).lacking;
  if (keys.empty()) return {};
  // `parallel.zero (3, the framework has 1)`: points differ in the values.
  for (std::string& key : keys) key = key.substr(0, key.find(" ("));
  return std::string(runs_in_key) + ": " + kind + " has no way to say " + joined(keys);
}

bool has_launch_file(const PlanSpace& space, const PlanPoint& point) {
  if (space.spec.runs_in != PlanSpec::RunsIn::any) return true;  // others were left out
  const Scenario scenario = read_point(space, point, space.presets);
  return export_launch(scenario, usual_export(scenario)).lacking.empty();
}

}  // namespace stepcast
