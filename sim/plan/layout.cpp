#include "layout.hpp"

#include <algorithm>

#include "stepcast/sim/scenario/layers.hpp"
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

/// One that holds at least as much of every chunk can only be fuller.
bool covers(const std::vector<int>& more, const std::vector<int>& less) {
  for (std::size_t c = 0; c < more.size(); ++c)
    if (more[c] < less[c]) return false;
  return true;
}

/// A moment that holds no more of any chunk than another one can never be the fullest.
void keep_largest(std::vector<std::vector<int>>& moments) {
  std::vector<std::vector<int>> kept;
  // From the largest on, so that most are covered when they come.
  std::ranges::reverse(moments);
  for (const std::vector<int>& moment : moments) {
    if (std::ranges::any_of(kept, [&](const auto& k) { return covers(k, moment); })) continue;
    std::erase_if(kept, [&](const auto& k) { return covers(moment, k); });
    kept.push_back(moment);
  }
  moments = std::move(kept);
}

/// Adds the times of one chunk.
void add_chunk(StageLayout& stage, const LayerCosts& costs, const PieceCounts& counts) {
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
  const double layers = counts[static_cast<std::size_t>(PlanPiece::dense_layer)] +
                        counts[static_cast<std::size_t>(PlanPiece::moe_layer)];
  // The first layer of a backward waits for its own fetch.
  if (layers > 0) stage.first_fetches += part(&PieceCost::fetched) / layers;
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
    // One micro-batch of the chunk, less what is there without any.
    std::vector<int> one(chunks_, 0);
    one[chunk] = 1;
    const double with = budget(scenario_.workload, one).activations.value();
    return with - budget(scenario_.workload, std::vector<int>(chunks_, 0)).activations.value();
  }
  /// With nothing in flight.
  MemoryBudget fixed(std::int64_t zero) const {
    WorkloadSpec spec = scenario_.workload;
    spec.plan.zero = zero;
    return budget(spec, std::vector<int>(chunks_, 0));
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

/// Orders are written out for few micro-batches only: once a schedule repeats, more of them hold
/// nothing new.
const HeldMoments& MomentTable::of(const PipelineSchedule& schedule, const PipelineShape& given,
                                   bool paired) {
  const PipelineShape shape = telling_shape(schedule, given);
  // Everything that changes the order goes into the key.
  const std::int64_t warm_up =
      static_cast<std::int64_t>(shape.warm_up.kind) * any_count + shape.warm_up.extra;
  const auto [place, fresh] = known_.try_emplace(Key{schedule.name, shape.stages, shape.chunks,
                                                     shape.micro_batches * any_count + shape.group,
                                                     warm_up, shape.slices, paired});
  if (!fresh) return place->second;
  HeldMoments& held = place->second;
  // Before the first backward all forwards are held.
  if (schedule.turns == Turns::apart) {
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

/// Thousands of points share the pipeline that the cut depends on.
const std::vector<std::size_t>& LayerEnds::of(const Scenario& scenario) {
  const ParallelPlan& plan = scenario.workload.plan;
  const ChunkMap map = plan.chunk_map();
  const auto [place, fresh] =
      known_.try_emplace(Key{plan.slices, map.placement, map.stages, map.chunks});
  if (!fresh) return place->second;
  // Layers take other times in other slices.
  const auto [times, unknown] = times_.try_emplace(plan.slices);
  if (unknown) times->second = layer_times(scenario.workload, scenario.cluster);
  return place->second = layer_ends(times->second, map);
}

/// Bytes come from the budget of a forecast, asked once for each kind of chunk, so that the two
/// cannot differ.
void FamilyBytes::add(const Scenario& scenario, const LayerTable& layers, Stage stage,
                      StageLayout& layout) {
  const ParallelPlan& plan = scenario.workload.plan;
  const StageBytes bytes(scenario, layers, stage);
  // Equal chunks keep equal bytes, on whatever stage.
  PieceCounts all{};
  for (std::size_t c = 0; c < layout.pieces.size(); ++c) {
    const PieceCounts& counts = layout.pieces[c];
    for (std::size_t k = 0; k < plan_pieces; ++k) all[k] += counts[k];
    const auto [place, fresh] =
        chunks_.try_emplace({counts, plan.slices, plan.chunk_placement}, 0.0);
    if (fresh) place->second = bytes.activation(c);
    layout.activation.push_back(place->second);
  }
  // States depend on what the stage holds in all.
  const auto [place, fresh] = fixed_.try_emplace({all, plan.slices, plan.chunk_placement});
  if (fresh)
    for (const std::int64_t zero : zeros_) {
      const MemoryBudget budget = bytes.fixed(zero);
      const auto at = static_cast<std::size_t>(zero);
      // What the update takes beyond activations, which are gone by then.
      place->second.fixed[at] = budget.passes().value();
      place->second.update[at] = (budget.update - budget.activations).value();
    }
  layout.fixed = place->second.fixed;
  layout.update = place->second.update;
}

/// Stages with equal chunks are one kind, and a long pipeline has few of them.
PlanLayout lay_out(const Scenario& scenario, const LayerCosts& costs, LayerEnds& ends,
                   FamilyBytes& bytes) {
  const ParallelPlan& plan = scenario.workload.plan;
  const LayerTable layers = layer_table(scenario.workload, ends.of(scenario));
  PlanLayout layout;
  std::vector<PieceCounts> counts(layers.slices.size());
  for (std::uint32_t s = 0; s < plan.pp; ++s) {
    for (std::size_t c = 0; c < counts.size(); ++c)
      counts[c] = counts_of(scenario.workload.model, layers.slices[c][s]);
    // A handful of kinds: looking through them is enough.
    const auto known = std::ranges::find(layout.kinds, counts, &StageLayout::pieces);
    layout.kind_of.push_back(static_cast<std::size_t>(known - layout.kinds.begin()));
    if (known != layout.kinds.end()) continue;
    StageLayout& stage = layout.kinds.emplace_back();
    for (const PieceCounts& chunk : counts) add_chunk(stage, costs, chunk);
    stage.pieces = counts;
    bytes.add(scenario, layers, Stage{s}, stage);
  }
  return layout;
}

/// Chunks differ in bytes, so that the moment with most units need not be the fullest.
std::vector<double> held_bytes(const PlanLayout& layout, const HeldMoments& moments) {
  std::vector<double> held(layout.stages(), 0);
  for (std::size_t s = 0; s < held.size(); ++s) {
    const StageLayout& stage = layout.stage(s);
    for (const std::vector<int>& moment : moments[s]) {
      double bytes = 0;
      for (std::size_t c = 0; c < moment.size(); ++c)
        bytes += static_cast<double>(moment[c]) * stage.activation[c];
      held[s] = std::max(held[s], bytes);
    }
  }
  return held;
}

/// Activations are gone when the optimizer runs, so that the larger of the two counts.
double peak_memory(const PlanLayout& layout, const std::vector<double>& held, std::int64_t zero) {
  double peak = 0;
  for (std::size_t s = 0; s < held.size(); ++s) {
    const StageLayout& stage = layout.stage(s);
    const auto at = static_cast<std::size_t>(zero);
    peak = std::max(peak, std::max(held[s], stage.update[at]) + stage.fixed[at]);
  }
  return peak;
}

}  // namespace stepcast
