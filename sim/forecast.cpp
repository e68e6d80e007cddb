#include "stepcast/sim/forecast.hpp"

#include <algorithm>

#include "stage_programs.hpp"
#include "stepcast/sim/network_map.hpp"
#include "stepcast/sim/replay.hpp"

namespace stepcast {
namespace {

std::optional<Seconds> boundary_latency(const Scenario& scenario) {
  if (!scenario.synthetic || !scenario.synthetic->boundary_latency_given) return {};
  return scenario.synthetic->boundary_latency;
}

/// Distinct collectives of all classes, each once.
std::vector<CollectiveUse> collective_uses(const NetworkMap& network,
                                           const std::vector<StageProgram>& programs) {
  std::vector<CollectiveUse> uses;
  std::vector<bool> seen(network.calls.size());
  for (std::size_t c = 0; c < network.call_of.size(); ++c) {
    const auto& calls = programs[network.classes.stage[c].value].calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::uint32_t index = network.call_of[c][i];
      if (seen[index]) continue;
      seen[index] = true;
      const NetworkCall& planned = network.calls[index];
      const CollectiveUse use{calls[i].name, name(calls[i].group), planned.algorithm,
                              calls[i].call.bytes, Seconds{planned.alone}};
      if (std::ranges::find(uses, use) == uses.end()) uses.push_back(use);
    }
  }
  return uses;
}

/// Mean over the ranks of each stage, and over all.
void add_times(Forecast& result, const RankClasses& classes, std::size_t stages) {
  const auto world = static_cast<double>(classes.class_of.size());
  const double per_stage = world / static_cast<double>(stages);
  result.stages.resize(stages);
  for (std::size_t c = 0; c < classes.ranks.size(); ++c) {
    const RankTimes& times = result.timeline.classes[c];
    RankTimes& stage = result.stages[classes.stage[c].value].times;
    add(stage, times, classes.ranks[c] / per_stage);
    stage.end = std::max(stage.end, times.end);
    add(result.mean, times, classes.ranks[c] / world);
    result.mean.end = std::max(result.mean.end, times.end);
  }
}

void add_stages(Forecast& result, const Scenario& scenario, const LayerTable& layers) {
  const PipelineShape shape = scenario.pipeline_shape();
  const PipelineSchedule& schedule = pipeline_schedule(scenario.schedule.pipeline);
  for (std::uint32_t s = 0; s < shape.stages; ++s) {
    if (scenario.synthetic) continue;
    StageForecast& stage = result.stages[s];
    const auto held = in_flight_moments(schedule.order(shape, Stage{s}), shape.chunks);
    stage.memory = stage_memory(scenario.workload, layers, scenario.cluster, Stage{s}, held);
    for (const auto& chunk : layers.slices) stage.layers.push_back(chunk[s].count);
  }
}

}  // namespace

bool Forecast::fits_memory() const {
  return std::ranges::all_of(stages,
                             [](const StageForecast& s) { return !s.memory || s.memory->fits(); });
}

namespace {

OperatorCost on_free_host(OperatorCost cost) {
  cost.main = cost.worker = cost.launch = 0;
  return cost;
}

void free_host(StageProgram& program) {
  for (Segment& segment : program.segments) {
    std::vector<OperatorCost> operators = segment.operators();
    std::ranges::transform(operators, operators.begin(), on_free_host);
    segment = Segment(std::move(operators));
  }
  for (StageCall& call : program.calls) call.issue = on_free_host(call.issue);
  program.send_issue = on_free_host(program.send_issue);
}

void free_communication(NetworkMap& network) {
  for (NetworkCall& call : network.calls) {
    call.phases.clear();
    call.lone = true;
    call.alone = 0;
  }
  for (auto* hops : {&network.forward, &network.backward})
    for (NetworkHop& hop : *hops) hop.flow = {};
}

Forecast run(const Scenario& scenario, const Ideal& ideal, std::uint32_t recorded_ranks,
             RecordedRun* record) {
  const Fabric fabric(scenario.cluster, link_faults(scenario.stalls, Fabric(scenario.cluster)));
  const Placement placement(scenario.workload.plan);
  LayerTable layers = ideal.layers ? *ideal.layers : layers_of(scenario);
  std::vector<StageProgram> programs = stage_programs(scenario, layers);

  const StallPlan stalls = plan_stalls(scenario.stalls, placement, scenario.cluster);
  NetworkMap network = build_network_map(
      {placement, fabric, programs, scenario.workload.communication.algorithms,
       scenario.simulate.fold, stalls.keys(), scenario.simulate.network, record != nullptr});
  HostSpec host = scenario.cluster.host;
  std::optional<Seconds> latency = boundary_latency(scenario);
  if (ideal.free_host) {
    std::ranges::for_each(programs, free_host);
    host.synchronise = Seconds{0};
  }
  if (ideal.free_communication) {
    free_communication(network);
    if (latency) latency = Seconds{0};
  }

  Forecast result;
  result.timeline =
      replay({programs, network, host, scenario.pipeline_shape(),
              pipeline_schedule(scenario.schedule.pipeline), scenario.schedule.p2p, latency,
              stalls.any() ? &stalls : nullptr, scenario.simulate.steps, true, !ideal.no_bubble,
              record ? &record->recording : nullptr, recorded_ranks});
  result.step_time = result.timeline.step_time;
  add_times(result, network.classes, programs.size());
  add_stages(result, scenario, layers);
  if (!scenario.synthetic) {
    result.collectives = collective_uses(network, programs);
    result.model_flops = model_flops_per_step(scenario.workload);
    double executed = 0;
    for (const StageProgram& program : programs) executed += program.executed_flops;
    result.executed_flops = executed * static_cast<double>(scenario.workload.plan.stage_ranks());
  }
  if (record) {
    record->layers = std::move(layers);
    record->programs = std::move(programs);
    record->network = std::move(network);
  }
  return result;
}

}  // namespace

LayerTable layers_of(const Scenario& scenario) {
  return scenario.synthetic ? LayerTable{}
                            : assign_layers(scenario.workload, scenario.cluster.device);
}

Forecast forecast(const Scenario& scenario) { return forecast(scenario, Ideal{}); }

Forecast forecast(const Scenario& scenario, const Ideal& ideal) {
  return run(scenario, ideal, Recording::none, nullptr);
}

RecordedRun record(const Scenario& scenario, std::uint32_t ranks) {
  RecordedRun result;
  result.forecast = run(scenario, Ideal{}, ranks, &result);
  return result;
}

}  // namespace stepcast
