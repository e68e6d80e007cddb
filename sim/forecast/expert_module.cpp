#include "expert_module.hpp"

#include <variant>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/network/lone_map.hpp"
#include "stepcast/sim/replay/replay.hpp"

namespace stepcast {

namespace {

struct ModuleRun {
  ExpertModuleTimes times;
  Seconds device{0};  ///< of its kernels

  Seconds waited() const { return times.forward + times.backward - device; }
};

Seconds device_time(const StageProgram& program, const Instructions& code) {
  Seconds sum{0};
  for (const Instruction& instruction : code)
    if (const auto* run = std::get_if<Compute>(&instruction))
      sum += Seconds{program.segments[run->segment].device_time()};
  return sum;
}

ModuleRun run_module(const Scenario& scenario, const Placement& placement) {
  CollectiveTimes times{scenario.cluster, scenario.workload.communication.algorithms};
  const std::vector<StageProgram> programs{
      lower_expert_module(scenario.workload, scenario.cluster)};
  const NetworkMap map = map_without_contention(placement, programs, times);
  const std::vector<StageOrder> orders{{{UnitKind::forward, {}, {}}, {UnitKind::backward, {}, {}}}};
  Recording recording;
  replay({.programs = programs,
          .network = map,
          .host = scenario.cluster.host,
          .shape = {.group = 1},
          .orders = orders,
          .record = &recording});
  const auto& units = recording.ranks.at(0).units;
  expects(units.size() == 2, "a module runs forward and backward");
  const ChunkProgram& chunk = programs[0].chunks[0];
  return {{Seconds{units[0].end - units[0].start}, Seconds{units[1].end - units[1].start}},
          device_time(programs[0], chunk.forward) + device_time(programs[0], chunk.backward)};
}

}  // namespace

ExpertModuleTimes expert_module_times(const Scenario& scenario, const Placement& placement) {
  return run_module(scenario, placement).times;
}

std::optional<SplitExperts> split_experts(const Scenario& scenario, const Placement& placement) {
  const WorkloadSpec& spec = scenario.workload;
  if (!spec.moe.in_pieces() || spec.plan.ep <= 1) return std::nullopt;
  Scenario in_one = scenario;
  in_one.workload.moe.overlap = MoeSpec::Overlap::none;
  in_one.workload.moe.pieces = 1;
  const ModuleRun split = run_module(scenario, placement), whole = run_module(in_one, placement);
  return SplitExperts{split.device - whole.device, whole.waited() - split.waited()};
}

}  // namespace stepcast
