#include <algorithm>
#include <limits>
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
double piece_time(const WorkloadSpec& spec, const DeviceSpec& device, PieceKind kind) {
  const ExpertLoads loads = expert_loads(spec);
  // the slowest rank sets the pace of its expert group
  const bool fp8 = spec.training.precision == TrainingSpec::Precision::fp8_mixed;
  double time = 0;
  for (std::int64_t slice = 0; slice < spec.plan.slices; ++slice) {
    const Passes passes = build_passes(spec, kind, loads, loads.largest(), slice);
    time += device_time(passes.forward, device, fp8) + device_time(passes.backward, device, fp8);
    if (spec.training.recompute == TrainingSpec::Recompute::full)
      time += device_time(passes.recomputed, device, fp8);
  }
  return time;
}

/// What the partition balances. Prefix sums make the time of layers [a, b) one difference.
struct Costs {
  std::vector<double> prefix{0};
  double before = 0, after = 0;  ///< embedding; head and MTP modules
  std::size_t parts = 1;

  std::size_t layers() const { return prefix.size() - 1; }
  double time(std::size_t part, std::size_t first, std::size_t end) const {
    return prefix[end] - prefix[first] + (part == 0 ? before : 0) + (part + 1 == parts ? after : 0);
  }
};

Costs measure(const WorkloadSpec& spec, const DeviceSpec& device) {
  Costs costs;
  costs.parts = static_cast<std::size_t>(spec.plan.chunk_map().virtual_stages());
  std::map<PieceKind, double> known;
  for (std::int64_t layer = 0; layer < spec.model.layers; ++layer) {
    const PieceKind kind = layer_kind(spec.model, layer);
    const auto [place, fresh] = known.try_emplace(kind);
    if (fresh) place->second = piece_time(spec, device, kind);
    costs.prefix.push_back(costs.prefix.back() + place->second);
  }
  costs.before = piece_time(spec, device, PieceKind::embedding);
  costs.after = piece_time(spec, device, PieceKind::head);
  if (spec.model.mtp_layers > 0)
    costs.after += static_cast<double>(spec.model.mtp_layers) *
                   piece_time(spec, device, PieceKind::mtp_module);
  if (costs.prefix.back() > 0) return costs;
  // on an ideal device nothing takes time: balance the number of layers
  for (std::size_t i = 1; i < costs.prefix.size(); ++i) costs.prefix[i] = static_cast<double>(i);
  return costs;
}

constexpr double unreachable = std::numeric_limits<double>::infinity();

/// Splits all layers into `parts` runs of at least `least` so that `join(rest, part time)` is
/// least; ends of parts.
template <class Join>
std::vector<std::size_t> split(const Costs& costs, const Join& join, double* value) {
  const std::size_t n = costs.layers(), least = n >= costs.parts ? 1 : 0;
  std::vector<std::vector<std::size_t>> from(costs.parts, std::vector<std::size_t>(n + 1, 0));
  std::vector<double> best(n + 1, unreachable);
  best[0] = 0;
  for (std::size_t part = 0; part < costs.parts; ++part) {
    std::vector<double> next(n + 1, unreachable);
    for (std::size_t end = least; end <= n; ++end)
      for (std::size_t first = 0; first + least <= end; ++first) {
        if (best[first] == unreachable) continue;
        const double joined = join(best[first], costs.time(part, first, end));
        if (joined < next[end]) {
          next[end] = joined;
          from[part][end] = first;
        }
      }
    best = std::move(next);
  }
  *value = best[n];
  std::vector<std::size_t> ends(costs.parts);
  std::size_t end = n;
  for (std::size_t part = costs.parts; part-- > 0; end = from[part][end]) ends[part] = end;
  return ends;
}

/// The least largest part first; among those splits the most even one.
std::vector<std::size_t> balanced_ends(const Costs& costs) {
  double largest = 0, spread = 0;
  split(
      costs, [](double rest, double part) { return std::max(rest, part); }, &largest);
  const double limit = largest * (1 + 1e-12);  // prefix sums round
  return split(
      costs,
      [&](double rest, double part) { return part > limit ? unreachable : rest + part * part; },
      &spread);
}

/// Equal numbers of layers; the first parts take the rest.
std::vector<std::size_t> even_ends(const WorkloadSpec& spec) {
  const auto parts = static_cast<std::size_t>(spec.plan.pp * spec.plan.vpp);
  const auto layers = static_cast<std::size_t>(spec.model.layers);
  std::vector<std::size_t> ends;
  for (std::size_t part = 1; part <= parts; ++part)
    ends.push_back(part * (layers / parts) + std::min(part, layers % parts));
  return ends;
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
  switch (spec.plan.layers) {
    case ParallelPlan::Layers::even:
      return even_ends(spec);
    case ParallelPlan::Layers::table:
      return given_ends(spec);
    case ParallelPlan::Layers::automatic:
      break;
  }
  return balanced_ends(measure(spec, device));
}

}  // namespace

Seconds expert_matmul_time(const WorkloadSpec& spec, const DeviceSpec& device, double load) {
  WorkloadSpec plain = spec;
  plain.plan.slices = 1;
  plain.moe.overlap = MoeSpec::Overlap::none;  // whole products, whatever they overlap with
  const Passes passes = build_passes(plain, PieceKind::moe_layer, expert_loads(plain), load);
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
  const auto ends = chunk_ends(spec, device);
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
