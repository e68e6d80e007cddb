#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "sim/plan/placement.hpp"

/// The best table of two chunks per stage without a solver: every pair of periods, every size of
/// the first chunks together, each by a dynamic programme over the stages. For tests.
namespace stepcast::testing {

class ExactPlacement {
 public:
  explicit ExactPlacement(const PlacementProblem& problem)
      : p_{problem},
        stages_{static_cast<int>(problem.stages)},
        layers_{static_cast<int>(problem.layers())},
        rounds_{static_cast<double>(problem.micro_batches) - 0.5} {
    for (const LayerRun& run : p_.runs)
      kinds_.insert(kinds_.end(), static_cast<std::size_t>(run.layers), &run);
  }

  /// The least time, infinity when nothing fits. No placement slower than `known` is looked for.
  double best(double known) {
    double best = known;
    const std::vector<double> first = periods(0, known), second = periods(1, known);
    for (const double a : first) {
      // a longer second period never takes a placement away
      const auto fit = std::partition_point(second.begin(), second.end(), [&](double b) {
        return rounds_ * period(a, b) < best && least_pass(a, b) == infinite;
      });
      for (auto b = fit; b != second.end() && rounds_ * period(a, *b) < best; ++b)
        best = std::min(best, rounds_ * period(a, *b) + least_pass(a, *b));
    }
    return best;
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  static constexpr double rounding = 1 + 1e-9;

  /// With two chunks one of the two ways between them goes up.
  double period(double a, double b) const {
    const double waits = lost_between_chunks * (stages_ - 1) / stages_ * std::abs(a - b);
    return a + b + waits;
  }
  struct Slice {
    int first, count;
  };
  double ends(int part, double LayerRun::*what) const {
    return (part == 0 ? p_.first.*what : 0) + (part + 1 == 2 * stages_ ? p_.last.*what : 0);
  }
  double time(int part, Slice slice, int again) const {
    double sum = ends(part, &LayerRun::unit);
    for (int i = 0; i < slice.count; ++i) {
      const LayerRun& layer = *kinds_[static_cast<std::size_t>(slice.first + i)];
      sum += layer.unit + (i < again ? layer.recompute : 0);
    }
    return sum;
  }
  double kept(int part, Slice slice, int again) const {
    double sum = ends(part, &LayerRun::kept);
    for (int i = 0; i < slice.count; ++i) {
      const LayerRun& layer = *kinds_[static_cast<std::size_t>(slice.first + i)];
      sum += i < again ? layer.kept_recomputed : layer.kept;
    }
    return sum;
  }
  double states(int part, Slice slice) const {
    double sum = ends(part, &LayerRun::states);
    for (int i = 0; i < slice.count; ++i)
      sum += kinds_[static_cast<std::size_t>(slice.first + i)]->states;
    return sum;
  }
  bool fits(int stage, Slice one, int again, Slice two, int again_two) const {
    const int other = stages_ + stage;
    const double fixed = states(stage, one) + states(other, two);
    const double a = kept(stage, one, again), b = kept(other, two, again_two);
    return std::ranges::all_of(p_.moments[static_cast<std::size_t>(stage)], [&](const auto& m) {
      return fixed + m[0] * a + m[1] * b <= p_.capacity * rounding;
    });
  }

  std::vector<double> periods(int chunk, double known) const {
    std::vector<double> times;
    for (int part = chunk * stages_; part < (chunk + 1) * stages_; ++part)
      for (int first = 0; first < layers_; ++first)
        for (int count = 1; first + count <= layers_; ++count) {
          if (rounds_ * time(part, {first, count}, 0) > known) break;
          for (int again = 0; again <= count; ++again)
            times.push_back(time(part, {first, count}, again));
        }
    std::ranges::sort(times);
    const auto same = [](double x, double y) { return y <= x * rounding; };
    times.erase(std::unique(times.begin(), times.end(), same), times.end());
    return times;
  }

  /// One micro-batch through the first chunk of all stages.
  double least_pass(double first, double second) const {
    double best = infinite;
    for (int middle = stages_; middle <= layers_ - stages_; ++middle) {
      if (time(0, {0, middle}, 0) > stages_ * first * rounding) break;
      if (time(2 * stages_ - 1, {middle, layers_ - middle}, 0) > stages_ * second * rounding)
        continue;
      best = std::min(best, least_pass(first, second, middle));
    }
    return best;
  }
  /// `middle` layers on the first chunks. States are the next layers of both chunks.
  double least_pass(double first, double second, int middle) const {
    std::map<std::pair<int, int>, double> now{{{0, middle}, 0.0}};
    for (int stage = 0; stage < stages_; ++stage) {
      std::map<std::pair<int, int>, double> next;
      for (const auto& [from, pass] : now)
        for (int n = 1; from.first + n <= middle; ++n) {
          if (time(stage, {from.first, n}, 0) > first * rounding) break;
          for (int k = 1; from.second + k <= layers_; ++k) {
            if (time(stages_ + stage, {from.second, k}, 0) > second * rounding) break;
            const double stage_pass =
                least_stage(stage, {from.first, n}, first, {from.second, k}, second);
            if (stage_pass == infinite) continue;
            const auto place = next.try_emplace({from.first + n, from.second + k}, infinite).first;
            place->second = std::min(place->second, pass + stage_pass);
          }
        }
      now = std::move(next);
    }
    const auto end = now.find({middle, layers_});
    return end == now.end() ? infinite : end->second;
  }
  /// The first slice with as few recomputed layers as fit.
  double least_stage(int stage, Slice one, double first, Slice two, double second) const {
    int most = 0;
    while (most < two.count && time(stages_ + stage, two, most + 1) <= second * rounding) ++most;
    for (int again = 0; again <= one.count; ++again) {
      if (time(stage, one, again) > first * rounding) return infinite;
      if (fits(stage, one, again, two, most)) return time(stage, one, again);
    }
    return infinite;
  }

  const PlacementProblem& p_;
  int stages_, layers_;
  double rounds_;
  std::vector<const LayerRun*> kinds_;
};

}  // namespace stepcast::testing
