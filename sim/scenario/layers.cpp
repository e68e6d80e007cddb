#include "stepcast/sim/scenario/layers.hpp"

#include "stepcast/scheduler/order_times.hpp"

namespace stepcast {

namespace {

/// Times a pipeline whose chunks take turns in groups. The largest time of a stage does not tell
/// which of two splits is faster there: stages wait for each other between chunks.
class LoopTimes {
 public:
  explicit LoopTimes(const ChunkMap& map)
      : shape_{.stages = map.stages,
               .chunks = map.chunks,
               .micro_batches = 4 * map.stages,
               .group = map.stages},
        orders_{stage_orders(pipeline_schedule("interleaved_1f1b"), shape_)} {}

  double of(const LayerTimes& times, const std::vector<std::size_t>& ends) const {
    constexpr double third = 1.0 / 3;  // a backward is two products for each of the forward
    const UnitCosts costs{.forward = Seconds{third},
                          .backward = Seconds{2 * third},
                          .of_part = part_times(times, ends)};
    return time_orders(orders_, shape_, costs).makespan.value();
  }

 private:
  PipelineShape shape_;
  std::vector<StageOrder> orders_;
};

}  // namespace

LayerTable layers_of(const Scenario& scenario) {
  if (scenario.synthetic) return {};
  const WorkloadSpec& spec = scenario.workload;
  if (spec.plan.layers != ParallelPlan::Layers::automatic)
    return assign_layers(spec, scenario.cluster);
  return layer_table(spec, layer_ends(layer_times(spec, scenario.cluster), spec.plan.chunk_map()));
}

std::vector<std::size_t> layer_ends(const LayerTimes& times, const ChunkMap& map) {
  if (map.placement != ChunkPlacement::loop || map.chunks == 1) return balanced_ends(times, map);
  const auto splits = lighter_ends(times, map);
  std::vector<std::size_t> best =
      even_ends(times.prefix.size() - 1, static_cast<std::size_t>(map.virtual_stages()));
  if (splits.empty()) return best;
  const LoopTimes loop(map);
  constexpr double rounding = 1e-12;  // of two splits that take as long the first is kept
  double least = loop.of(times, best) * (1 - least_split_gain);
  for (const std::vector<std::size_t>& split : splits) {
    const double time = loop.of(times, split);
    if (time >= least * (1 - rounding)) continue;
    least = time;
    best = split;
  }
  return best;
}

}  // namespace stepcast
