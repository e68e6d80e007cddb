#include "stepcast/sim/forecast.hpp"

#include <algorithm>

#include "stage_programs.hpp"
#include "stepcast/sim/network_map.hpp"
#include "stepcast/sim/replay.hpp"
#include "stepcast/workloads/expert_loads.hpp"

namespace stepcast {
namespace {

std::optional<Seconds> boundary_latency(const Scenario& scenario) {
  if (!scenario.synthetic || !scenario.synthetic->boundary_latency_given) return {};
  return scenario.synthetic->boundary_latency;
}

/// By rank, the variant of its stage's program; nothing where all experts are loaded alike.
std::vector<std::uint32_t> rank_variants(const Placement& placement, const ExpertLoads& loads) {
  std::vector<std::uint32_t> variants;
  if (loads.even()) return variants;
  for (std::uint32_t r = 0; r < placement.world(); ++r)
    variants.push_back(loads.variant_of[placement.coordinates(Rank{r}).ep]);
  return variants;
}

/// MoE layers of the stage that has most, MTP modules included.
double most_moe_layers(const ModelSpec& model, const LayerTable& layers, std::size_t stages) {
  double most = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    double sum = 0;
    for (const auto& chunk : layers.slices) {
      const LayerTable::Slice& slice = chunk[s];
      for (std::int64_t l = slice.first; l < slice.first + slice.count; ++l)
        sum += model.is_moe_layer(l) ? 1 : 0;
      if (model.is_moe_layer(model.layers - 1)) sum += static_cast<double>(slice.mtp);
    }
    most = std::max(most, sum);
  }
  return most;
}

ExpertForecast expert_forecast(const Scenario& scenario, const LayerTable& layers,
                               const ExpertLoads& loads) {
  const WorkloadSpec& spec = scenario.workload;
  const double kept = 1 - loads.dropped;
  ExpertForecast result{loads.expert_imbalance(), loads.rank_imbalance(), loads.dropped};
  result.balanced = expert_matmul_time(spec, scenario.cluster.device, kept);
  result.fullest = loads.even()
                       ? result.balanced
                       : expert_matmul_time(spec, scenario.cluster.device, loads.largest());
  result.cost = (result.fullest - result.balanced) *
                (most_moe_layers(spec.model, layers, static_cast<std::size_t>(spec.plan.pp)) *
                 static_cast<double>(scenario.micro_batches()));
  return result;
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

Forecast forecast(const Scenario& scenario) {
  const Fabric fabric(scenario.cluster, link_faults(scenario.stalls, Fabric(scenario.cluster)));
  const Placement placement(scenario.workload.plan);
  const LayerTable layers =
      scenario.synthetic ? LayerTable{} : assign_layers(scenario.workload, scenario.cluster.device);
  const std::vector<StageProgram> programs = stage_programs(scenario, layers);

  const ExpertLoads loads = scenario.synthetic ? ExpertLoads{} : expert_loads(scenario.workload);
  const StallPlan stalls = plan_stalls(scenario.stalls, placement, scenario.cluster);
  const NetworkMap network =
      build_network_map({placement, fabric, programs, scenario.workload.communication.algorithms,
                         scenario.simulate.fold, stalls.keys(), scenario.simulate.network,
                         rank_variants(placement, loads)});

  Forecast result;
  result.timeline = replay({programs, network, scenario.cluster.host, scenario.pipeline_shape(),
                            pipeline_schedule(scenario.schedule.pipeline), scenario.schedule.p2p,
                            boundary_latency(scenario), stalls.any() ? &stalls : nullptr,
                            scenario.simulate.steps});
  result.step_time = result.timeline.step_time;
  add_times(result, network.classes, programs.size());
  add_stages(result, scenario, layers);
  if (!scenario.synthetic) {
    result.collectives = collective_uses(network, programs);
    result.model_flops = model_flops_per_step(scenario.workload);
    if (scenario.workload.model.moe) result.experts = expert_forecast(scenario, layers, loads);
    double executed = 0;
    for (const StageProgram& program : programs) executed += program.executed_flops;
    result.executed_flops = executed * static_cast<double>(scenario.workload.plan.stage_ranks());
  }
  return result;
}

}  // namespace stepcast
