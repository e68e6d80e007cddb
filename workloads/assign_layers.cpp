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

/// What the partition balances. Prefix sums make the time of layers [a, b) one difference.
struct Costs {
  const LayerTimes& times;
  std::size_t parts = 1;

  std::size_t layers() const { return times.prefix.size() - 1; }
  double time(std::size_t part, std::size_t first, std::size_t end) const {
    return times.prefix[end] - times.prefix[first] + (part == 0 ? times.before : 0) +
           (part + 1 == parts ? times.after : 0);
  }
};

constexpr double unreachable = std::numeric_limits<double>::infinity();

/// Where each part may begin, and the last one end, when no part breaks `allowed(time)`, which no
/// longer part keeps either. Empty when no split does.
struct Windows {
  std::vector<std::size_t> earliest, latest;
  std::size_t least = 0;
};

template <class Allowed>
Windows windows(const Costs& costs, const Allowed& allowed) {
  const std::size_t n = costs.layers(), parts = costs.parts, least = n >= parts ? 1 : 0;
  Windows w{std::vector<std::size_t>(parts + 1, n), std::vector<std::size_t>(parts + 1, 0), least};
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = w.latest[part], most = n - least * (parts - part - 1);
    std::size_t end = first + least;
    if (end > most || !allowed(costs.time(part, first, end))) return {};
    while (end < most && allowed(costs.time(part, first, end + 1))) ++end;
    w.latest[part + 1] = end;
  }
  if (w.latest[parts] < n) return {};
  for (std::size_t part = parts; part-- > 0;) {
    std::size_t first = w.earliest[part + 1] - least;
    while (first > least * part && allowed(costs.time(part, first - 1, w.earliest[part + 1])))
      --first;
    w.earliest[part] = first;
  }
  return w;
}

/// Equal numbers of layers; the first parts take the rest.
std::size_t even_end(std::size_t layers, std::size_t parts, std::size_t part) {
  return (part + 1) * (layers / parts) + std::min(part + 1, layers % parts);
}

/// The least that the largest part can be: splits are asked for that stay below the last one.
double least_largest(const Costs& costs) {
  double largest = 0;
  std::size_t begin = 0;
  for (std::size_t part = 0; part < costs.parts; ++part) {
    const std::size_t end = even_end(costs.layers(), costs.parts, part);
    largest = std::max(largest, costs.time(part, begin, end));
    begin = end;
  }
  while (true) {
    const Windows w = windows(costs, [&](double time) { return time < largest; });
    if (w.latest.empty()) return largest;
    double now = 0;
    for (std::size_t part = 0; part < costs.parts; ++part)
      now = std::max(now, costs.time(part, w.latest[part], w.latest[part + 1]));
    largest = now;
  }
}

/// Ends of the most even parts of which none is longer than `limit`: the least sum of squares.
std::vector<std::size_t> most_even(const Costs& costs, double limit) {
  const std::size_t n = costs.layers();
  const Windows w = windows(costs, [&](double time) { return time <= limit; });
  std::vector<std::vector<std::size_t>> from(costs.parts, std::vector<std::size_t>(n + 1, 0));
  std::vector<double> best(n + 1, unreachable), next(n + 1, unreachable);
  best[0] = 0;
  for (std::size_t part = 0; part < costs.parts; ++part) {
    std::size_t first_short = w.earliest[part];
    for (std::size_t end = w.earliest[part + 1]; end <= w.latest[part + 1]; ++end) {
      next[end] = unreachable;
      while (first_short < end && costs.time(part, first_short, end) > limit) ++first_short;
      for (std::size_t first = first_short; first <= w.latest[part] && first + w.least <= end;
           ++first) {
        const double time = costs.time(part, first, end);
        const double joined = best[first] + time * time;
        if (joined >= next[end]) continue;
        next[end] = joined;
        from[part][end] = first;
      }
    }
    best.swap(next);
  }
  std::vector<std::size_t> ends(costs.parts);
  std::size_t end = n;
  for (std::size_t part = costs.parts; part-- > 0; end = from[part][end]) ends[part] = end;
  return ends;
}

std::vector<std::size_t> even_ends(const WorkloadSpec& spec) {
  const auto parts = static_cast<std::size_t>(spec.plan.chunk_map().virtual_stages());
  const auto layers = static_cast<std::size_t>(spec.model.layers);
  std::vector<std::size_t> ends;
  for (std::size_t part = 0; part < parts; ++part) ends.push_back(even_end(layers, parts, part));
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
  const auto parts = static_cast<std::size_t>(spec.plan.chunk_map().virtual_stages());
  return balanced_ends(layer_times(spec, device), parts);
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

std::vector<std::size_t> balanced_ends(const LayerTimes& times, std::size_t parts) {
  const Costs costs{times, parts};
  constexpr double rounding = 1e-12;  // of prefix sums
  return most_even(costs, least_largest(costs) * (1 + rounding));
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
