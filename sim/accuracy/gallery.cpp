#include "stepcast/sim/accuracy/gallery.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/forecast/load_steps.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

// What the page promises (docs/papers.md): how near is near, what counts, and how often.
constexpr double near_part = 0.15;   // of the gain above 1
constexpr double near_point = 0.01;  // of the step time
constexpr double least_gain = 0.03;
constexpr double rounding = 1e-9;  // of the quotient of two steps
constexpr std::size_t most_of_a_source = 4, most_of_a_kind = 3;

using Keys = std::vector<std::string>;

Keys with_more(Keys keys, const Keys& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

/// What a forecast gives of a scenario.
struct RunResult {
  double time;       ///< of the step [s]
  double experts;    ///< the routed experts of a layer by themselves [s]
  double share;      ///< device time per token, over the step's [1 / tokens]
  double published;  ///< the step that its file expects [s]; 0: none
  bool fits;         ///< into memory
};

/// The tokens of a step for each device; of given times instead of a model, the sequences.
double tokens_per_device(const Scenario& s) {
  const auto& training = s.workload.training;
  return static_cast<double>(std::max<std::int64_t>(training.sequence, 1)) *
         static_cast<double>(training.global_batch) / static_cast<double>(s.cluster.devices);
}

/// Every scenario that rows need, once: a file and what is set in it.
class Runs {
 public:
  std::size_t add(const std::string& file, const Keys& keys, bool experts = false,
                  std::int64_t load_steps = 0) {
    const auto [place, fresh] = index_.try_emplace({file, keys, load_steps}, index_.size());
    if (fresh) order_.push_back(&place->first);
    if (experts) of_experts_.insert(place->second);
    return place->second;
  }
  /// Reads them all. Throws InputError.
  void prepare(const std::string& folder, const SearchPath& search) {
    for (const Run* run : order_)
      scenarios_.push_back(
          prepare_scenario((fs::path(folder) / run->file).string(), run->keys, search));
    check(folder);
  }
  /// Says whether two runs are one under two names.
  bool same(std::size_t a, std::size_t b) const {
    return scenarios_[a].sha256 == scenarios_[b].sha256 &&
           order_[a]->load_steps == order_[b]->load_steps;
  }
  /// In the order of the indices, behind prepare.
  std::vector<RunResult> results(int workers) const {
    std::vector<const Scenario*> given;
    given.reserve(scenarios_.size());
    for (const Scenario& s : scenarios_) given.push_back(&s);
    std::vector<RunResult> results;
    for (const RowForecast& row : forecast_all(given, workers)) {
      const std::size_t i = results.size();
      if (!row.failure.empty()) throw EngineError(order_[i]->file + ": " + row.failure);
      const std::int64_t steps = order_[i]->load_steps;
      const Scenario& s = scenarios_[i];
      const double time = steps > 0 ? mean_load_step(s, steps, workers).value() : row.step_time;
      const double published = s.expect && s.expect->step_time ? s.expect->step_time->value : 0;
      results.push_back({time, row.expert_module, 1 / tokens_per_device(s), published, row.fits});
    }
    return results;
  }

 private:
  struct Run {
    std::string file;
    Keys keys;
    std::int64_t load_steps;  ///< 0: the step of the scenario
    friend auto operator<=>(const Run&, const Run&) = default;
  };

  /// What rows compare must be there.
  void check(const std::string& folder) const {
    const auto wrong = [&](std::size_t i, const char* key, const std::string& what) {
      refuse_input({(fs::path(folder) / order_[i]->file).string()}, key, what);
    };
    for (const std::size_t i : of_experts_)
      if (!scenarios_[i].workload.model.moe)
        wrong(i, "model.moe",
              "is missing, but a row of the gallery compares experts (experts: true), allowed: a "
              "model with experts");
    for (std::size_t i = 0; i < scenarios_.size(); ++i) {
      const std::int64_t steps = order_[i]->load_steps;
      if (steps == 0) continue;
      const bool change = scenarios_[i].workload.model.moe && loads_change(scenarios_[i].workload);
      if (!change || load_steps_left(scenarios_[i]) < steps)
        wrong(i, "moe.routing",
              "does not change for the " + std::to_string(steps) +
                  " steps that a row of the gallery compares (load_steps), allowed: zipf with a "
                  "lifetime, random, or a file of so many steps");
    }
  }

  std::map<Run, std::size_t> index_;
  std::vector<const Run*> order_;
  std::vector<Scenario> scenarios_;
  std::set<std::size_t> of_experts_;  ///< runs whose experts are compared
};

/// Where the runs of one forecast gain stand: without and with the technique, and what is
/// subtracted from each.
struct GainRuns {
  bool experts;
  std::size_t baseline, technique;
  std::optional<std::size_t> less_baseline, less_technique;
};

GainRuns plan(Runs& runs, const Technique& t, const Keys& assumed = {},
              AssumedIn in = AssumedIn::both) {
  // What is assumed goes into the scenarios that the row names.
  const Keys without = in == AssumedIn::technique ? Keys{} : assumed;
  const Keys with = in == AssumedIn::baseline ? t.set : with_more(t.set, assumed);
  GainRuns result{t.experts,
                  runs.add(t.baseline, without, t.experts, t.load_steps),
                  runs.add(t.technique, with, t.experts, t.load_steps),
                  {},
                  {}};
  if (t.less.empty()) return result;
  result.less_baseline = runs.add(t.baseline, with_more(without, t.less));
  result.less_technique = runs.add(t.technique, with_more(with, t.less));
  return result;
}

double gain_of(const GainRuns& runs, const std::vector<RunResult>& results) {
  const auto of = [&](std::size_t run, std::optional<std::size_t> less) {
    // Device time for each token, so that steps of other batches and devices compare.
    return (results[run].time - (less ? results[*less].time : 0)) * results[run].share;
  };
  if (runs.experts)  // a micro-batch of a layer, whatever the step
    return results[runs.baseline].experts / results[runs.technique].experts;
  return of(runs.baseline, runs.less_baseline) / of(runs.technique, runs.less_technique);
}

/// What a row needs: its own pair, and one for each end of what it assumes.
struct RowRuns {
  GainRuns pair;
  std::vector<std::pair<GainRuns, GainRuns>> ends;
};

RowRuns plan_row(Runs& runs, const Technique& t) {
  RowRuns needed{plan(runs, t), {}};
  for (const AssumedValue& a : t.assumptions)
    needed.ends.emplace_back(plan(runs, t, a.low, a.in), plan(runs, t, a.high, a.in));
  return needed;
}

/// A row that compares a run with itself, or ends that are one, would say something about nothing.
void check_differences(const Gallery& gallery, const std::vector<RowRuns>& needed,
                       const Runs& runs) {
  std::vector<Diagnostic> wrong;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const Technique& t = gallery.techniques[i];
    const std::string path = "techniques." + std::to_string(i);
    if (runs.same(needed[i].pair.baseline, needed[i].pair.technique))
      wrong.push_back({t.place, path + ".technique",
                       "is the step of the baseline, allowed: a file, or set, that changes it"});
    for (std::size_t k = 0; k < t.assumptions.size(); ++k) {
      const auto& [low, high] = needed[i].ends[k];
      if (runs.same(low.baseline, high.baseline) && runs.same(low.technique, high.technique))
        wrong.push_back({t.assumptions[k].place, path + ".assumptions." + std::to_string(k),
                         "has two ends that are the same steps, allowed: ends that differ"});
    }
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

void note_step(GalleryStep& step, const RunResult& result) {
  step.forecast = Seconds{result.time};
  step.fits = result.fits;
  // A row may say the published step itself; else the scenario does.
  if (step.published <= Seconds{0}) step.published = Seconds{result.published};
}

bool has_range(const Technique& row) { return row.at_least > 0; }
bool is_bound(const Technique& row) { return row.at_most > 0 && !has_range(row); }
bool is_published(const Technique& row) { return row.gain > 0 || row.at_most > 0; }

bool is_near(double published, double forecast) {
  // Small gains are near in points of the step: 15 % of a gain of 2 % is less than papers round to.
  return std::abs(forecast - published) <= near_part * std::abs(published - 1) ||
         std::abs(1 / forecast - 1 / published) <= near_point;
}

bool is_within(const Technique& row, double forecast) {
  if (has_range(row)) return forecast >= row.at_least && forecast <= row.at_most;
  // "up to 1.4 times" is met by any gain up to that.
  if (is_bound(row)) return forecast > 1 + rounding && forecast <= row.at_most;
  return is_near(row.gain, forecast);
}

/// The published gain by which direction is judged: a range or a bound by its upper end.
double judged_by(const Technique& row) { return row.gain > 0 ? row.gain : row.at_most; }

bool may_count(const Technique& row) {
  if (!row.apart.empty() || is_bound(row) || verdict_of(row, row.forecast) != Verdict::within)
    return false;
  return std::abs((has_range(row) ? row.at_least : row.gain) - 1) >= least_gain;
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::within:
      return "within";
    case Verdict::direction:
      return "direction";
    case Verdict::wrong:
      return "not";
    case Verdict::unpublished:
      return "no figure";
  }
  return "";
}

std::string_view name(AssumedIn in) {
  switch (in) {
    case AssumedIn::both:
      return "both";
    case AssumedIn::baseline:
      return "baseline";
    case AssumedIn::technique:
      return "technique";
  }
  return "";
}

Verdict verdict_of(const Technique& row, double forecast) {
  if (!is_published(row)) return Verdict::unpublished;
  if (is_within(row, forecast)) return Verdict::within;
  if (std::abs(forecast - 1) <= rounding) return Verdict::wrong;  // alike: no gain
  return (forecast - 1) * (judged_by(row) - 1) > 0 ? Verdict::direction : Verdict::wrong;
}

bool is_assumed(const Technique& row) {
  const Verdict verdict = verdict_of(row, row.forecast);
  return std::ranges::any_of(row.assumptions, [&](const AssumedValue& a) {
    // A verdict that an assumption decides is no finding.
    return verdict_of(row, a.at_low) != verdict || verdict_of(row, a.at_high) != verdict;
  });
}

std::optional<double> gain_error(const Technique& row) {
  if (!is_published(row) || is_bound(row)) return {};
  // A gain inside a published range has no error; outside the nearer end judges it.
  if (has_range(row) && is_within(row, row.forecast)) return {};
  const double end = row.forecast < row.at_least ? row.at_least : row.at_most;
  const double published = has_range(row) ? end : row.gain;
  return (row.forecast - 1) / (published - 1) - 1;
}

bool compares_steps(const Technique& row) { return !row.experts && row.less.empty(); }

std::vector<bool> counted_rows(const Gallery& gallery) {
  std::vector<bool> counted;
  std::map<std::string, std::size_t> sources, kinds;
  for (const Technique& row : gallery.techniques) {
    // In the order of the page: the first rows of a source, or of a kind, are those that count.
    const bool counts = may_count(row) && sources[row.source] < most_of_a_source &&
                        kinds[row.kind] < most_of_a_kind && !is_assumed(row);
    counted.push_back(counts);
    if (!counts) continue;
    ++sources[row.source];
    ++kinds[row.kind];
  }
  return counted;
}

GalleryFigures figures(const Gallery& gallery) {
  GalleryFigures f;
  for (const Technique& row : gallery.techniques) {
    const Verdict verdict = verdict_of(row, row.forecast);
    ++f.rows;
    f.published += verdict != Verdict::unpublished ? 1 : 0;
    f.within += verdict == Verdict::within ? 1 : 0;
    f.direction += verdict == Verdict::direction ? 1 : 0;
    f.wrong += verdict == Verdict::wrong ? 1 : 0;
    f.assumed += is_assumed(row) ? 1 : 0;
  }
  // Rows that are set apart or repeat a figure do not count.
  f.counted = static_cast<std::size_t>(std::ranges::count(counted_rows(gallery), true));
  return f;
}

Gallery measure_gallery(const std::string& folder, const SearchPath& search, int workers) {
  Gallery gallery = read_gallery((fs::path(folder) / "gallery.yaml").string(), search);
  Runs runs;
  std::vector<RowRuns> needed;
  for (const Technique& t : gallery.techniques) needed.push_back(plan_row(runs, t));
  // Each scenario runs once, however many rows compare it.
  runs.prepare(folder, search);
  check_differences(gallery, needed, runs);
  const std::vector<RunResult> results = runs.results(workers);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    Technique& t = gallery.techniques[i];
    t.forecast = gain_of(needed[i].pair, results);
    note_step(t.without, results[needed[i].pair.baseline]);
    note_step(t.with, results[needed[i].pair.technique]);
    for (std::size_t k = 0; k < t.assumptions.size(); ++k) {
      t.assumptions[k].at_low = gain_of(needed[i].ends[k].first, results);
      t.assumptions[k].at_high = gain_of(needed[i].ends[k].second, results);
    }
  }
  return gallery;
}

}  // namespace stepcast
