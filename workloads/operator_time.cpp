#include "stepcast/workloads/operator_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "attention_time.hpp"
#include "stepcast/base/overloaded.hpp"

namespace stepcast {

namespace {

/// The sides that a tile of the library can have: the longer one of the largest tile and its
/// halves, down to half of the shorter one.
std::vector<double> tile_sides(double longest, double shortest) {
  std::vector<double> sides;
  double side = longest;
  while (side >= std::max(1.0, shortest / 2)) {
    sides.push_back(side);
    side = std::floor(side / 2);
  }
  return sides;
}

/// Tiles of all groups are spread over the cores in waves; the library picks the fastest shape that
/// is no larger than the largest tile.
Seconds tiled_time(const GroupedMatmulWork& w, const MatmulEfficiency& efficiency,
                   FlopsPerSecond peak, std::int64_t cube_cores) {
  const auto cores = static_cast<double>(cube_cores);
  const double area =
      static_cast<double>(efficiency.tile_m) * static_cast<double>(efficiency.tile_n);
  const std::vector<double> sides =
      tile_sides(static_cast<double>(std::max(efficiency.tile_m, efficiency.tile_n)),
                 static_cast<double>(std::min(efficiency.tile_m, efficiency.tile_n)));
  double core_flops = std::numeric_limits<double>::infinity();
  for (const double r : sides)
    for (const double c : sides) {
      if (r * c > area) continue;
      // Formula (1) of docs/models/kernels.md.
      const double waves = std::ceil(w.groups * std::ceil(w.m / r) * std::ceil(w.n / c) / cores);
      const double slower = std::pow(area / (r * c), efficiency.tile_exponent);
      core_flops = std::min(core_flops, waves * 2 * r * c * (w.k + efficiency.fill) * slower);
    }
  return Flops{core_flops * cores} / (efficiency.peak * peak);
}

Seconds memory_time(Bytes bytes, double fraction, const DeviceSpec& device) {
  if (bytes.value() == 0) return Seconds{0};
  return bytes / (fraction * device.memory_bandwidth);
}

Seconds vector_time(Flops flops, const DeviceSpec& device) {
  if (flops.value() == 0) return Seconds{0};
  return flops / (device.efficiency.vector * device.vector_peak);
}

/// FP8 takes the numbers of plain products where the device has none for it.
const MatmulEfficiency& product_efficiency(const EfficiencySpec& spec, bool in_fp8) {
  return in_fp8 && spec.matmul_fp8 ? *spec.matmul_fp8 : spec.matmul;
}

const MatmulEfficiency& grouped_efficiency(const EfficiencySpec& spec, bool in_fp8) {
  return in_fp8 && spec.grouped_matmul_fp8 ? *spec.grouped_matmul_fp8 : spec.grouped_matmul;
}

/// Devices without FP8 run such products in half precision.
bool runs_in_fp8(const Operator& op, const DeviceSpec& device, bool fp8) {
  return fp8 && op.fp8 != Fp8::none && device.matmul_peak_fp8.value() > 0;
}

/// The device with a limit that no product reaches.
DeviceSpec without_power_limit(DeviceSpec device) {
  EfficiencySpec& efficiency = device.efficiency;
  efficiency.matmul.sustained = efficiency.grouped_matmul.sustained = 1;
  for (std::optional<MatmulEfficiency>* in_fp8 :
       {&efficiency.matmul_fp8, &efficiency.grouped_matmul_fp8})
    if (*in_fp8) (*in_fp8)->sustained = 1;
  return device;
}

/// A kernel of products: its ramp, the longest of tiles, sustained clock and operands, and what of
/// the operands' and the products' shorter time the other one does not hide.
Seconds product_time(Flops flops, Bytes bytes, const GroupedMatmulWork& w,
                     const MatmulEfficiency& efficiency, FlopsPerSecond peak,
                     const DeviceSpec& device) {
  Seconds time = std::max(tiled_time(w, efficiency, peak, device.cube_cores),
                          flops / (efficiency.sustained * peak));
  // Rows that are no multiple of 16 bytes: an A100 works without its tensor cores.
  if (!w.aligned) time = std::max(time, flops / (device.efficiency.unaligned * peak));
  const double fraction = efficiency.memory.value_or(device.efficiency.memory.peak);
  const Seconds memory = memory_time(bytes, fraction, device);
  return efficiency.ramp + std::max(time, memory) + efficiency.exposed * std::min(time, memory);
}

/// A kernel that no table measures: products at the clock that products hold, bytes at the rate
/// that they stream at, whichever is longer (docs/models/linear_attention.md).
Seconds roof_time(const Operator& op, const MatmulEfficiency& products, FlopsPerSecond peak,
                  const DeviceSpec& device) {
  const Seconds compute =
      op.flops.value() == 0 ? Seconds{0} : op.flops / (products.sustained * peak);
  const Seconds memory = memory_time(op.bytes, device.efficiency.memory.peak, device);
  return std::max({compute, memory, device.efficiency.memory.ramp});
}

/// Whether kernels of the kind find in the cache what the one before has left. Activations did not:
/// docs/models/kernels.md.
bool reads_cache(VectorKind kind) {
  switch (kind) {
    case VectorKind::elementwise:
    case VectorKind::norm:
    case VectorKind::norm_backward:
    case VectorKind::persistent_norm:
    case VectorKind::persistent_norm_backward:
    case VectorKind::block_norm:
      return true;
    case VectorKind::activation:
    case VectorKind::activation_backward:
    case VectorKind::gather:
    case VectorKind::scatter_add:
    case VectorKind::block_activation:
      return false;
  }
  return false;
}

/// A kernel that streams its operands: what is still in the cache comes faster.
Seconds stream_time(const Operator& op, const MemoryBoundWork& w, const DeviceSpec& device) {
  const MemoryEfficiency& e = device.efficiency.memory;
  double share = 1;
  if (reads_cache(w.kind) && e.cache.value() > 0 && op.bytes.value() > 0) {
    const double found = std::min(1.0, e.cache_share * (e.cache / op.bytes));
    share = found / e.cache_speedup + 1 - found;
  }
  // A block of threads per token pays for each row as for some more elements.
  if (w.kind == VectorKind::block_activation && w.row > 0) share *= 1 + e.block_row / w.row;
  const Seconds memory = memory_time(share * op.bytes, e.fraction(w.kind), device);
  return e.ramp + std::max(vector_time(op.flops, device), memory);
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
  const double fraction = device.efficiency.memory.peak;
  return std::max(all, memory_time(op.bytes * w.tiles, fraction, device)) / w.tiles;
}

}  // namespace

double power_draw(const Operator& op, const DeviceSpec& device, bool fp8) {
  const double time = operator_time(op, device, fp8).value();
  if (!(time > 0)) return 0;
  // Without a limit a kernel that is slowed down would draw that much more.
  const double full = operator_time(op, without_power_limit(device), fp8).value();
  if (full < time) return time / full;
  const PowerCap& cap = *device.power_cap;
  const bool in_fp8 = runs_in_fp8(op, device, fp8);
  const FlopsPerSecond peak = in_fp8 ? device.matmul_peak_fp8 : device.matmul_peak;
  // As much of the limit as the product reaches of the rate that it could sustain.
  const auto of_product = [&](const MatmulEfficiency& efficiency) {
    return std::min(1.0, (op.flops / (efficiency.sustained * peak)).value() / time);
  };
  const auto of_plain_product = [&] {
    return of_product(product_efficiency(device.efficiency, in_fp8));
  };
  return std::visit(
      Overloaded{[&](const MatmulWork&) { return of_plain_product(); },
                 [&](const LinearAttentionWork&) { return of_plain_product(); },
                 [&](const SparseAttentionWork&) { return of_plain_product(); },
                 [&](const GroupedMatmulWork& w) {
                   return of_product(w.batched ? product_efficiency(device.efficiency, in_fp8)
                                               : grouped_efficiency(device.efficiency, in_fp8));
                 },
                 [&](const AttentionWork&) { return cap.attention; },
                 [&](const MemoryBoundWork&) { return cap.other; },
                 [&](const FixedWork&) { return cap.other; },
                 [&](const FusedWork&) { return cap.other; }},
      op.work);
}

Seconds operator_time(const Operator& op, const DeviceSpec& device, bool fp8) {
  if (const auto* fixed = std::get_if<FixedWork>(&op.work)) return fixed->time;
  if (const auto* fused = std::get_if<FusedWork>(&op.work))
    return fused_time(op, *fused, device, fp8);
  // Operators that only order others cost nothing, not even the ramp of a kernel.
  if (op.flops.value() == 0 && op.bytes.value() == 0) return Seconds{0};
  const bool in_fp8 = runs_in_fp8(op, device, fp8);
  const FlopsPerSecond peak = in_fp8 ? device.matmul_peak_fp8 : device.matmul_peak;
  const EfficiencySpec& efficiency = device.efficiency;
  return std::visit(
      Overloaded{
          [&](const MatmulWork& w) {
            // Pieces on streams of their own fill the cores as groups of one kernel do.
            const double beside = std::min(w.pieces, static_cast<double>(device.product_streams));
            return product_time(beside * op.flops, beside * op.bytes, {beside, w.m, w.n, w.k},
                                product_efficiency(efficiency, in_fp8), peak, device) /
                   beside;
          },
          [&](const GroupedMatmulWork& w) {
            const MatmulEfficiency& of = w.batched ? product_efficiency(efficiency, in_fp8)
                                                   : grouped_efficiency(efficiency, in_fp8);
            return product_time(op.flops, op.bytes, w, of, peak, device);
          },
          [&](const AttentionWork& w) {
            // Reads and writes overlap with the products in a fused kernel, so that the
            // longer one counts; the ramp comes before either.
            const Seconds memory = memory_time(op.bytes, efficiency.memory.peak, device);
            const Seconds work = std::max(attention_compute_time(op, w, device), memory);
            return attention_pass(w, device).ramp +
                   std::max(work, shortest_attention(op, w, device));
          },
          [&](const LinearAttentionWork&) {
            return roof_time(op, product_efficiency(efficiency, in_fp8), peak, device);
          },
          [&](const SparseAttentionWork&) {
            return roof_time(op, product_efficiency(efficiency, in_fp8), peak, device);
          },
          [&](const MemoryBoundWork& w) { return stream_time(op, w, device); },
          [](const FixedWork& w) { return w.time; }, [](const FusedWork&) { return Seconds{0}; }},
      op.work);
}

Seconds tile_pipeline_time(std::span<const TileStage> stages, std::int64_t tiles) {
  struct Tile {
    std::size_t next = 0;  ///< stage
    Seconds ready{0};
  };
  std::vector<Tile> all(static_cast<std::size_t>(tiles));
  std::array<Seconds, 2> free{};
  const auto free_at = [&](const Tile& tile) -> Seconds& {
    return free[static_cast<std::size_t>(stages[tile.next].cores)];
  };
  // List schedule: the task that can start first, of equals that of the oldest tile.
  for (std::size_t left = all.size() * stages.size(); left > 0; --left) {
    Tile* first = nullptr;
    Seconds start{0};
    for (Tile& tile : all) {
      if (tile.next == stages.size()) continue;
      const Seconds can = std::max(tile.ready, free_at(tile));
      if (first == nullptr || can < start) first = &tile, start = can;
    }
    Seconds& cores = free_at(*first);
    first->ready = cores = start + stages[first->next].time;
    ++first->next;
  }
  return std::max(free[0], free[1]);
}

}  // namespace stepcast
