#include "stepcast/workloads/operator_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "stepcast/workloads/tile_pipeline.hpp"

namespace stepcast {

namespace {

template <class... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
overloaded(Ts...) -> overloaded<Ts...>;

double half_tile(std::int64_t tile) {
  return static_cast<double>(std::max<std::int64_t>(1, tile / 2));
}

/// Tiles of all groups spread over the cores in waves; the kernel picks full or half tiles.
Seconds tiled_time(const GroupedMatmulWork& w, const MatmulEfficiency& efficiency,
                   FlopsPerSecond peak, std::int64_t cube_cores) {
  const auto cores = static_cast<double>(cube_cores);
  const double rows[] = {static_cast<double>(efficiency.tile_m), half_tile(efficiency.tile_m)};
  const double columns[] = {static_cast<double>(efficiency.tile_n), half_tile(efficiency.tile_n)};
  double core_flops = std::numeric_limits<double>::infinity();
  for (const double r : rows)
    for (const double c : columns) {
      const double tiles = w.groups * std::ceil(w.m / r) * std::ceil(w.n / c);
      core_flops =
          std::min(core_flops, std::ceil(tiles / cores) * 2 * r * c * (w.k + efficiency.fill));
    }
  return Flops{core_flops * cores} / (efficiency.peak * peak);
}

Seconds attention_time(const Operator& op, const AttentionWork& w, const DeviceSpec& device) {
  const AttentionEfficiency& e = device.efficiency.attention;
  const double reference = 128;  // the head size at which `forward` and `backward` are stated
  const double d = (w.qk_dim + w.v_dim) / 2;
  const double head = d / (d + e.head_dim_half) * (reference + e.head_dim_half) / reference;
  const double sequence = w.query_length / (w.query_length + e.sequence_half);
  const double kernel = (w.backward ? e.backward : e.forward) * (w.flash_1 ? e.flash_1 : 1);
  const double efficiency = std::min(1.0, kernel * head * sequence);
  return op.flops / (efficiency * device.matmul_peak);
}

Seconds memory_time(Bytes bytes, const DeviceSpec& device) {
  if (bytes.value() == 0) return Seconds{0};
  const MemoryEfficiency& e = device.efficiency.memory;
  return (bytes + e.half) / (e.peak * device.memory_bandwidth);
}

Seconds vector_time(Flops flops, const DeviceSpec& device) {
  if (flops.value() == 0) return Seconds{0};
  return flops / (device.efficiency.vector * device.vector_peak);
}

/// Each stage as an operator of its own, cut into tiles that are started one by one.
TileStage tile_stage(const FusedStage& stage, double tiles, const DeviceSpec& device, bool fp8) {
  const Work work = std::visit([](const auto& w) -> Work { return w; }, stage.work);
  const Seconds whole = operator_time(
      {"stage", work, stage.flops, stage.bytes, LaunchClass::vector, false, stage.fp8}, device,
      fp8);
  const bool vector = std::holds_alternative<MemoryBoundWork>(work);
  return {vector ? TileStage::Cores::vector : TileStage::Cores::cube,
          whole / tiles + device.tile_task};
}

/// One tile's part of the kernel; both kinds of cores share the memory.
Seconds fused_time(const Operator& op, const FusedWork& w, const DeviceSpec& device, bool fp8) {
  std::vector<TileStage> stages;
  for (const FusedStage& stage : w.stages)
    stages.push_back(tile_stage(stage, w.tiles, device, fp8));
  const Seconds all = tile_pipeline_time(stages, static_cast<std::int64_t>(w.tiles));
  return std::max(all, memory_time(op.bytes * w.tiles, device)) / w.tiles;
}

}  // namespace

Seconds operator_time(const Operator& op, const DeviceSpec& device, bool fp8) {
  if (const auto* fixed = std::get_if<FixedWork>(&op.work)) return fixed->time;
  if (const auto* fused = std::get_if<FusedWork>(&op.work))
    return fused_time(op, *fused, device, fp8);
  if (op.flops.value() == 0 && op.bytes.value() == 0) return Seconds{0};
  const FlopsPerSecond peak = fp8 && op.fp8 != Fp8::none && device.matmul_peak_fp8.value() > 0
                                  ? device.matmul_peak_fp8
                                  : device.matmul_peak;
  const EfficiencySpec& efficiency = device.efficiency;
  const Seconds compute = std::visit(
      overloaded{
          [&](const MatmulWork& w) {
            return tiled_time({1, w.m, w.n, w.k}, efficiency.matmul, peak, device.cube_cores);
          },
          [&](const GroupedMatmulWork& w) {
            const Seconds time = tiled_time(w, efficiency.grouped_matmul, peak, device.cube_cores);
            if (w.aligned) return time;
            return std::max(time, op.flops / (efficiency.unaligned * peak));
          },
          [&](const AttentionWork& w) { return attention_time(op, w, device); },
          [&](const MemoryBoundWork&) { return vector_time(op.flops, device); },
          [](const FixedWork& w) { return w.time; }, [](const FusedWork&) { return Seconds{0}; }},
      op.work);
  return std::max(compute, memory_time(op.bytes, device));
}

}  // namespace stepcast
