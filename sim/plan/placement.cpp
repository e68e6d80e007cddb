#include "placement.hpp"

#include <algorithm>
#include <limits>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr double unreachable = std::numeric_limits<double>::infinity();

/// Slices in the order of the model: chunk after chunk, stage after stage.
std::vector<LayerSlice> slices_of(const PlacementProblem& problem, const PlacedLayers& placed) {
  std::vector<LayerSlice> slices;
  std::size_t first = 0;
  for (std::size_t c = 0; c < placed.layers.size(); ++c)
    for (std::size_t s = 0; s < placed.layers[c].size(); ++s) {
      const std::size_t end = first + static_cast<std::size_t>(placed.layers[c][s]);
      slices.push_back({first, end, static_cast<std::size_t>(placed.recomputed[c][s])});
      first = end;
    }
  expects(first == static_cast<std::size_t>(problem.layers()), "every layer is placed");
  return slices;
}

/// The stage programme decides chunk by chunk, so that each is given the most that is ever held of
/// it.
int most_held(const PlacementProblem& problem, std::size_t stage, std::size_t chunk) {
  int most = 0;
  for (const std::vector<int>& moment : problem.moments[stage])
    most = std::max(most, moment[chunk]);
  return most;
}

/// The stage dynamic programme.
class StageProgramme {
 public:
  explicit StageProgramme(const PlacementProblem& problem)
      : problem_{problem},
        prefix_{problem},
        layers_{static_cast<std::size_t>(problem.layers())},
        parts_{static_cast<std::size_t>(problem.stages * problem.chunks)} {}

  /// The longest chunk so far is all that the rest needs to know, which makes it a dynamic
  /// programme.
  std::optional<PlacedLayers> solve() {
    std::vector<std::vector<std::size_t>> from(parts_, std::vector<std::size_t>(layers_ + 1, 0));
    std::vector<double> best(layers_ + 1, unreachable);
    best[0] = 0;
    for (std::size_t part = 0; part < parts_; ++part) {
      std::vector<double> next(layers_ + 1, unreachable);
      const double ends = ends_of(problem_, part).unit;
      for (std::size_t first = 0; first < layers_; ++first) {
        if (best[first] == unreachable) continue;
        for (std::size_t end = first + 1; end <= layers_; ++end) {
          const auto again = recomputed(part, first, end);
          if (!again) break;
          const double time =
              std::max(best[first], ends + slice_unit(prefix_, {first, end, *again}));
          if (time >= next[end]) continue;
          next[end] = time;
          from[part][end] = first;
        }
      }
      best = std::move(next);
    }
    if (best[layers_] == unreachable) return {};
    return placed(from);
  }

 private:
  /// The fewest recomputed layers with which the slice fits its share; nothing when none do.
  /// Every chunk may fill its even share of the memory; what another one leaves is not seen here.
  std::optional<std::size_t> recomputed(std::size_t part, std::size_t first,
                                        std::size_t end) const {
    const auto stages = static_cast<std::size_t>(problem_.stages);
    const LayerRun ends = ends_of(problem_, part);
    const double share = problem_.capacity / static_cast<double>(problem_.chunks);
    const double held = most_held(problem_, part % stages, part / stages);
    const double states = prefix_.states[end] - prefix_.states[first] + ends.states;
    for (std::size_t r = 0; r <= end - first; ++r)
      if (states + held * (slice_kept(prefix_, {first, end, r}) + ends.kept) <= share) return r;
    return {};
  }

  /// The programme keeps where slices began, and how much each recomputes follows from that.
  PlacedLayers placed(const std::vector<std::vector<std::size_t>>& from) const {
    const auto stages = static_cast<std::size_t>(problem_.stages);
    PlacedLayers result;
    result.layers.assign(static_cast<std::size_t>(problem_.chunks),
                         std::vector<std::int64_t>(stages));
    result.recomputed = result.layers;
    std::size_t end = layers_;
    for (std::size_t part = parts_; part-- > 0;) {
      const std::size_t first = from[part][end];
      result.layers[part / stages][part % stages] = static_cast<std::int64_t>(end - first);
      result.recomputed[part / stages][part % stages] =
          static_cast<std::int64_t>(*recomputed(part, first, end));
      end = first;
    }
    return result;
  }

  const PlacementProblem& problem_;
  LayerSums prefix_;
  std::size_t layers_, parts_;
};

}  // namespace

/// Sums from the first layer on give any slice as a difference; millions of slices are asked for.
LayerSums::LayerSums(const PlacementProblem& problem) {
  for (const LayerRun& run : problem.runs)
    for (std::int64_t i = 0; i < run.layers; ++i) {
      unit.push_back(unit.back() + run.unit);
      recompute.push_back(recompute.back() + run.recompute);
      states.push_back(states.back() + run.states);
      kept.push_back(kept.back() + run.kept);
      saved.push_back(saved.back() + run.kept - run.kept_recomputed);
    }
}

/// Recomputed layers are the first ones of a slice, as tables of a scenario have them.
double slice_unit(const LayerSums& p, const LayerSlice& s) {
  return p.unit[s.end] - p.unit[s.first] + p.recompute[s.first + s.recomputed] -
         p.recompute[s.first];
}

double slice_kept(const LayerSums& p, const LayerSlice& s) {
  return p.kept[s.end] - p.kept[s.first] - (p.saved[s.first + s.recomputed] - p.saved[s.first]);
}

/// Embedding and head stand on the first and the last virtual stage, wherever the layers are.
LayerRun ends_of(const PlacementProblem& problem, std::size_t virtual_stage) {
  LayerRun ends;
  const auto last = static_cast<std::size_t>(problem.stages * problem.chunks) - 1;
  const auto add = [&](const LayerRun& more) {
    ends.unit += more.unit;
    ends.states += more.states;
    ends.kept += more.kept;
  };
  if (virtual_stage == 0) add(problem.first);
  if (virtual_stage == last) add(problem.last);
  return ends;
}

std::int64_t PlacementProblem::layers() const {
  std::int64_t sum = 0;
  for (const LayerRun& run : runs) sum += run.layers;
  return sum;
}

/// The objective of every solver here, so that their answers can be compared.
double placement_time(const PlacementProblem& problem, const PlacedLayers& placed) {
  const LayerSums prefix(problem);
  const std::vector<LayerSlice> slices = slices_of(problem, placed);
  const auto stages = static_cast<std::size_t>(problem.stages);
  std::vector<double> busiest(static_cast<std::size_t>(problem.chunks), 0);
  double pass = 0;
  for (std::size_t v = 0; v < slices.size(); ++v) {
    const double time = slice_unit(prefix, slices[v]) + ends_of(problem, v).unit;
    busiest[v / stages] = std::max(busiest[v / stages], time);
    if (v < stages) pass += time;
  }
  const double rounds =
      static_cast<double>(problem.micro_batches) - 1.0 / static_cast<double>(problem.chunks);
  return rounds * steady_period(problem.stages, busiest) + pass;
}

std::string limit_text(const PlacementLimits& limits) {
  return "stopped at the limit of " + std::to_string(limits.nodes) + " nodes";
}

std::optional<PlacedLayers> place_by_stages(const PlacementProblem& problem) {
  return StageProgramme(problem).solve();
}

namespace {

/// The stage's bytes at its worst moment.
double stage_bytes(const PlacementProblem& problem, const LayerSums& sums,
                   const std::vector<LayerSlice>& slices, std::size_t s) {
  const auto stages = static_cast<std::size_t>(problem.stages);
  double states = 0, held = 0;
  std::vector<double> kept;
  for (std::size_t v = s; v < slices.size(); v += stages) {
    const LayerRun ends = ends_of(problem, v);
    states += sums.states[slices[v].end] - sums.states[slices[v].first] + ends.states;
    kept.push_back(slice_kept(sums, slices[v]) + ends.kept);
  }
  for (const std::vector<int>& moment : problem.moments[s]) {
    double bytes = 0;
    for (std::size_t c = 0; c < moment.size(); ++c) bytes += moment[c] * kept[c];
    held = std::max(held, bytes);
  }
  return states + held;
}

/// Recomputes one layer after the other on the chunk that gives back most per time.
bool recompute_until_it_fits(const PlacementProblem& problem, const LayerSums& sums,
                             std::vector<LayerSlice>& slices, std::size_t s) {
  const auto stages = static_cast<std::size_t>(problem.stages);
  while (stage_bytes(problem, sums, slices, s) > problem.capacity) {
    LayerSlice* best = nullptr;
    double most = 0;
    for (std::size_t v = s; v < slices.size(); v += stages) {
      LayerSlice& slice = slices[v];
      const std::size_t next = slice.first + slice.recomputed;
      if (next == slice.end) continue;
      const double saved =
          (sums.saved[next + 1] - sums.saved[next]) * most_held(problem, s, v / stages);
      const double time = sums.recompute[next + 1] - sums.recompute[next];
      const double worth = saved / std::max(time, std::numeric_limits<double>::min());
      if (saved <= 0 || worth <= most) continue;
      most = worth;
      best = &slice;
    }
    if (best == nullptr) return false;
    ++best->recomputed;
  }
  return true;
}

}  // namespace

/// Solvers are checked by this, whatever they believe themselves.
double placement_memory(const PlacementProblem& problem, const PlacedLayers& placed) {
  const LayerSums sums(problem);
  const std::vector<LayerSlice> slices = slices_of(problem, placed);
  double peak = 0;
  for (std::size_t s = 0; s < static_cast<std::size_t>(problem.stages); ++s)
    peak = std::max(peak, stage_bytes(problem, sums, slices, s));
  return peak;
}

/// The balance of a forecast is a start that every solver has to beat.
std::optional<PlacedLayers> place_evenly(const PlacementProblem& problem) {
  const LayerSums sums(problem);
  const auto stages = static_cast<std::size_t>(problem.stages);
  const auto chunks = static_cast<std::size_t>(problem.chunks);
  const auto ends = balanced_ends({{sums.unit, problem.first.unit, problem.last.unit}},
                                  {ChunkPlacement::loop, problem.stages, problem.chunks});
  std::vector<LayerSlice> slices;
  slices.reserve(ends.size());
  for (const std::size_t end : ends)
    slices.push_back({slices.empty() ? 0 : slices.back().end, end, 0});
  for (std::size_t s = 0; s < stages; ++s)
    if (!recompute_until_it_fits(problem, sums, slices, s)) return {};
  PlacedLayers placed;
  placed.layers.assign(chunks, std::vector<std::int64_t>(stages));
  placed.recomputed = placed.layers;
  for (std::size_t v = 0; v < slices.size(); ++v) {
    const LayerSlice& slice = slices[v];
    placed.layers[v / stages][v % stages] = static_cast<std::int64_t>(slice.end - slice.first);
    placed.recomputed[v / stages][v % stages] = static_cast<std::int64_t>(slice.recomputed);
  }
  return placed;
}

}  // namespace stepcast
