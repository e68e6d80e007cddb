#include "layout.hpp"

#include <algorithm>
#include <map>

#include "stepcast/workloads/memory.hpp"

namespace stepcast {
namespace {

PieceCounts counts_of(const ModelSpec& model, const LayerTable::Slice& slice) {
  PieceCounts counts{};
  const auto at = [&](PlanPiece piece) -> double& {
    return counts[static_cast<std::size_t>(piece)];
  };
  at(PlanPiece::embedding) = slice.embedding ? 1 : 0;
  at(PlanPiece::head) = slice.head ? 1 : 0;
  at(PlanPiece::mtp_module) = static_cast<double>(slice.mtp);
  for (std::int64_t i = 0; i < slice.count; ++i)
    at(model.is_moe_layer(slice.first + i) ? PlanPiece::moe_layer : PlanPiece::dense_layer) += 1;
  return counts;
}

bool covers(const std::vector<int>& more, const std::vector<int>& less) {
  for (std::size_t c = 0; c < more.size(); ++c)
    if (more[c] < less[c]) return false;
  return true;
}

void keep_largest(std::vector<std::vector<int>>& moments) {
  std::vector<std::vector<int>> kept;
  for (auto moment = moments.rbegin(); moment != moments.rend(); ++moment) {
    if (std::ranges::any_of(kept, [&](const auto& k) { return covers(k, *moment); })) continue;
    std::erase_if(kept, [&](const auto& k) { return covers(*moment, k); });
    kept.push_back(*moment);
  }
  moments = std::move(kept);
}

/// All forwards before the first backward.
bool holds_all(const PipelineSchedule& schedule) {
  return schedule.name == "gpipe" || schedule.name == "terapipe";
}

/// Adds the times of one chunk.
void add_chunk(StageLayout& stage, const LayerCosts& costs, const PieceCounts& counts,
               std::int64_t layers) {
  const auto part = [&](double PieceCost::*what) { return costs.part(counts, what); };
  const bool first = stage.forward.empty();
  stage.forward.push_back(costs.forward(counts));
  stage.backward.push_back(costs.backward(counts));
  stage.unit += costs.device(counts);
  stage.split_unit +=
      part(&PieceCost::forward) + part(&PieceCost::input) + part(&PieceCost::weight);
  if (first) stage.entry_forward = part(&PieceCost::entry_forward);
  if (first) stage.entry_backward = part(&PieceCost::entry_backward);
  stage.entry += part(&PieceCost::entry_forward) + part(&PieceCost::entry_backward);
  stage.pair += part(&PieceCost::pair);
  stage.fetched += part(&PieceCost::fetched);
  if (layers > 0) stage.first_fetches += part(&PieceCost::fetched) / static_cast<double>(layers);
  stage.compute += costs.compute(counts);
  stage.near += costs.near(counts);
  stage.wide += costs.wide(counts);
  stage.dense += costs.dense(counts);
  stage.expert += costs.expert(counts);
}

/// Memory of one stage from the bytes that the budget of a forecast has.
class StageBytes {
 public:
  StageBytes(const Scenario& scenario, const LayerTable& layers, Stage stage)
      : scenario_{scenario}, layers_{layers}, stage_{stage}, chunks_{layers.slices.size()} {}

  double activation(std::size_t chunk) const {
    std::vector<int> one(chunks_, 0);
    one[chunk] = 1;
    const double with = budget(scenario_.workload, one).activations.value();
    return with - budget(scenario_.workload, std::vector<int>(chunks_, 0)).activations.value();
  }
  double fixed(std::int64_t zero) const {
    WorkloadSpec spec = scenario_.workload;
    spec.plan.zero = zero;
    return budget(spec, std::vector<int>(chunks_, 0)).peak().value();
  }

 private:
  MemoryBudget budget(const WorkloadSpec& spec, const std::vector<int>& held) const {
    return stage_memory(spec, layers_, scenario_.cluster, stage_, held);
  }

  const Scenario& scenario_;
  const LayerTable& layers_;
  Stage stage_;
  std::size_t chunks_;
};

}  // namespace

const HeldMoments& MomentTable::of(const PipelineSchedule& schedule, const PipelineShape& given,
                                   bool paired) {
  const PipelineShape shape = telling_shape(schedule, given);
  const std::int64_t warm_up =
      static_cast<std::int64_t>(shape.warm_up.kind) * any_count + shape.warm_up.extra;
  const auto [place, fresh] = known_.try_emplace(Key{schedule.name, shape.stages, shape.chunks,
                                                     shape.micro_batches * any_count + shape.group,
                                                     warm_up, shape.slices, paired});
  if (!fresh) return place->second;
  HeldMoments& held = place->second;
  if (holds_all(schedule)) {
    const std::vector<int> all(static_cast<std::size_t>(shape.chunks),
                               static_cast<int>(shape.micro_batches * shape.slices));
    held.assign(static_cast<std::size_t>(shape.stages), {all});
    return held;
  }
  for (const StageOrder& order : orders_of(schedule, shape, paired)) {
    auto& moments = held.emplace_back(in_flight_moments(order, shape.chunks));
    keep_largest(moments);
  }
  return held;
}

PlanLayout lay_out(const Scenario& scenario, const LayerCosts& costs,
                   const std::vector<std::int64_t>& zeros) {
  PlanLayout layout;
  layout.layers = assign_layers(scenario.workload, scenario.cluster.device);
  const auto stages = static_cast<std::size_t>(scenario.workload.plan.pp);
  std::map<std::vector<PieceCounts>, std::size_t> alike;
  for (std::size_t s = 0; s < stages; ++s) {
    std::vector<PieceCounts> counts;
    for (const auto& chunk : layout.layers.slices)
      counts.push_back(counts_of(scenario.workload.model, chunk[s]));
    const auto [place, fresh] = alike.try_emplace(counts, s);
    if (!fresh) {
      layout.stages.push_back(layout.stages[place->second]);
      continue;
    }
    StageLayout& stage = layout.stages.emplace_back();
    const StageBytes bytes(scenario, layout.layers, Stage{static_cast<std::uint32_t>(s)});
    for (std::size_t c = 0; c < counts.size(); ++c) {
      add_chunk(stage, costs, counts[c], layout.layers.slices[c][s].count);
      stage.activation.push_back(bytes.activation(c));
    }
    stage.pieces = counts;
    for (const std::int64_t zero : zeros)
      stage.fixed[static_cast<std::size_t>(zero)] = bytes.fixed(zero);
  }
  return layout;
}

double peak_memory(const PlanLayout& layout, const HeldMoments& moments, std::int64_t zero) {
  double peak = 0;
  for (std::size_t s = 0; s < layout.stages.size(); ++s) {
    const StageLayout& stage = layout.stages[s];
    double held = 0;
    for (const std::vector<int>& moment : moments[s]) {
      double bytes = 0;
      for (std::size_t c = 0; c < moment.size(); ++c)
        bytes += static_cast<double>(moment[c]) * stage.activation[c];
      held = std::max(held, bytes);
    }
    peak = std::max(peak, held + stage.fixed[static_cast<std::size_t>(zero)]);
  }
  return peak;
}

}  // namespace stepcast
