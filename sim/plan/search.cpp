#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <tuple>

#include "answer_store.hpp"
#include "enumerate.hpp"
#include "launchable.hpp"
#include "point_times.hpp"
#include "search_steps.hpp"
#include "stepcast/base/build.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/base/quantile.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/plan/plan_report.hpp"
#include "stepcast/sim/scenario/checks.hpp"
#include "stepcast/sim/scenario/resolved_scenario.hpp"

namespace stepcast {
namespace {

constexpr std::size_t simulated_together = 4;
// Timing a point takes milliseconds, while a bound that is a tenth below keeps thousands open.
constexpr std::size_t taken_back_per_kept = 8;

/// All that an answer about a point of this base depends on, but the point.
std::string base_text(const PlanSpace& space, const PlanBase& base) {
  return std::string(version) + "\n" + build_fingerprint() + "\n" +
         shortest(space.spec.memory_reserve.value()) + "\n" + resolved_yaml(base.scenario);
}

/// How many scores are less than each: a correlation of ranks takes one number of a point.
std::vector<double> places(const std::vector<PlanScore>& scores) {
  std::vector<PlanScore> sorted(scores);
  std::ranges::sort(sorted);
  std::vector<double> numbers;
  numbers.reserve(scores.size());
  for (const PlanScore& score : scores)
    numbers.push_back(
        static_cast<double>(std::ranges::lower_bound(sorted, score) - sorted.begin()));
  return numbers;
}

class PlanSearch {
 public:
  PlanSearch(const PlanSpace& space, const SearchPath& search, int workers,
             const std::string& store)
      : space_{space},
        search_{search},
        workers_{workers},
        store_{store.empty() ? nullptr : std::make_unique<AnswerStore>(store)},
        times_{space,
               costs_,
               workers,
               store_.get(),
               [this](const char* job, const PlanPoint& p) { return key_of(job, p); },
               result_.counts} {
    for (const PlanBase& base : space.bases) {
      costs_.emplace_back(base);
      if (store_) base_keys_.push_back(sha256(base_text(space, base)));
    }
  }

  /// Neighbours are tried before dropped points come back, because a better best point closes most
  /// of those.
  PlanResult run() {
    result_.measures = frontier_measures(space_.spec);
    begin_phase("estimating all points");
    Enumeration all = enumerate(space_, costs_);
    points_ = std::move(all.kept);
    result_.counts = std::move(all.counts);
    result_.nearest = all.nearest;
    dropped_bound_ = all.dropped_bound;
    refused_ = std::move(all.refused);
    if (!points_.empty()) prove();
    const bool any_fits = !std::isinf(best().value);
    if (any_fits) {
      while (search_around()) {
      }
      take_back();
      settle_frontier();
      finish();
    }
    // Where no balanced point fits, one that recomputes some of its layers may.
    place();
    if (!any_fits && result_.placed.empty()) {
      explain_nothing();
      return std::move(result_);
    }
    begin_phase("running the finalists and the baseline");
    if (space_.spec.seeds > 0)
      result_.finalists = run_finalists(space_, search_, workers_, finalists(), store_.get(),
                                        [&](const PlanPoint& p) { return stalled_key(p); });
    result_.comparison =
        compare_with_baseline(space_, best_point(space_, result_), search_, workers_);
    return std::move(result_);
  }

 private:
  /// Under this the store has the answer of a job about a point.
  std::string key_of(const char* job, const PlanPoint& point) const {
    std::string text = std::string(job) + "\n" + base_keys_[point.strategy.base];
    for (const std::string& setting : settings_of(space_, point.strategy, point.placement))
      text += "\n" + setting;
    return sha256(text);
  }

  /// A finalist is also made of its stalls and of how often it is run.
  std::string stalled_key(const PlanPoint& point) const {
    if (!store_) return {};
    StallsSpec stalls = space_.stalls;
    return sha256(key_of("seeds", point) + "\n" + std::to_string(space_.spec.seeds) + "\n" +
                  canonical_text([&](Visitor& visitor) { describe(visitor, stalls); }));
  }

  /// Every point is read again from its settings as text, so that what is printed is what a user
  /// would run.
  void simulate(const std::vector<PlanPoint*>& points) {
    begin_phase("simulating points");
    run_kept(
        store_.get(), points.size(), workers_,
        [&](std::size_t i) { return key_of("simulate", *points[i]); },
        [&](std::size_t i) { return simulated_text(space_, *points[i], search_); },
        [&](const WorkerAnswer& answer) {
          PlanPoint& point = *points[answer.index];
          if (answer.failed())
            throw_failure(
                "a point could not be simulated (" + strategy_text(space_, point.strategy) + ")",
                answer);
          std::istringstream lines(answer.text);
          read_simulated(lines, point);
          result_.counts.simulated += 1;
        });
  }

  /// Points that may still be better than the best: not bounded by their units yet, or bounded and
  /// not simulated.
  std::vector<PlanPoint*> promising(bool bounded, std::size_t most) {
    const PlanScore limit = best();
    std::vector<PlanPoint*> chosen;
    for (PlanPoint& p : points_) {
      if (p.simulated || (p.alone || p.unit_bound) != bounded) continue;
      if (score(p, bounded ? best_time(p) : p.bound) < limit) chosen.push_back(&p);
    }
    std::ranges::stable_sort(chosen, {},
                             [&](const PlanPoint* p) { return score(*p, best_time(*p)); });
    if (chosen.size() > most) chosen.resize(most);
    return chosen;
  }

  /// Those with the least times alone, of which no more is replayed than tells them from the
  /// others.
  std::vector<PlanPoint*> next_to_simulate(std::size_t most) {
    for (;;) {
      std::vector<PlanPoint*> chosen = promising(true, most), open;
      std::ranges::copy_if(chosen, std::back_inserter(open),
                           [](const PlanPoint* p) { return !p->alone; });
      if (open.empty()) return chosen;
      times_.replay(open);
    }
  }

  void bound_promising(std::size_t most = std::numeric_limits<std::size_t>::max()) {
    times_.bound(promising(false, most));
  }

  /// Simulates until nothing that is left can be better, or the number of simulations is used up.
  void prove() {
    const auto top = static_cast<std::size_t>(space_.spec.top);
    bound_promising(4 * top);
    simulate(next_to_simulate(top));
    bound_promising();
    simulate_promising();
  }

  /// Few are simulated at a time, because each one may close others; as many whatever the workers,
  /// so that these show in no answer.
  void simulate_promising() {
    while (simulations_left() > 0) {
      const auto next = next_to_simulate(std::min(simulations_left(), simulated_together));
      if (next.empty()) return;
      simulate(next);
    }
  }

  /// Points that were dropped for their estimates, as far as they may be better than the best.
  void take_back() {
    if (dropped_bound_ >= best()) return;
    const std::size_t most = taken_back_per_kept * static_cast<std::size_t>(space_.spec.shortlist);
    const Enumeration below = enumerate_below(space_, costs_, best(), most);
    for (const PlanPoint& p : below.kept)
      if (std::ranges::count(points_, p.strategy, &PlanPoint::strategy) == 0) points_.push_back(p);
    dropped_bound_ = below.dropped_bound;
    bound_promising();
    simulate_promising();
  }

  std::vector<PlanPoint*> unbeaten() {
    result_.shortlist = points_;
    std::vector<PlanPoint*> chosen;
    for (const FrontierEntry& entry : frontier(result_))
      if (entry.dominator == nullptr)
        chosen.push_back(
            &points_[static_cast<std::size_t>(entry.point - result_.shortlist.data())]);
    return chosen;
  }

  /// The points that nothing beats so far. Whoever is beaten with the bound of its units is beaten
  /// with its time; who is not is replayed.
  std::vector<PlanPoint*> replay_frontier() {
    for (;;) {
      std::vector<PlanPoint*> open = unbeaten(), bounded;
      std::ranges::copy_if(open, std::back_inserter(bounded), [](const PlanPoint* p) {
        return p->unit_bound && !p->alone && !p->simulated;
      });
      if (bounded.empty()) return open;
      times_.replay(bounded);
    }
  }

  /// The least that a point which was not simulated may score.
  PlanScore least_left() {
    for (;;) {
      PlanScore left = dropped_bound_;
      PlanPoint* least = nullptr;
      for (PlanPoint& p : points_) {
        if (p.simulated) continue;
        const PlanScore own = score(p, p.alone.value_or(p.unit_bound.value_or(p.bound)));
        if (own < left) left = own, least = &p;
      }
      if (least == nullptr || least->alone || !least->unit_bound) return left;
      times_.replay({least});
    }
  }

  /// Those of the frontier that lack what `lacks` asks for.
  std::vector<PlanPoint*> open_frontier(bool (*lacks)(const PlanPoint&)) {
    std::vector<PlanPoint*> open = replay_frontier();
    std::erase_if(open, [&](const PlanPoint* p) { return !lacks(*p); });
    return open;
  }

  /// The frontier by estimates is timed, then simulated, so that it is told by one measure; at most
  /// `simulations` points more.
  void settle_frontier() {
    const auto unknown = open_frontier([](const PlanPoint& p) { return !p.alone && !p.simulated; });
    times_.bound(unknown);
    for (auto left = static_cast<std::size_t>(space_.spec.simulations); left > 0;) {
      auto open = open_frontier([](const PlanPoint& p) { return !p.simulated; });
      if (open.empty()) return;
      if (open.size() > left) open.resize(left);
      left -= open.size();
      simulate(open);
    }
    replay_frontier();
  }

  /// The points that differ from the best one in one key; whether one of them was better.
  bool search_around() {
    const PlanScore before = best();
    const auto winner = std::ranges::find_if(points_, [&](const PlanPoint& p) {
      return p.simulated && score(p, *p.simulated) == before;
    });
    if (winner == points_.end()) return false;
    std::vector<PlanPoint> found;
    const Strategy centre = winner->strategy;
    for (const Strategy& s : neighbours(space_, centre)) {
      if (std::ranges::count(points_, s, &PlanPoint::strategy) > 0) continue;
      if (const auto point = estimate_point(space_, costs_, s)) found.push_back(*point);
    }
    points_.insert(points_.end(), found.begin(), found.end());
    bound_promising();
    simulate(next_to_simulate(std::max<std::size_t>(simulations_left(), 1)));
    return best() < before;
  }

  /// The proof is a statement about what was not simulated: the least bound of all of it.
  void finish() {
    const PlanScore left = least_left();
    std::vector<PlanScore> estimates, simulated;
    for (const PlanPoint& p : points_) {
      if (!p.simulated) continue;
      result_.best.push_back(p);
      estimates.push_back(score(p, p.estimate));
      simulated.push_back(score(p, *p.simulated));
    }
    std::ranges::stable_sort(result_.best, {},
                             [&](const PlanPoint& p) { return score(p, *p.simulated); });
    settle_ties(result_.best);
    result_.proven = left >= best();
    if (std::isfinite(left.value)) result_.least_bound = left.value;
    if (simulated.size() > 2)
      result_.rank_correlation = rank_correlation(places(estimates), places(simulated));
    result_.shortlist = points_;
  }

  /// Of points that are within 0.05 % of the best the first is one that a launch file can
  /// start, then the one that needs least memory.
  void settle_ties(std::vector<PlanPoint>& points) const {
    const auto end = std::ranges::find_if(points, [&](const PlanPoint& p) {
      return !ties(score(points.front(), *points.front().simulated), score(p, *p.simulated));
    });
    if (end - points.begin() < 2) return;
    std::vector<std::tuple<bool, double, std::size_t>> order;
    for (auto p = points.begin(); p != end; ++p)
      order.emplace_back(!has_launch_file(space_, *p), p->peak.value(), order.size());
    std::ranges::sort(order);
    const std::vector<PlanPoint> before(points);
    for (std::size_t i = 0; i < order.size(); ++i) points[i] = before[std::get<2>(order[i])];
  }

  /// A point that has a need of memory has kept every other rule, so that memory is the tightest of
  /// all.
  void explain_nothing() {
    // The one point of a file that contradicts itself: what `run` says, which no other plan mends.
    if (space_.points() == 1 && !points_.empty()) read_point(space_, points_.front(), search_);
    const auto most_of = [&](const std::string& begin) {
      std::pair<std::string, double> most;
      for (const auto& reason : result_.counts.infeasible)
        if (reason.first.starts_with(begin) && reason.second > most.second) most = reason;
      return most.first;
    };
    const std::string most = most_of("");
    result_.tightest = most.empty() ? "the space is empty" : most;
    if (result_.nearest) result_.tightest = "memory";
    result_.relaxed = nearest_feasible(space_);
    if (!result_.relaxed || result_.relaxed->tightest.empty()) return;
    // A reason that begins with the constraint says what of it.
    const std::string& alone = result_.relaxed->tightest;
    result_.tightest = most_of(alone).empty() ? alone : most_of(alone);
  }

  void place() {
    begin_phase("placing layers");
    result_.placed = place_best(space_, search_, workers_, candidates_to_place(), store_.get(),
                                [&](const PlanPoint& p) { return key_of("place", p); });
    // Tables of layers were not among the kinds that the enumeration asked.
    std::erase_if(result_.placed,
                  [&](const PlanPoint& p) { return !launch_refusal(space_, p).empty(); });
    settle_ties(result_.placed);
  }

  /// The best points, and those that memory refuses and that may be better.
  std::vector<PlanPoint> candidates_to_place() const {
    std::vector<PlanPoint> chosen;
    const auto most = static_cast<std::size_t>(space_.spec.placements);
    const auto add = [&](const PlanPoint& p) {
      const auto same = [&](const PlanPoint& c) {
        return same_plan(c.strategy, p.strategy, space_);
      };
      const auto mode = space_.bases[p.strategy.base].scenario.workload.training.recompute;
      if (chosen.size() < most && mode != TrainingSpec::Recompute::selective &&
          places_layers(space_, p.strategy) && std::ranges::none_of(chosen, same))
        chosen.push_back(p);
    };
    for (const PlanPoint& p : result_.best) {
      if (2 * chosen.size() >= most) break;
      add(p);
    }
    for (const PlanPoint& p : refused_)
      if (score(p, p.bound) < best()) add(p);
    return chosen;
  }

  /// The best of all, balanced or placed: which of them stalls hurt least is not known before.
  std::vector<PlanPoint> finalists() const {
    std::vector<PlanPoint> chosen = result_.best;
    chosen.insert(chosen.end(), result_.placed.begin(), result_.placed.end());
    std::ranges::stable_sort(chosen, {},
                             [&](const PlanPoint& p) { return score(p, *p.simulated); });
    const auto alike = [](const PlanPoint& a, const PlanPoint& b) {  // placed as it was balanced
      return a.strategy == b.strategy && a.simulated == b.simulated && a.peak == b.peak;
    };
    chosen.erase(std::unique(chosen.begin(), chosen.end(), alike), chosen.end());
    const auto most = static_cast<std::size_t>(space_.spec.finalists);
    if (chosen.size() > most) chosen.resize(most);
    return chosen;
  }

  /// Only simulations count: an estimate that is too good would close points that are better.
  PlanScore best() const {
    PlanScore least{std::numeric_limits<double>::infinity()};
    for (const PlanPoint& p : points_)
      if (p.simulated) least = std::min(least, score(p, *p.simulated));
    return least;
  }

  PlanScore score(const PlanPoint& p, Seconds time) const {
    return plan_score(space_.spec, p, time);
  }
  std::size_t simulations_left() const {
    // The best points are simulated whatever the limit of proofs is.
    const auto most = static_cast<double>(std::max(space_.spec.simulations, space_.spec.top));
    return static_cast<std::size_t>(std::max(most - result_.counts.simulated, 0.0));
  }

  const PlanSpace& space_;
  const SearchPath& search_;
  int workers_;
  std::unique_ptr<AnswerStore> store_;
  std::vector<std::string> base_keys_;  ///< of the bases, with a store
  std::vector<BaseCosts> costs_;
  std::vector<PlanPoint> points_;
  PlanScore dropped_bound_;
  std::vector<PlanPoint> refused_;  ///< by memory, those with the least bounds
  PlanResult result_;
  PointTimes times_;
};

}  // namespace

PlanResult search_plan(const PlanSpace& space, const SearchPath& search, int workers,
                       const std::string& store) {
  return PlanSearch(space, search, workers, store).run();
}

}  // namespace stepcast
