#include "placement.hpp"

#include <algorithm>
#include <limits>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr double unreachable = std::numeric_limits<double>::infinity();

/// Sums over the layers before each place of the model.
struct Prefix {
  std::vector<double> unit{0}, recompute{0}, states{0}, kept{0}, saved{0};
  explicit Prefix(const PlacementProblem& problem) {
    for (const LayerRun& run : problem.runs)
      for (std::int64_t i = 0; i < run.layers; ++i) {
        unit.push_back(unit.back() + run.unit);
        recompute.push_back(recompute.back() + run.recompute);
        states.push_back(states.back() + run.states);
        kept.push_back(kept.back() + run.kept);
        saved.push_back(saved.back() + run.kept - run.kept_recomputed);
      }
  }
};

struct Slice {
  std::size_t first = 0, end = 0, recomputed = 0;
};

/// Slices in the order of the model: chunk after chunk, stage after stage.
std::vector<Slice> slices_of(const PlacementProblem& problem, const PlacedLayers& placed) {
  std::vector<Slice> slices;
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

double slice_unit(const Prefix& p, const Slice& s) {
  return p.unit[s.end] - p.unit[s.first] + p.recompute[s.first + s.recomputed] -
         p.recompute[s.first];
}

double slice_kept(const Prefix& p, const Slice& s) {
  return p.kept[s.end] - p.kept[s.first] - (p.saved[s.first + s.recomputed] - p.saved[s.first]);
}

/// What stands at the ends of the model on this virtual stage.
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

  std::optional<PlacedLayers> solve();

 private:
  /// The fewest recomputed layers with which the slice fits its share; nothing when none do.
  std::optional<std::size_t> recomputed(std::size_t part, std::size_t first, std::size_t end) const;
  PlacedLayers placed(const std::vector<std::vector<std::size_t>>& from) const;

  const PlacementProblem& problem_;
  Prefix prefix_;
  std::size_t layers_, parts_;
};

std::optional<std::size_t> StageProgramme::recomputed(std::size_t part, std::size_t first,
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

PlacedLayers StageProgramme::placed(const std::vector<std::vector<std::size_t>>& from) const {
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

std::optional<PlacedLayers> StageProgramme::solve() {
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
        const double time = std::max(best[first], ends + slice_unit(prefix_, {first, end, *again}));
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

}  // namespace

std::int64_t PlacementProblem::layers() const {
  std::int64_t sum = 0;
  for (const LayerRun& run : runs) sum += run.layers;
  return sum;
}

double placement_time(const PlacementProblem& problem, const PlacedLayers& placed) {
  const Prefix prefix(problem);
  const std::vector<Slice> slices = slices_of(problem, placed);
  const auto stages = static_cast<std::size_t>(problem.stages);
  std::vector<double> unit(stages, 0);
  double pass = 0;
  for (std::size_t v = 0; v < slices.size(); ++v) {
    const double time = slice_unit(prefix, slices[v]) + ends_of(problem, v).unit;
    unit[v % stages] += time;
    if (v < stages) pass += time;
  }
  const double rounds =
      static_cast<double>(problem.micro_batches) - 1.0 / static_cast<double>(problem.chunks);
  return rounds * *std::ranges::max_element(unit) + pass;
}

double placement_memory(const PlacementProblem& problem, const PlacedLayers& placed) {
  const Prefix prefix(problem);
  const std::vector<Slice> slices = slices_of(problem, placed);
  const auto stages = static_cast<std::size_t>(problem.stages);
  double peak = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    double states = 0, held = 0;
    std::vector<double> kept;
    for (std::size_t v = s; v < slices.size(); v += stages) {
      const LayerRun ends = ends_of(problem, v);
      states += prefix.states[slices[v].end] - prefix.states[slices[v].first] + ends.states;
      kept.push_back(slice_kept(prefix, slices[v]) + ends.kept);
    }
    for (const std::vector<int>& moment : problem.moments[s]) {
      double bytes = 0;
      for (std::size_t c = 0; c < moment.size(); ++c) bytes += moment[c] * kept[c];
      held = std::max(held, bytes);
    }
    peak = std::max(peak, states + held);
  }
  return peak;
}

std::optional<PlacedLayers> place_by_stages(const PlacementProblem& problem) {
  return StageProgramme(problem).solve();
}

}  // namespace stepcast
