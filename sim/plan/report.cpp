#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "launchable.hpp"
#include "plan_cost.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/metrics.hpp"
#include "stepcast/sim/plan/plan_report.hpp"
#include "stepcast/sim/scenario/breakdown.hpp"

namespace stepcast {
namespace {

constexpr std::size_t most_rows = 20, brief_rows = 5, most_beaten = 10;
constexpr double least_difference = 5e-4;  // of a step: a tenth of a percent when rounded

/// A point that is equal in all beats nobody, so that twins do not remove each other.
bool beats(const std::vector<PlanMeasure>& measures, const PlanPoint& a, const PlanPoint& b) {
  bool better = false;
  for (const PlanMeasure measure : measures) {
    const double x = measured(measure, a), y = measured(measure, b);
    if (x > y) return false;
    better = better || x < y;
  }
  return better;
}

/// What `loser` has more of one measure; empty where that is nothing.
std::string more_of(PlanMeasure measure, const PlanPoint& loser, const PlanPoint& winner) {
  const double more = measured(measure, loser) - measured(measure, winner);
  const double percent = 100 * (measured(measure, loser) / measured(measure, winner) - 1);
  switch (measure) {
    case PlanMeasure::time:
      break;
    case PlanMeasure::throughput:
      return fmt::format("{:.1f}% more time per token", percent);
    case PlanMeasure::cost:
      return fmt::format("{:.1f}% dearer", percent);
    case PlanMeasure::energy:
      return fmt::format("{:.1f}% more energy", percent);
    case PlanMeasure::memory:
      return more > 0 ? human(Bytes{more}) + " more" : "";
    case PlanMeasure::devices:
      return more > 0 ? fmt::format("{:g} devices more", more) : "";
  }
  return fmt::format("{:.1f}% slower", percent);
}

/// The keys in which two points differ.
std::vector<std::string> differing_keys(const PlanSpace& space, const PlanPoint& a,
                                        const PlanPoint& b) {
  const auto first = settings_of(space, a.strategy, a.placement),
             second = settings_of(space, b.strategy, b.placement);
  std::vector<std::string> keys;
  for (const auto& [one, other] : {std::pair{&first, &second}, std::pair{&second, &first}})
    for (const std::string& setting : *one)
      if (std::ranges::find(*other, setting) == other->end())
        keys.push_back(setting.substr(0, setting.find('=')));
  return keys;
}

bool is_same(const PlanPoint& a, const PlanPoint& b) {
  return a.strategy == b.strategy && a.placement.has_value() == b.placement.has_value();
}

/// Whether published pairs leave open which of the two is better.
bool too_close(const PlanSpace& space, const PlanPoint& first, const PlanPoint& other,
               const std::vector<PublishedPair>& pairs) {
  if (pairs.empty() || &first == &other) return false;
  const double a = plan_score(space.spec, first, *first.simulated).value,
               b = plan_score(space.spec, other, *other.simulated).value;
  if (a == b) return true;
  const auto count = pairs_like(pairs, kind_of_change(differing_keys(space, first, other)), b / a);
  return count && count->too_close();
}

std::string row(const PlanSpace& space, const PlanPoint& p, std::size_t number, bool close) {
  const double gib = 1024.0 * 1024 * 1024;
  // What is known before a simulation is of the point with balanced layers.
  const auto before = [&](std::optional<Seconds> time) {
    return time && !p.placement ? human(*time) : "-";
  };
  return fmt::format(" {}{:>3} {:>9} {:>9} {:>9} {:>9} {:>6.1f} {:>7}  {}\n", close ? '~' : ' ',
                     number, p.simulated ? human(*p.simulated) : "-", before(p.alone),
                     before(p.bound), before(p.estimate), p.peak.value() / gib, p.devices,
                     strategy_text(space, p.strategy, p.placement));
}

const char* points_word(const PlanCounts& counts) {
  return counts.points == 1 ? "point" : "points";
}

/// A scenario is a plan of one point, which is seldom what its reader wanted.
std::string hint_to_search(const PlanCounts& counts) {
  if (counts.points != 1) return "";
  return "  The file names one plan. To search: --set parallel.tp=search --set parallel.pp=search "
         "--set training.recompute=search\n";
}

std::string counts_text(const PlanCounts& counts) {
  std::string text = fmt::format("\n  {:>12.0f} {}\n", counts.points, points_word(counts));
  for (const auto& [reason, points] : counts.infeasible)
    text += fmt::format("  {:>12.0f} infeasible: {}\n", points, reason);
  text += fmt::format("  {:>12.0f} with a bound above what was kept\n", counts.bounded);
  text += fmt::format(
      "  {:>12.0f} estimated, {:.0f} bounded by their units, {:.0f} timed without contention, "
      "{:.0f} simulated\n",
      counts.estimated, counts.unit_bounded, counts.timed, counts.simulated);
  return text;
}

/// Of simulated points: what each loses against.
std::string beaten_text(const PlanSpace& space, const PlanResult& result) {
  std::string text;
  std::size_t rows = 0;
  for (const FrontierEntry& entry : frontier(result)) {
    if (entry.dominator == nullptr || !entry.point->simulated || rows++ >= most_beaten) continue;
    text +=
        fmt::format("  {}\n      loses to {}: {}\n", strategy_text(space, entry.point->strategy),
                    strategy_text(space, entry.dominator->strategy), beaten_by(entry));
  }
  return text.empty() ? text : "\n  simulated points that are beaten, and by what\n" + text;
}

/// Every row of the frontier has these.
bool is_column(PlanMeasure measure) {
  return measure == PlanMeasure::time || measure == PlanMeasure::memory ||
         measure == PlanMeasure::devices;
}

std::string frontier_text(const PlanSpace& space, const PlanResult& result) {
  const bool money = space.spec.objective == PlanSpec::Objective::cost;
  // A frontier that the plan names has two measures; without names it is price or memory and
  // devices.
  const std::vector<std::string>& named = space.spec.frontier;
  std::string text = "\n  no other point is faster ";
  text += money ? "for as little money\n" : "with as little memory on as few devices\n";
  if (!named.empty())
    text = fmt::format("\n  no other point is as good in {} and better in {}, or the reverse\n",
                       named.front(), named.back());
  for (const FrontierEntry& entry : frontier(result)) {
    if (entry.dominator != nullptr) continue;
    if (named.empty() && money)
      text += fmt::format("  {:>13}", measure_text(space, PlanMeasure::cost, *entry.point));
    // Columns of time, memory and devices stand in each row anyway.
    for (const PlanMeasure measure : named.empty() ? std::vector<PlanMeasure>{} : result.measures)
      if (!is_column(measure))
        text += fmt::format("  {:>17}", measure_text(space, measure, *entry.point));
    text +=
        fmt::format("  {:>13} {:>10} {:>7}  {}{}\n", human(entry.time), human(entry.point->peak),
                    entry.point->devices, strategy_text(space, entry.point->strategy),
                    entry.point->simulated ? "" : " (without contention)");
  }
  return text + beaten_text(space, result);
}

/// The largest parts of the difference, first what the winner saves or loses most.
std::string comparison_text(const PlanResult& result) {
  if (!result.comparison) return {};
  const PlanComparison& c = *result.comparison;
  const std::vector<double> differences = c.differences();
  std::vector<std::size_t> order(differences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::size_t i) { return std::abs(differences[i]); });
  std::string text =
      "\n  against " + c.file + " (percent of its step time, per token and device)\n";
  for (const auto& [name, run] : {std::pair{"baseline", &c.baseline}, {"winner", &c.winner}})
    text += fmt::format("    {:<8} {:>9} {:>10}  {}\n", name, human(run->step_time),
                        human(run->peak), run->strategy);
  text += fmt::format("    {} by {:.1f}%:", c.difference() < 0 ? "faster" : "slower",
                      100 * std::abs(c.difference()));
  std::string parts;
  for (const std::size_t i : order)
    if (std::abs(differences[i]) >= least_difference)
      parts += fmt::format("{} {}{} {:+.1f}", parts.empty() ? "" : ",",
                           is_exposed_part(i) ? "exposed " : "", plan_part_names()[i],
                           100 * differences[i]);
  return text + parts + "\n";
}

std::string placed_text(const PlanSpace& space, const PlanResult& result) {
  if (result.placed.empty()) return {};
  std::string text = "\n  layers and recomputation placed by integer programme\n";
  for (const PlanPoint& p : result.placed) {
    // The gap is the solver's, between its best placement and what it proved: 0 says that no
    // placement of these layers is better in the model of the programme.
    text += fmt::format("  {:>13} {:>10}  {} ({}: {}, gap {:.1f}%)\n", human(*p.simulated),
                        human(p.peak), strategy_text(space, p.strategy, p.placement),
                        p.placement->solver, p.placement->status, 100 * p.placement->gap);
  }
  return text;
}

/// What the model cannot tell apart is said, because a decision should not rest on it.
std::string finalists_text(const PlanSpace& space, const PlanResult& result) {
  if (result.finalists.empty()) return {};
  std::string text = fmt::format("\n  with {} seeds of the stalls, {:g}% of the steps within:\n",
                                 space.spec.seeds, 100 * space.spec.quantile);
  const PlanSeeds& first = *result.finalists.front().seeds;
  for (const PlanPoint& p : result.finalists) {
    const PlanSeeds& seeds = *p.seeds;
    text +=
        fmt::format("  {:>13}  median {:>9}  calm {:>9}  {:>9} free  {}\n", human(seeds.decides),
                    human(Seconds{seeds.step_time.p50}), human(*p.simulated),
                    human(p.capacity - p.peak), strategy_text(space, p.strategy, p.placement));
  }
  text +=
      fmt::format("  {} of the other {} have a median within the interval of the first, {} to {}\n",
                  finalists_within(space, result), result.finalists.size() - 1,
                  human(Seconds{first.interval.low}), human(Seconds{first.interval.high}));
  return text + fmt::format(
                    "  `stepcast run` of the first draws seed {}: {}; `stepcast run --seeds {}` "
                    "draws all\n",
                    first.first_seed, human(first.first_step), space.spec.seeds);
}

}  // namespace

std::size_t finalists_within(const PlanSpace& space, const PlanResult& result) {
  const PlanPoint& best = result.finalists.front();
  const StepInterval::Bounds& interval = best.seeds->interval;
  // Of other numbers of devices a time counts as what the objective makes of it.
  const auto weight = [&](const PlanPoint& p) {
    using Objective = PlanSpec::Objective;
    const Objective objective = space.spec.objective;
    if (objective == Objective::step_time || objective == Objective::pareto ||
        objective == Objective::memory)
      return 1.0;
    if (objective == Objective::throughput) return best.tokens / p.tokens;
    return static_cast<double>(p.devices) / static_cast<double>(best.devices);
  };
  return static_cast<std::size_t>(
      std::count_if(result.finalists.begin() + 1, result.finalists.end(), [&](const PlanPoint& p) {
        const double median = p.seeds->step_time.p50 * weight(p);
        return median >= interval.low && median <= interval.high;
      }));
}

/// The gap is told where there is one, because a best point is only as good as what was left
/// unseen: points, and splits of layers where that search ended before its proof.
std::string proof_text(const PlanSpace& space, const PlanResult& result) {
  double widest = 0;
  for (const PlanPoint& p : result.placed) widest = std::max(widest, p.placement->gap);
  constexpr double least = 0.0005;  // it would read 0.0 %
  const bool open = widest >= least;
  const std::string splits =
      open ? fmt::format("an uneven split of layers may be up to {:.1f}% faster", 100 * widest)
           : "";
  if (result.proven)
    return open ? "No point with even layers is better, by its bound; " + splits + "."
                : "No point of the space is better: every other one has a bound above it.";
  if (result.best.empty())
    return "No point with even layers fits; of those with placed layers this is the best found.";
  const PlanPoint& winner = result.best.front();
  const double best = plan_score(space.spec, winner, *winner.simulated).value;
  const double gap = 1 - result.least_bound.value_or(best) / best;
  return fmt::format(
      "Not proven: points that were not simulated have bounds down to {:.1f}% below it{}.",
      100 * gap, open ? ", and " + splits : "");
}

std::string beaten_by(const FrontierEntry& entry) {
  std::string text;
  for (const PlanMeasure measure : *entry.measures) {
    const std::string more = more_of(measure, *entry.point, *entry.dominator);
    if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
  }
  return text;
}

/// In the order of the measures only earlier entries can beat a later one.
std::vector<FrontierEntry> frontier(const PlanResult& result) {
  std::vector<FrontierEntry> entries;
  for (const PlanPoint& p : result.shortlist)
    if (best_time(p).value() < std::numeric_limits<double>::infinity())
      entries.push_back({&p, nullptr, best_time(p), &result.measures});
  std::ranges::stable_sort(entries, {}, [&](const FrontierEntry& e) {
    std::vector<double> values;
    for (const PlanMeasure measure : result.measures) values.push_back(measured(measure, *e.point));
    return values;
  });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t k = 0; k < i && entries[i].dominator == nullptr; ++k)
      if (entries[k].dominator == nullptr &&
          beats(result.measures, *entries[k].point, *entries[i].point))
        entries[i].dominator = entries[k].point;
  }
  std::ranges::stable_sort(entries, {}, &FrontierEntry::time);
  return entries;
}

/// The best points; one that no balanced row shows, as its layers are placed, stands above them.
std::vector<const PlanPoint*> shown_points(const PlanResult& result, const PlanPoint& winner,
                                           std::size_t most) {
  std::vector<const PlanPoint*> shown;
  for (const PlanPoint& p : result.best)
    if (shown.size() < most) shown.push_back(&p);
  if (std::ranges::none_of(shown, [&](const PlanPoint* p) { return is_same(*p, winner); }))
    shown.insert(shown.begin(), &winner);
  return shown;
}

/// A placement counts only where it is really faster than the balance.
const PlanPoint& best_point(const PlanSpace& space, const PlanResult& result) {
  if (!result.finalists.empty()) return result.finalists.front();
  if (result.best.empty()) return result.placed.front();
  const auto score = [&](const PlanPoint& p) { return plan_score(space.spec, p, *p.simulated); };
  const PlanPoint& balanced = result.best.front();
  if (result.placed.empty()) return balanced;
  const PlanPoint& placed = result.placed.front();
  const bool faster = score(placed) < score(balanced) && !ties(score(balanced), score(placed));
  return faster ? placed : balanced;
}

std::string plan_sentence(const PlanSpace& space, const PlanResult& result) {
  // Under stalls the median of the seeds decides, and a single step is not quoted beside it.
  const PlanPoint& winner = best_point(space, result);
  std::string text = human(winner.seeds ? Seconds{winner.seeds->step_time.p50} : *winner.simulated);
  if (result.comparison) {
    const PlanComparison& c = *result.comparison;
    // Points of other sizes of job are compared by the time of a token on one device.
    const bool alike =
        c.baseline.devices == c.winner.devices && c.baseline.tokens == c.winner.tokens;
    const double percent = 100 * c.difference();
    text += fmt::format(" instead of {} ({:+.{}f} %{})", human(c.baseline.step_time), percent,
                        std::abs(percent) < 10 ? 1 : 0, alike ? "" : " per token and device");
  }
  text += fmt::format(", fits with {} to spare", human(winner.capacity - winner.peak));
  const ClusterSpec& cluster = space.bases[winner.strategy.base].scenario.cluster;
  if (memory_fit(winner.peak, winner.capacity, cluster) == MemoryFit::tight)
    text += ", tight (plan.memory_reserve keeps more free)";
  return text;
}

std::string plan_table(const PlanSpace& space, const PlanResult& result, PlanDetail detail,
                       const std::vector<PublishedPair>& pairs) {
  const bool all = detail == PlanDetail::all;
  const PlanPoint& winner = best_point(space, result);
  std::string text = fmt::format("plan of {}\n\n  {}\n  {}\n", space.bases.front().scenario.name,
                                 strategy_text(space, winner.strategy, winner.placement),
                                 plan_sentence(space, result));
  if (result.comparison) {
    const std::string told = pairs_sentence(pairs, {}, 1 + result.comparison->difference());
    if (!told.empty()) text += "  " + told + "\n";
  }
  text += "\n      simulated     alone     bound  estimate    GiB devices  strategy\n";
  const auto shown = shown_points(result, winner, all ? most_rows : brief_rows);
  bool any_close = false;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool close = too_close(space, *shown.front(), *shown[i], pairs);
    any_close = any_close || close;
    text += row(space, *shown[i], i + 1, close);
  }
  if (any_close)
    text += "  ~ too close to the first to call, by published pairs that differ as they do\n";
  const bool unlike_batches = std::ranges::any_of(space.bases, [&space](const PlanBase& base) {
    return base.scenario.workload.training.global_batch !=
           space.bases.front().scenario.workload.training.global_batch;
  });
  if (unlike_batches && space.spec.objective == PlanSpec::Objective::step_time)
    text += "  steps of unlike batches; plan.objective=throughput compares tokens per second\n";
  text += "\n  " + proof_text(space, result) + "\n";
  if (all && result.rank_correlation)
    text += fmt::format("  Rank correlation of estimate and simulation over {} points: {:.3f}\n",
                        result.best.size(), *result.rank_correlation);
  text += cost_table(space, result) + finalists_text(space, result) + comparison_text(result);
  const bool asked =
      space.spec.objective == PlanSpec::Objective::pareto || !space.spec.frontier.empty();
  if (all)
    return text + placed_text(space, result) + frontier_text(space, result) +
           counts_text(result.counts);
  if (asked) text += frontier_text(space, result);
  for (const auto& [reason, points] : result.counts.infeasible)
    if (reason.starts_with(runs_in_key))
      text += fmt::format("\n  {:.0f} points left out: {}", points, reason);
  return text +
         fmt::format(
             "\n  {:.0f} {}, {:.0f} of {} simulated; --verbose shows more rows, "
             "the frontier and what was left out\n",
             result.counts.points, points_word(result.counts), result.counts.simulated,
             result.counts.points == 1 ? "it" : "them") +
         hint_to_search(result.counts);
}

std::string plan_failure(const PlanSpace& space, const PlanResult& result) {
  std::string text = fmt::format("{}: plan: nothing is feasible, the tightest constraint is: {}\n",
                                 space.file, result.tightest);
  // What would fit is said even where no change of the listed keys gives it: the gap is what a user
  // needs to know.
  if (result.nearest) {
    const PlanPoint& p = *result.nearest;
    text += fmt::format("  nearest to fitting: {}: needs {} of {}, {} more\n",
                        strategy_text(space, p.strategy), human(p.peak), human(p.capacity),
                        human(p.peak - p.capacity));
  }
  if (result.relaxed) {
    text += fmt::format("  nearest feasible point: {}: {}{}\n", result.relaxed->point,
                        result.relaxed->change, result.relaxed->settings);
  } else {
    text += "  no other values of the listed keys make a point feasible\n";
  }
  return text + hint_to_search(result.counts) + counts_text(result.counts);
}

}  // namespace stepcast
