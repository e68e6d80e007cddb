#include <algorithm>
#include <cmath>

#include "forecast_parts.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

/// What sums of millions of terms round off, as a part of the sum.
constexpr double rounding = 1e-9;

/// Each direction of a bidirectional pipeline holds the whole model, every other pipeline holds it
/// once.
void check_layers(const WorkloadSpec& spec, const LayerTable& table) {
  // Two directions have a copy of the model each.
  const std::int64_t copies = spec.plan.chunk_map().copies();
  std::int64_t layers = 0, modules = 0, embeddings = 0, heads = 0;
  for (const auto& row : table.slices)
    for (const LayerTable::Slice& slice : row) {
      layers += slice.count;
      modules += slice.mtp;
      embeddings += slice.embedding ? 1 : 0;
      heads += slice.head ? 1 : 0;
    }
  expects(layers == copies * spec.model.layers, "the chunks hold the layers of the model");
  expects(modules == copies * spec.model.mtp_layers, "the chunks hold the MTP modules");
  expects(embeddings == copies && heads == copies, "a pipeline has one embedding and one head");
}

/// Model FLOPs leave out the tokens that experts drop, so that no step executes fewer.
void check_flops(const Forecast& forecast) {
  if (!forecast.model_flops) return;
  expects(*forecast.model_flops > 0, "a step trains the model");
  expects(*forecast.executed_flops >= *forecast.model_flops * (1 - rounding),
          "a step executes all FLOPs of the model");
}

void check_times(const RankTimes& times, Seconds step_time) {
  for (const Seconds part : {times.computing, times.bubble, times.host_stall, times.compile_stall,
                             times.other_idle, times.fleet, times.communication})
    expects(part >= Seconds{0}, "no part of the step time is negative");
  for (const Seconds part : times.exposed)
    expects(part >= Seconds{0}, "no part of the exposed communication is negative");
  // Parts are sums of many terms: rounding grows with their number.
  const double difference = std::abs((times.total() - step_time).value());
  expects(difference <= rounding * step_time.value(), "the parts add up to the step time");
}

void check_breakdown(const Forecast& forecast) {
  expects(forecast.step_time >= Seconds{0}, "a step takes no negative time");
  check_times(forecast.mean, forecast.step_time);
  for (const StageForecast& stage : forecast.stages) check_times(stage.times, forecast.step_time);
  for (const RankTimes& times : forecast.timeline.classes)
    check_times(times, forecast.timeline.step_time);
}

void check_budget(const MemoryBudget& budget) {
  for (const Bytes part : {budget.parameters, budget.gradients, budget.optimizer,
                           budget.activations, budget.buffers, budget.update, budget.reserve})
    expects(part >= Bytes{0}, "no part of the memory is negative");
  expects(budget.moments >= Bytes{0} && budget.moments <= budget.optimizer,
          "moments are a part of the optimizer's states");
  expects(budget.communicators >= Bytes{0} && budget.communicators <= budget.buffers,
          "buffers of communicators are a part of all buffers");
  // Activations and the update are not alive together.
  const double parts = (budget.parameters + budget.gradients + budget.optimizer +
                        std::max(budget.activations, budget.update) + budget.buffers)
                           .value();
  expects(std::abs(budget.peak().value() - parts) <= rounding * parts,
          "the parts of the memory add up to the peak");
}

/// However states are sharded, all devices together hold each at least once per copy of the model.
void check_memory(const WorkloadSpec& spec, const Forecast& forecast) {
  ModelStates held;
  // All ranks of a stage hold what its budget says.
  const auto ranks = static_cast<double>(spec.plan.stage_ranks());
  for (const StageForecast& stage : forecast.stages) {
    check_budget(*stage.memory);
    held.parameters += ranks * stage.memory->parameters;
    held.gradients += ranks * stage.memory->gradients;
    held.optimizer += ranks * stage.memory->optimizer;
  }
  const ModelStates once = states_of(spec);
  const auto copies = static_cast<double>(spec.plan.chunk_map().copies()) * (1 - rounding);
  const TrainingSpec& training = spec.training;
  if (training.active_experts < 1) return;  // the host holds the others
  expects(held.parameters >= copies * once.parameters, "all parameters are on some device");
  expects(held.gradients >= copies * once.gradients, "all gradients are on some device");
  if (training.offload_optimizer || training.offload_experts) return;
  expects(held.optimizer >= copies * once.optimizer, "all optimizer states are on some device");
}

}  // namespace

void check_laws(const Scenario& scenario, const LayerTable& layers, const Forecast& forecast) {
  check_breakdown(forecast);
  if (scenario.synthetic) return;
  check_layers(scenario.workload, layers);
  check_flops(forecast);
  check_memory(scenario.workload, forecast);
}

}  // namespace stepcast
