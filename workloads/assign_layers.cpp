#include <map>

#include "stage_pieces.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/operator_time.hpp"
#include "stepcast/workloads/program.hpp"

namespace stepcast {

namespace {

double device_time(const LayerItems& items, const DeviceSpec& device, bool fp8) {
  double sum = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item))
      sum += operator_time(*op, device, fp8).value();
  return sum;
}

/// Forward and backward time of a piece over all slices, its recomputed forward included.
double piece_time(const WorkloadSpec& spec, const DeviceSpec& alone, PieceKey key) {
  const DeviceSpec device = in_step(alone);
  const ExpertLoads loads = expert_loads(spec);
  // the slowest rank sets the pace of its expert group
  const bool fp8 = spec.training.precision == TrainingSpec::Precision::fp8_mixed;
  double time = 0;
  for (key.slice = 0; key.slice < spec.plan.slices; ++key.slice) {
    const Passes passes = build_passes(spec, device, key, loads, loads.largest());
    time += device_time(passes.forward, device, fp8) + device_time(passes.backward, device, fp8);
    if (spec.training.recompute == TrainingSpec::Recompute::full)
      time += device_time(passes.recomputed, device, fp8);
  }
  return time;
}

/// Along the pipeline of chunk 0.
std::vector<std::size_t> given_ends(const WorkloadSpec& spec) {
  const ChunkMap map = spec.plan.chunk_map();
  std::vector<std::size_t> ends;
  std::size_t end = 0;
  for (std::optional<Seat> seat = Seat{}; seat; seat = map.after(*seat)) {
    const auto& row = spec.plan.layers_per_chunk[seat->chunk.value];
    ends.push_back(end += static_cast<std::size_t>(row[seat->stage.value]));
  }
  return ends;
}

std::vector<std::size_t> chunk_ends(const WorkloadSpec& spec, const DeviceSpec& device) {
  const auto layers = static_cast<std::size_t>(spec.model.layers);
  switch (spec.plan.layers) {
    case ParallelPlan::Layers::even:
      return even_ends(layers, static_cast<std::size_t>(spec.plan.chunk_map().virtual_stages()));
    case ParallelPlan::Layers::table:
      return given_ends(spec);
    case ParallelPlan::Layers::automatic:
      break;
  }
  return balanced_ends(layer_times(spec, device), spec.plan.chunk_map());
}

}  // namespace

LayerTimes layer_times(const WorkloadSpec& spec, const DeviceSpec& device) {
  LayerTimes times;
  std::map<PieceKey, double> known;
  for (std::int64_t layer = 0; layer < spec.model.layers; ++layer) {
    const PieceKey key = layer_key(spec.model, layer);
    const auto [place, fresh] = known.try_emplace(key);
    if (fresh) place->second = piece_time(spec, device, key);
    times.prefix.push_back(times.prefix.back() + place->second);
  }
  times.before = piece_time(spec, device, {PieceKind::embedding});
  times.after = piece_time(spec, device, {PieceKind::head});
  if (spec.model.mtp_layers > 0)
    times.after += static_cast<double>(spec.model.mtp_layers) *
                   piece_time(spec, device, {PieceKind::mtp_module});
  if (times.prefix.back() > 0) return times;
  // on an ideal device nothing takes time: balance the number of layers
  for (std::size_t i = 1; i < times.prefix.size(); ++i) times.prefix[i] = static_cast<double>(i);
  return times;
}

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
  if (spec.training.recompute == TrainingSpec::Recompute::full) add(passes.recomputed);
  return sum;
}

LayerTable assign_layers(const WorkloadSpec& spec, const DeviceSpec& device) {
  return layer_table(spec, chunk_ends(spec, device));
}

LayerTable layer_table(const WorkloadSpec& spec, const std::vector<std::size_t>& ends) {
  const ChunkMap map = spec.plan.chunk_map();
  LayerTable table;
  for (std::uint32_t chunk = 0; chunk < spec.plan.vpp; ++chunk) {
    auto& row = table.slices.emplace_back();
    for (std::uint32_t stage = 0; stage < spec.plan.pp; ++stage) {
      const auto part = static_cast<std::size_t>(map.virtual_stage({{chunk}, {stage}}));
      const std::size_t first = part == 0 ? 0 : ends[part - 1];
      const bool last = part + 1 == ends.size();
      row.push_back({static_cast<std::int64_t>(first),
                     static_cast<std::int64_t>(ends[part] - first), part == 0, last,
                     last ? spec.model.mtp_layers : 0});
    }
  }
  return table;
}

}  // namespace stepcast
