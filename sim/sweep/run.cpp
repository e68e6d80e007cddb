#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "stepcast/base/build.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/sweep/sweep_run.hpp"

namespace stepcast {
namespace {

std::string one_line(std::string text) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at))
    text.replace(at, 1, "; ");
  return text;
}

/// The document as a text that tells any two apart, without places.
void append_text(const Node& node, std::string& text) {
  // Kinds, quotes and ends are written, too: `"1"` is not `1`, and `a: [b]` not `a: b`.
  text += static_cast<char>('0' + static_cast<int>(node.kind));
  text += node.text + (node.quoted ? "\"" : "") + "\n";
  for (const Node& item : node.items) append_text(item, text);
  for (const Node::Entry& entry : node.entries) {
    text += entry.key + ":\n";
    append_text(entry.value, text);
  }
  text += ".\n";
}

PointResult blank(const Sweep& sweep, std::size_t point) {
  PointResult result{.version = version,
                     .fingerprint = build_fingerprint(),
                     .sweep = sweep.name,
                     .point = static_cast<std::int64_t>(point),
                     .values = label(point_values(sweep, point))};
  for (const PointValue& v : point_values(sweep, point))
    result.varied.emplace_back(v.path, plain_value(v.text));
  result.numbers.resize(number_names().size());
  return result;
}

/// A point that cannot be read has the hash of what was to be read.
PointResult invalid(const Sweep& sweep, std::size_t point, const std::string& why) {
  PointResult result = blank(sweep, point);
  result.status = PointStatus::invalid;
  result.reason = one_line(why);
  std::string text = "invalid\n" + result.values + "\n";
  append_text(sweep.base.root, text);
  result.key = sha256(text);
  return result;
}

/// Results of several seeds are not those of one.
std::string key_of(const Sweep& sweep, const std::string& sha256_of_scenario) {
  if (sweep.seeds == 0) return sha256_of_scenario;
  return sha256(fmt::format("{}\nseeds={}\n", sha256_of_scenario, sweep.seeds));
}

/// A point that does not fit has no step worth knowing, except where others are compared with it.
bool asks_memory_first(const Sweep& sweep) { return sweep.baseline.empty(); }

/// The key of a row without a step, which must not stand in for one that has it.
std::string without_step(const std::string& key) { return sha256(key + "\nmemory first\n"); }

/// True where the point does not fit and that is all that is asked.
bool fill_memory(PointResult& result, const Scenario& scenario) {
  const Forecast stages = memory_forecast(scenario);
  result.reason = memory_excess(stages);
  if (result.reason.empty()) return false;
  result.status = PointStatus::out_of_memory;
  result.numbers = numbers_without_step(numbers_of(scenario, stages));
  return true;
}

void fill(PointResult& result, const Sweep& sweep, const Scenario& scenario) {
  result.key = key_of(sweep, scenario.sha256);
  result.schedule = scenario.schedule.pipeline;
  // Memory first when only feasible points are wanted: it costs no simulation.
  if (asks_memory_first(sweep) && fill_memory(result, scenario)) return;
  std::optional<SeedStatistics> seeds;
  if (sweep.seeds > 0) seeds = seed_statistics(scenario, run_seeds(scenario, sweep.seeds, 1));
  Forecast outcome = forecast(scenario);
  outcome.seeds = seeds;
  result.numbers = numbers_of(scenario, outcome);
  result.reason = memory_excess(outcome);
  if (!result.reason.empty()) result.status = PointStatus::out_of_memory;
}

}  // namespace

// Invalid points are rows as well, so that a sweep of many combinations runs to its end.
PointResult simulate_point(const Sweep& sweep, std::size_t point, const SearchPath& search) {
  PointResult result = blank(sweep, point);
  try {
    fill(result, sweep,
         prepare_scenario(point_document(sweep, point), search, IdleAlgorithms::kept));
    // What the point cannot be is an answer; what breaks in the program is kept apart.
  } catch (const InputError& error) {
    return invalid(sweep, point, error.what());
  } catch (const std::exception& error) {
    return failed_point(sweep, point, error.what());
  }
  return result;
}

PointResult failed_point(const Sweep& sweep, std::size_t point, const std::string& why) {
  PointResult result = blank(sweep, point);
  result.status = PointStatus::failed;
  result.reason = one_line(why);
  return result;
}

SweepRun::SweepRun(const Sweep& sweep, std::vector<std::size_t> points, const SearchPath& search,
                   Store* store, Store::Builds builds)
    : sweep_{sweep}, store_{store}, points_{std::move(points)}, results_(points_.size()) {
  std::map<std::string, std::size_t> first;
  for (std::size_t place = 0; place < points_.size(); ++place) {
    const std::size_t point = points_[place];
    std::optional<PointResult> wrong;
    try {
      // Points are told apart by the meaning of their scenarios: two that say the same in other
      // words are one.
      keys_.push_back(key_of(sweep, read_scenario(point_document(sweep, point), search).sha256));
    } catch (const InputError& error) {
      wrong = invalid(sweep, point, error.what());
      keys_.push_back(wrong->key);
    }
    const bool again = !first.emplace(keys_.back(), place).second;
    const auto row = again ? std::nullopt : stored(keys_.back(), builds);
    if (row) {
      note(place, *row);
      results_[place]->key = keys_.back();
      // A store has each scenario once, under the first sweep and point of all that asked for it,
      // whichever ran first.
      if (row->of_this_build() &&
          std::pair(sweep.name, results_[place]->point) < std::pair(row->sweep, row->point)) {
        PointResult first_of_it = *results_[place];
        first_of_it.key = row->key;
        first_of_it.numbers = row->numbers;
        store_->put(first_of_it);
      }
    } else if (wrong) {
      if (store_) store_->put(*wrong);
      results_[place] = std::move(wrong);
    } else if (!again) {
      missing_.push_back(point);
    }
  }
}

/// A row with its step serves every sweep, one without it those that look at memory first.
std::optional<PointResult> SweepRun::stored(const std::string& key, Store::Builds builds) const {
  if (store_ == nullptr) return {};
  auto row = store_->find(key, builds);
  if (!row && asks_memory_first(sweep_)) row = store_->find(without_step(key), builds);
  return row;
}

/// A row as this sweep has it at that place.
void SweepRun::note(std::size_t place, const PointResult& result) {
  PointResult own = blank(sweep_, points_[place]);
  own.key = result.key;
  own.version = result.version;
  own.fingerprint = result.fingerprint;
  own.status = result.status;
  own.reason = result.reason;
  own.schedule = result.schedule;
  own.numbers = result.numbers;
  // what a store knows of a step that this sweep does not ask for would make its rows differ
  if (own.status == PointStatus::out_of_memory && asks_memory_first(sweep_))
    own.numbers = numbers_without_step(std::move(own.numbers));
  results_[place] = std::move(own);
}

void SweepRun::add(const PointResult& result) {
  const auto found = std::ranges::lower_bound(points_, static_cast<std::size_t>(result.point));
  expects(found != points_.end(), "a result is of a point of the run");
  note(static_cast<std::size_t>(found - points_.begin()), result);
  // What failed may have failed by the machine (memory, a signal): the next run tries again.
  if (!store_ || result.status == PointStatus::failed) return;
  PointResult kept = result;
  if (kept.status == PointStatus::out_of_memory && !kept.simulated())
    kept.key = without_step(kept.key);
  store_->put(kept);
}

std::vector<PointResult> SweepRun::results() const {
  std::map<std::string, std::size_t> first;
  std::vector<PointResult> all;
  for (std::size_t place = 0; place < points_.size(); ++place) {
    const std::size_t source = first.emplace(keys_[place], place).first->second;
    // A point that is the same scenario as an earlier one was not simulated again.
    const auto& result = results_[place] ? results_[place] : results_[source];
    expects(result.has_value(), "every missing point was simulated");
    all.push_back(*result);
    all.back().point = static_cast<std::int64_t>(points_[place]);
    const PointResult own = blank(sweep_, points_[place]);
    all.back().values = own.values;
    all.back().varied = own.varied;
  }
  return all;
}

void run_missing(SweepRun& run, const Sweep& sweep, int workers, const SearchPath& search,
                 const std::function<void(const PointDone&)>& watch) {
  const std::vector<std::size_t>& missing = run.missing();
  std::size_t done = 0;
  const auto job = [&](std::size_t i) {
    return to_line(simulate_point(sweep, missing[i], search));
  };
  run_in_workers(missing.size(), workers, job, [&](const WorkerAnswer& answer) {
    const PointResult result = answer.failed()
                                   ? failed_point(sweep, missing[answer.index], answer.failure)
                                   : from_line(answer.text);
    run.add(result);
    watch({result, ++done, missing.size()});
  });
}

std::vector<std::optional<double>> scaling_efficiency(const Sweep& sweep,
                                                      const std::vector<PointResult>& results) {
  const auto rate = [](const PointResult& r) -> std::optional<double> {
    if (!r.simulated()) return {};
    const auto mean = r.number("step_time_mean_s");
    // Rates are of the scenario's own draw; the mean over seeds is what a long run sees.
    const double of_mean = mean ? *r.number("step_time_s") / *mean : 1;
    // Given times have samples, but nobody said how many tokens are in one.
    if (const auto tokens = r.number("tokens_per_s_per_device")) return *tokens * of_mean;
    return *r.number("samples_per_s") / *r.number("devices") * of_mean;
  };
  std::vector<std::optional<double>> all;
  for (const PointResult& result : results) {
    const auto base = baseline_point(sweep, static_cast<std::size_t>(result.point));
    const auto found = base ? std::ranges::lower_bound(results, static_cast<std::int64_t>(*base),
                                                       {}, &PointResult::point)
                            : results.end();
    const bool there = found != results.end() && found->point == static_cast<std::int64_t>(*base);
    const auto own = rate(result), other = there ? rate(*found) : std::nullopt;
    all.push_back(own && other ? std::optional{*own / *other} : std::nullopt);
  }
  return all;
}

}  // namespace stepcast
