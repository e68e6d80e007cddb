#include "step_setup.hpp"

#include <algorithm>

#include "node_kinds.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/judge/judge.hpp"
#include "stepcast/sim/network/kept_network_map.hpp"
#include "stepcast/sim/network/network_map.hpp"
#include "stepcast/sim/replay/worst_replicas.hpp"

namespace stepcast {
namespace {

std::optional<Seconds> boundary_latency(const Scenario& scenario) {
  if (!scenario.synthetic || !scenario.synthetic->boundary_latency_given) return {};
  return scenario.synthetic->boundary_latency;
}

/// By rank, the variant of its stage's program; nothing where all experts are loaded alike.
std::vector<std::uint32_t> rank_variants(const Placement& placement, const LayerLoads& loads) {
  std::vector<std::uint32_t> variants;
  // Even loads need no variants, and ranks then fold better.
  if (loads.even()) return variants;
  for (std::uint32_t r = 0; r < placement.world(); ++r)
    variants.push_back(loads.variant_of[placement.coordinates(Rank{r}).ep]);
  return variants;
}

/// Some tenth of a second.
constexpr double most_tasks_apart = 1e6;

std::optional<std::uint64_t> hash_seed(const StallsSpec& spec) {
  if (!spec.collisions) return {};
  return static_cast<std::uint64_t>(spec.collisions->seed);
}

OperatorCost on_free_host(OperatorCost cost) {
  // Device time and draw stay: only the host is ideal.
  cost.main = cost.worker = cost.launch = cost.compile = 0;
  return cost;
}

void free_host(std::vector<Segment>& segments) {
  for (Segment& segment : segments) {
    // A segment keeps a matrix of its operators, so that it is made anew.
    std::vector<OperatorCost> operators = segment.operators();
    std::ranges::transform(operators, operators.begin(), on_free_host);
    segment = Segment(std::move(operators));
  }
}

void free_host(StageProgram& program) {
  free_host(program.segments);
  for (auto& variant : program.variants) free_host(variant);
  for (StageCall& call : program.calls) call.issue = on_free_host(call.issue);
  program.send_issue = on_free_host(program.send_issue);
}

void free_hosts(KindPrograms& kinds) {
  for (auto& programs : kinds.programs)
    for (StageProgram& program : programs) free_host(program);
  for (HostSpec& host : kinds.hosts) host.synchronise = Seconds{0};
}

/// Whether each call of the network is a copy between a device and its host, which is no
/// communication wherever it meets some.
std::vector<bool> host_copies(const NetworkMap& network,
                              const std::vector<StageProgram>& programs) {
  std::vector<bool> copies(network.calls.size(), false);
  // Calls of a trace are not indexed by stage.
  for (std::size_t c = 0; !programs.empty() && c < network.call_of.size(); ++c) {
    const auto& calls = programs[network.classes.stage[c].value].calls;
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (calls[i].over_host_link()) copies[network.call_of[c][i]] = true;
  }
  return copies;
}

void free_communication(NetworkMap& network, const std::vector<bool>& copies) {
  for (std::size_t i = 0; i < network.calls.size(); ++i) {
    // A copy to the host is no communication and stays.
    if (copies[i]) continue;
    NetworkCall& call = network.calls[i];
    // Without phases the call ends where it begins.
    call.phases.clear();
    call.lone = true;
    call.alone = 0;
  }
  for (auto& hops : network.hops)
    for (NetworkHop& hop : hops) hop.flow = {};
}

/// A phase takes its bytes. Of a call that meets nothing the phases' latencies are taken off.
void free_latencies(NetworkMap& network, const std::vector<bool>& copies) {
  for (std::size_t i = 0; i < network.calls.size(); ++i) {
    if (copies[i]) continue;
    NetworkCall& call = network.calls[i];
    for (auto& phase : call.phases) {
      double longest = 0;
      for (NetworkFlow& flow : phase) {
        longest = std::max(longest, flow.latency);
        flow.latency = 0;
      }
      call.alone = std::max(0.0, call.alone - longest);
    }
  }
  for (auto& hops : network.hops)
    for (NetworkHop& hop : hops) hop.flow.latency = 0;
}

/// Programs are empty where calls are those of a trace.
void free_network(NetworkMap& network, const Ideal& ideal,
                  const std::vector<StageProgram>& programs) {
  if (!ideal.free_latency && !ideal.free_communication) return;
  const std::vector<bool> copies = host_copies(network, programs);
  if (ideal.free_latency) free_latencies(network, copies);
  if (ideal.free_communication) free_communication(network, copies);
}

/// What the engine had to do, for those who ask.
std::string what_ran(const Timeline& timeline) {
  const bool simgrid = timeline.solver == Solver::simgrid || timeline.solver == Solver::reference;
  return std::to_string(timeline.tasks) + " instructions and transfers, " +
         std::to_string(timeline.skipped_micro_batches) + " micro-batches skipped, " +
         std::to_string(timeline.flows) + " flows shared links" +
         (simgrid ? " on SimGrid, " : ", ") + std::to_string(timeline.lone_flows) +
         " by closed form";
}

}  // namespace

bool needs_simgrid(const Scenario& scenario) {
  return scenario.simulate.engine == StepEngine::simgrid ||
         scenario.simulate.sharing == Sharing::simgrid;
}

StallsSpec without_spread(StallsSpec spec) {
  spec.spread.reset();
  return spec;
}

StepSetup::StepSetup(const Scenario& its_scenario, const AttentionLoads* its_loads,
                     const Ideal& its_ideal, bool describe_links)
    : scenario{its_scenario},
      ideal{its_ideal},
      loads{its_loads},
      fabric{fabric_of(scenario)},
      placement{scenario.workload.plan},
      layers{ideal.layers ? *ideal.layers : layers_of(scenario)},
      experts{step_loads(scenario)},
      programs{stage_programs(scenario, layers, experts)},
      kinds{kind_programs(scenario, layers, placement)},
      host{scenario.cluster.host},
      latency{boundary_latency(scenario)},
      orders{scenario.orders()},
      step_kind{its_kind()} {
  // Before the network is built, which may take long.
  if (judged()) check_judged();
  begin_phase("building the network of the job");
  network = with_network_input(describe_links, [&](const NetworkMapInput& input) {
    if (scenario.graph && scenario.graph->traced)
      return traced_network_map(input, *scenario.graph->traced);
    return intact() ? known_network_map(input) : build_network_map(input);
  });
  if (judged() && network.rounded)
    throw InputError(
        "simulate.engine: is simgrid, but the loads of some link have no common share of a 1024th, "
        "to which the fast engine rounds them (docs/models/judge.md), allowed: fast");
  // Ideals change what was built for the real machine: the network depends on neither.
  if (ideal.free_host) {
    for (StageProgram& program : programs) free_host(program);
    if (kinds) free_hosts(*kinds);
    host.synchronise = Seconds{0};
  }
  const bool traced = scenario.graph && scenario.graph->traced;
  free_network(network, ideal, traced ? std::vector<StageProgram>{} : programs);
  // The latency that stands in for the network is ideal with it.
  if (latency && (ideal.free_latency || ideal.free_communication)) latency = Seconds{0};
}

/// What the input refers to lives as long as the call.
NetworkMap StepSetup::with_network_input(
    bool describe_links, const std::function<NetworkMap(const NetworkMapInput&)>& use) const {
  // Spread is left out: classes are those of a job without it.
  const StallPlan even = stalls(without_spread(scenario.stalls));
  // Every rank a class of its own: nothing may be folded.
  const bool alone = judged() || step_kind == StepKind::spread;
  std::vector<std::uint64_t> keys;
  // Ranks with other documents, or of other kinds, are not alike.
  if (!alone) keys = loads ? told_apart(even.keys(), loads->of_rank) : even.keys();
  if (kinds && !alone) keys = told_apart(keys, kinds->of_rank);
  return use({.placement = placement,
              .fabric = fabric,
              .programs = programs,
              .algorithms = scenario.workload.communication.algorithms,
              .fold = alone ? Fold::off : scenario.simulate.fold,
              .rank_keys = keys,
              .form = scenario.simulate.network,
              .rank_variants = rank_variants(placement, experts),
              .describe_links = describe_links,
              .hash_seed = hash_seed(scenario.stalls)});
}

bool StepSetup::intact() const {
  const StallsSpec& spec = scenario.stalls;
  // Slow or broken links make a map of this scenario alone.
  return !kinds && !spec.spread && spec.degraded_links.empty() && spec.failed_links.empty();
}

bool StepSetup::replays_all() const {
  const StallPlan own = stalls(scenario.stalls);
  ReplayInput input = replay_input();
  input.stalls = &own;
  return step_kind == StepKind::even && !judged() && !may_recur(input);
}

StallPlan StepSetup::stalls(const StallsSpec& spec) const {
  return plan_stalls(spec, placement, scenario.cluster);
}

/// Where ranks differ for other reasons too, which replica is the worst is not known before.
StepKind StepSetup::its_kind() const {
  const StallsSpec& spec = scenario.stalls;
  if (!spec.spread || spec.spread->neutral()) return StepKind::even;
  // The judge replays what was drawn, rank by rank.
  if (judged() || scenario.simulate.fold == Fold::off) return StepKind::spread;
  StallsSpec calm = without_spread(spec);
  // A checkpoint holds all ranks alike, behind the last meeting of a step.
  calm.checkpoint.reset();
  const StallPlan others = stalls(calm);
  // Links that differ make a network of their own for each seed.
  const bool even_links = (!spec.spread->link || spec.spread->link->neutral()) &&
                          spec.degraded_links.empty() && spec.failed_links.empty();
  const bool alike = even_links && others.speed.empty() && !others.irregular() && !kinds &&
                     !(loads && !loads->even());
  if (!alike) return StepKind::spread;
  // Every rank by itself is exact, and so short a step costs less than it loses by being folded.
  double tasks = 0;
  for (std::size_t s = 0; s < programs.size(); ++s) tasks += unit_tasks(programs[s], orders[s]);
  const bool short_step =
      static_cast<double>(scenario.workload.plan.stage_ranks()) * tasks <= most_tasks_apart;
  return short_step && exchanges_beside_units(programs) ? StepKind::spread : StepKind::worst;
}

bool StepSetup::judged() const { return scenario.simulate.engine == StepEngine::simgrid; }

/// What only the resolved scenario tells.
void StepSetup::check_judged() const {
  announce_judge(judge_cost(programs, orders, placement, scenario.replayed_steps()),
                 placement.world());
}

ReplayInput StepSetup::replay_input() const {
  return {.programs = programs,
          .network = network,
          .host = host,
          .shape = scenario.pipeline_shape(),
          .orders = orders,
          .p2p = scenario.schedule.p2p,
          .boundary_latency = latency,
          .steps = scenario.replayed_steps(),
          .loads = loads,
          .kinds = kinds ? &*kinds : nullptr,
          .sharing = scenario.simulate.sharing,
          .await_inputs = !ideal.no_bubble};
}

Timeline StepSetup::replayed(const StallPlan& stalls, Recording* record,
                             const RecordedClasses& recorded) const {
  ReplayInput input = replay_input();
  // Without stalls the replay takes its shorter road.
  input.stalls = stalls.any() ? &stalls : nullptr;
  input.record = record;
  input.recorded = recorded;
  Timeline timeline = judged() ? stepcast::judged({.step = input,
                                                   .placement = placement,
                                                   .fabric = fabric,
                                                   .platform = platform_of(fabric),
                                                   .free_communication = ideal.free_communication})
                               : replay(input);
  tell_result([&] { return what_ran(timeline); });
  return timeline;
}

}  // namespace stepcast
