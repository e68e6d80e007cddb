#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>

#include "node_kinds.hpp"
#include "resolving.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/graph/task_graph.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/network/solitary.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"

// What can be checked only once the layers are assigned and the programs are lowered.
namespace stepcast {
namespace {

/// Each of them took 0.03 to 0.1 ms to simulate in the jobs measured, with all executions of its
/// call (docs/models/collectives.md, "As pairs").
constexpr double most_job_messages = 8 * 1024 * 1024;

/// A stage cannot compute more layers again than it has.
void check_recompute(const Scenario& scenario, const LayerTable& layers, Checks& checks) {
  const TrainingSpec& training = scenario.workload.training;
  if (scenario.synthetic || training.recompute != TrainingSpec::Recompute::table) return;
  for (std::size_t c = 0; c < layers.slices.size(); ++c) {
    for (std::size_t s = 0; s < layers.slices[c].size(); ++s) {
      // The table counts layers of the chunk, whatever they are.
      const std::int64_t wanted = training.recompute_layers[c][s];
      const std::int64_t held = layers.slices[c][s].count;
      checks.require(wanted <= held, "training.recompute",
                     "recomputes " + count_text(wanted) + " layers of chunk " + std::to_string(c) +
                         " on stage " + std::to_string(s) + ", which has " + count_text(held) +
                         ", allowed: 0 to " + count_text(held));
    }
  }
}

/// Messages of all calls that stand in the programs, each call once for every group that makes it,
/// however often a step executes it.
/// Equal calls of equal groups are counted by the first of them; world calls that run alone stay
/// ports. Throws InputError where a step has too many.
double messages_of(const Scenario& scenario, const std::vector<StageProgram>& programs,
                   const Placement& placement) {
  using Key = std::tuple<GroupKind, CollectiveKind, double, std::string>;
  const Fabric fabric = fabric_of(scenario);
  const bool world_alone = world_runs_alone(programs);
  const double ranks = placement.world() / static_cast<double>(programs.size());
  double all = 0;
  for (std::uint32_t stage = 0; stage < programs.size(); ++stage) {
    std::map<Key, double> known;
    for (const StageCall& call : programs[stage].calls) {
      // Copies move no messages of the network, and world calls that run alone stay ports.
      if (call.over_host_link() || (call.group == GroupKind::world && world_alone)) continue;
      const std::string& chosen = call.algorithm.empty()
                                      ? scenario.workload.communication.algorithms
                                            .algorithm[static_cast<std::size_t>(call.call.kind)]
                                      : call.algorithm;
      const auto [place, fresh] =
          known.try_emplace({call.group, call.call.kind, call.call.bytes.value(), chosen}, 0);
      // Equal calls are planned once, for the first group of the stage.
      if (fresh) {
        std::vector<DeviceId> members;
        for (const Rank member : placement.group(call.group, placement.first_of(Stage{stage})))
          members.push_back(placement.device_of(member));
        const CollectivePlan plan = plan_collective(
            fabric, members, {call.call.kind, call.call.bytes}, chosen, NetworkForm::pairwise);
        for (const Phase& phase : plan.phases)
          place->second += static_cast<double>(phase.flows.size());
        // As many groups as the ranks of a stage make.
        place->second *= ranks / static_cast<double>(members.size());
      }
      all += place->second;
    }
  }
  return all;
}

/// `simulate.network: pairwise` has a largest job.
void check_pairwise(const Scenario& scenario, const std::vector<StageProgram>& programs,
                    const Placement& placement, Checks& checks) {
  const double messages = messages_of(scenario, programs, placement);
  checks.require(messages <= most_job_messages, "simulate.network",
                 "is pairwise, but the calls of all groups have about " +
                     count_text(static_cast<std::int64_t>(messages)) +
                     " messages, allowed: ports, or jobs of up to " +
                     count_text(static_cast<std::int64_t>(most_job_messages)));
}

/// A named algorithm must fit every group that calls it: planning the calls of the network says so.
void check_algorithms(const Scenario& scenario, const std::vector<StageProgram>& programs,
                      const Placement& placement) {
  const Fabric fabric = fabric_of(scenario);
  build_network_map({.placement = placement,
                     .fabric = fabric,
                     .programs = programs,
                     .algorithms = scenario.workload.communication.algorithms,
                     .form = scenario.simulate.network});
}

/// Of the kinds whose algorithm is named, those that no program makes.
std::vector<std::size_t> idle_kinds(const Scenario& scenario,
                                    const std::vector<StageProgram>& programs) {
  // Calls with an algorithm of their own do not ask the key.
  std::array<bool, collective_kinds> made{};
  for (const StageProgram& program : programs)
    for (const StageCall& call : program.calls)
      if (!call.over_host_link() && call.algorithm.empty())
        made.at(static_cast<std::size_t>(call.call.kind)) = true;
  const CollectiveChoice& choice = scenario.workload.communication.algorithms;
  std::vector<std::size_t> idle;
  // `auto` was asked for nothing in particular.
  for (std::size_t k = 0; k < chosen_kinds; ++k)
    if (!made.at(k) && choice.algorithm[k] != "auto") idle.push_back(k);
  return idle;
}

std::string algorithm_key(std::size_t kind) {
  return "communication.algorithm." + std::string(name(static_cast<CollectiveKind>(kind)));
}

/// Whoever names the algorithm of a collective expects the step to make it.
void check_idle_algorithms(const Scenario& scenario, const std::vector<StageProgram>& programs,
                           Checks& checks) {
  for (const std::size_t kind : idle_kinds(scenario, programs)) {
    // A framework's defaults are not what the user named.
    if (scenario.framework && scenario.framework->sets(algorithm_key(kind))) continue;
    checks.require(false, algorithm_key(kind),
                   "is " + scenario.workload.communication.algorithms.algorithm[kind] +
                       " but no rank makes this collective, allowed: auto");
  }
}

bool names_algorithms(const CollectiveChoice& choice) {
  return std::ranges::any_of(choice.algorithm, [](const std::string& a) { return a != "auto"; });
}

}  // namespace

std::vector<std::string> idle_algorithms(const Scenario& scenario) {
  if (!names_algorithms(scenario.workload.communication.algorithms)) return {};
  std::vector<std::string> keys;
  for (const std::size_t kind : idle_kinds(scenario, stage_programs(scenario, layers_of(scenario))))
    keys.push_back(algorithm_key(kind));
  return keys;
}

void check_resolved(const Scenario& scenario, IdleAlgorithms idle, Checks& checks) {
  if (scenario.graph && scenario.graph->traced) return;  // its groups are its own
  const bool recomputes = scenario.workload.training.recompute == TrainingSpec::Recompute::table;
  const bool pairwise = scenario.simulate.network == NetworkForm::pairwise;
  const bool named = names_algorithms(scenario.workload.communication.algorithms);
  if (!recomputes && !pairwise && !named) return;  // the usual case, which costs nothing
  // Layers and programs are dear: only named algorithms and tables ask for them.
  const LayerTable layers = layers_of(scenario);
  if (recomputes) check_recompute(scenario, layers, checks);
  if (!checks.all_good() || (!pairwise && !named)) return;
  const std::vector<StageProgram> programs = stage_programs(scenario, layers);
  const Placement placement(scenario.workload.plan);
  if (pairwise) check_pairwise(scenario, programs, placement, checks);
  if (named && idle == IdleAlgorithms::refused) check_idle_algorithms(scenario, programs, checks);
  if (named && checks.all_good()) check_algorithms(scenario, programs, placement);
}

}  // namespace stepcast
