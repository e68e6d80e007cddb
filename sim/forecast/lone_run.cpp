#include "lone_run.hpp"

#include <algorithm>
#include <variant>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/network/lone_map.hpp"
#include "stepcast/sim/replay/replay.hpp"

namespace stepcast {
namespace {

/// What device and host threads spend on the instructions, waiting left out.
struct Spent {
  double device = 0, main = 0, worker = 0;
  std::size_t launches = 0;

  void add(const OperatorCost& op) {
    main += op.main;
    worker += op.worker;
    // A launch costs host time; what the host does not issue is none.
    launches += op.main > 0 || op.worker > 0;
  }
  void add(const StageProgram& program, const Instructions& code) {
    for (const Instruction& instruction : code) {
      if (const auto* run = std::get_if<Compute>(&instruction)) {
        device += program.segments[run->segment].device_time();
        for (const OperatorCost& op : program.segments[run->segment].operators()) add(op);
      } else if (const auto* call = std::get_if<Communicate>(&instruction)) {
        // Exchanges that a kernel makes itself are not launched.
        if (!program.calls[call->call].in_kernel) add(program.calls[call->call].issue);
      }
    }
  }
};

}  // namespace

LoneRun run_alone(const Scenario& scenario, const Placement& placement, StageProgram program) {
  CollectiveTimes times{scenario.cluster, scenario.workload.communication.algorithms};
  const std::vector<StageProgram> programs{std::move(program)};
  const NetworkMap map = map_without_contention(placement, programs, times);
  // One forward and one backward: nothing before or behind hides anything.
  const std::vector<StageOrder> orders{{{UnitKind::forward, {}, {}}, {UnitKind::backward, {}, {}}}};
  Recording recording;
  replay({.programs = programs,
          .network = map,
          .host = scenario.cluster.host,
          .shape = {.group = 1},
          .orders = orders,
          .record = &recording});
  const auto& units = recording.ranks.at(0).units;
  expects(units.size() == 2, "it runs forward and backward");
  Spent spent;
  spent.add(programs[0], programs[0].chunks[0].forward);
  spent.add(programs[0], programs[0].chunks[0].backward);
  return {{Seconds{units[0].end - units[0].start}, Seconds{units[1].end - units[1].start}},
          Seconds{spent.device},
          Seconds{std::max(spent.main, spent.worker)},
          spent.launches};
}

SplitExperts difference(const LoneRun& split, const LoneRun& whole) {
  return {split.device - whole.device, whole.waited() - split.waited()};
}

}  // namespace stepcast
