#include "stage_pieces.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/operator_time.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

namespace {

/// Along the pipeline of chunk 0.
std::vector<std::size_t> given_ends(const WorkloadSpec& spec) {
  const ChunkMap map = spec.plan.chunk_map();
  std::vector<std::size_t> ends;
  // A second direction of the pipeline, where there is one, holds the same layers.
  std::size_t end = 0;
  for (std::optional<Seat> seat = Seat{}; seat; seat = map.after(*seat)) {
    const auto& row = spec.plan.layers_per_chunk[seat->chunk.value];
    ends.push_back(end += static_cast<std::size_t>(row[seat->stage.value]));
  }
  return ends;
}

std::vector<std::size_t> chunk_ends(const WorkloadSpec& spec, const ClusterSpec& cluster) {
  const auto layers = static_cast<std::size_t>(spec.model.layers);
  switch (spec.plan.layers) {
    case ParallelPlan::Layers::even:
      return even_ends(layers, static_cast<std::size_t>(spec.plan.chunk_map().virtual_stages()));
    case ParallelPlan::Layers::table:
      return given_ends(spec);
    case ParallelPlan::Layers::automatic:
      break;
  }
  // By the times that layers are forecast to take.
  return balanced_ends(layer_times(spec, cluster), spec.plan.chunk_map());
}

}  // namespace

Seconds expert_matmul_time(const WorkloadSpec& spec, const DeviceSpec& alone, double load) {
  const DeviceSpec device = in_step(alone);
  WorkloadSpec plain = spec;
  plain.plan.slices = 1;
  plain.moe.overlap = MoeSpec::Overlap::none;  // whole products, whatever they overlap with
  const Passes passes =
      build_passes(plain, device, {PieceKind::moe_layer}, expert_loads(plain), load);
  const bool fp8 = spec.training.precision == TrainingSpec::Precision::fp8_mixed;
  Seconds sum{0};
  const auto add = [&](const LayerItems& items) {
    for (const LayerItem& item : items)
      if (const auto* op = std::get_if<Operator>(&item);
          op && std::holds_alternative<GroupedMatmulWork>(op->work))
        sum += operator_time(*op, device, fp8);
  };
  add(passes.forward);
  add(passes.backward);
  // a layer that is computed again runs its forward products twice
  if (spec.training.recompute == TrainingSpec::Recompute::full) add(passes.recomputed);
  return sum;
}

LayerTable assign_layers(const WorkloadSpec& spec, const ClusterSpec& cluster) {
  return layer_table(spec, chunk_ends(spec, cluster));
}

LayerTable layer_table(const WorkloadSpec& spec, const std::vector<std::size_t>& ends) {
  const ChunkMap map = spec.plan.chunk_map();
  LayerTable table;
  for (std::uint32_t chunk = 0; chunk < spec.plan.vpp; ++chunk) {
    auto& row = table.slices.emplace_back();
    for (std::uint32_t stage = 0; stage < spec.plan.pp; ++stage) {
      // virtual stages are counted along the model
      const auto part = static_cast<std::size_t>(map.virtual_stage({{chunk}, {stage}}));
      const std::size_t first = part == 0 ? 0 : ends[part - 1];
      const bool last = part + 1 == ends.size();
      // MTP modules stand behind the last layer, with the head
      row.push_back({static_cast<std::int64_t>(first),
                     static_cast<std::int64_t>(ends[part] - first), part == 0, last,
                     last ? spec.model.mtp_layers : 0});
    }
  }
  return table;
}

}  // namespace stepcast
