#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "progress.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/page/pages.hpp"
#include "sweep_commands.hpp"

namespace stepcast::cli {
namespace {

constexpr std::int64_t most_swept = 1'000'000;

/// `2/8`: the second of eight.
void read_shard(const std::string& text, PointChoice& choice) {
  const std::size_t slash = text.find('/');
  const auto index = parse_count(text.substr(0, slash));
  const auto of = slash == std::string::npos ? std::nullopt : parse_count(text.substr(slash + 1));
  if (!index || !of || *index < 1 || *index > *of || *of > static_cast<double>(most_swept))
    bad_option("--shard", fmt::format("is '{}', allowed: i/n with i from 1 to n", text));
  choice.shard = static_cast<std::size_t>(*index) - 1;
  choice.shards = static_cast<std::size_t>(*of);
}

PointChoice choice_of(const SweepOptions& options) {
  PointChoice choice;
  choice.filters = options.filters;
  if (!options.shard.empty()) read_shard(options.shard, choice);
  if (!options.limit.empty())
    choice.limit = static_cast<std::size_t>(count_option("--limit", options.limit, 1, most_swept));
  return choice;
}

RowChoice rows_of(const std::string& sort, const std::string& best, const std::string& pareto) {
  RowChoice choice{sort, {}, pareto};
  if (!best.empty())
    choice.best = static_cast<std::size_t>(count_option("--best", best, 1, most_swept));
  return choice;
}

std::string listed(const Sweep& sweep, const std::vector<std::size_t>& points) {
  std::string text;
  for (const std::size_t point : points)
    text += fmt::format("{}  {}\n", point, label(point_values(sweep, point)));
  return text + fmt::format("{} of {} points\n", points.size(), point_count(sweep));
}

std::string outcome_line(const PointResult& result) {
  const std::string time =
      result.simulated() ? human(Seconds{*result.number("step_time_s")}) : name(result.status);
  return result.values + ": " + time + (result.reason.empty() ? "" : ", " + result.reason);
}

}  // namespace

Outcome shown_points(const std::string& table, const std::string& name, const PointTable& points,
                     const std::string& csv, const std::string& json) {
  if (csv == "-" && json == "-") bad_option("--csv", "and --json are both -, allowed: one of them");
  Outcome outcome = shown(csv == "-" ? points_csv(points) : table, json,
                          json.empty() ? "" : points_json(name, points));
  if (!csv.empty() && csv != "-") write_file(csv, points_csv(points));
  for (const PointResult& row : points.rows)
    if (row.status == PointStatus::failed) outcome.exit_code = internal_error;
  return outcome;
}

void write_points_page(const std::string& file, const Sweep& sweep, const PointTable& points) {
  PageTable page;
  page.name = sweep.name;
  page.question = sweep.question;
  page.columns = {"values", "status", "schedule"};
  page.columns.insert(page.columns.end(), number_names().begin(), number_names().end());
  // Efficiency exists only where sizes are compared.
  const bool compared = !points.efficiency.empty();
  if (compared) page.columns.emplace_back("efficiency");
  const auto cell = [](const std::optional<double>& number) {
    return number ? PageTable::Cell{*number} : PageTable::Cell{};
  };
  for (std::size_t i = 0; i < points.rows.size(); ++i) {
    const PointResult& point = points.rows[i];
    auto& row = page.rows.emplace_back();
    row = {point.values, std::string(stepcast::name(point.status)), point.schedule};
    for (const auto& number : point.numbers) row.push_back(cell(number));
    if (compared) row.push_back(cell(points.efficiency[i]));
  }
  for (const PublishedCurve& curve : points.published) {
    auto& line = page.published.emplace_back(PageTable::Curve{curve.name, {}});
    for (const PublishedPoint& point : curve.points)
      line.points.emplace_back(static_cast<double>(point.devices), point.efficiency);
  }
  write_file(file, sweep_page(page));
}

void refuse_without_store(bool accept_builds, const std::string& store) {
  if (accept_builds && store.empty())
    bad_option("--accept-builds", "takes rows of a store, give --store FILE too");
}

RunMissing in_processes(const std::string& workers) {
  return [count = jobs_option(workers)](SweepRun& run, const Sweep& sweep, const SearchPath& search,
                                        const auto& watch) {
    run_missing(run, sweep, count, search, watch);
  };
}

PointTable run_points(const Sweep& sweep, const std::vector<std::size_t>& points,
                      const StoreChoice& choice, const SearchPath& search,
                      const RunMissing& run_missing) {
  std::unique_ptr<Store> store;
  if (!choice.file.empty()) store = std::make_unique<Store>(choice.file, Store::Open::create);
  SweepRun run(sweep, points, search, store.get(),
               choice.accept_builds ? Store::Builds::any : Store::Builds::own);
  {
    Progress progress;
    run_missing(run, sweep, search,
                [&](const PointDone& p) { progress.step(p.done, p.of, outcome_line(p.result)); });
  }
  PointTable table{run.results(), {}};
  if (!sweep.baseline.empty()) table.efficiency = scaling_efficiency(sweep, table.rows);
  return table;
}

Outcome sweep(const SweepOptions& options, const RunMissing& run_missing) {
  const SearchPath search = default_search_path(options.presets);
  const PointChoice choice = choice_of(options);
  refuse_without_store(options.accept_builds, options.store);
  const Sweep sweep = read_sweep(options.sweep, search, options.overrides);
  const std::vector<std::size_t> points = choose_points(sweep, choice);
  if (options.dry_run) return {listed(sweep, points)};
  const RowChoice rows = rows_of(options.sort, options.best, options.pareto);
  PointTable blank{{failed_point(sweep, 0, "")}, {}};  // a wrong column is found before work begins
  if (!sweep.baseline.empty()) blank.efficiency.resize(1);
  arranged(blank, rows);
  const PointTable all =
      run_points(sweep, points, {options.store, options.accept_builds}, search, run_missing);
  const PointTable table = arranged(all, rows);
  if (!options.report.empty()) write_points_page(options.report, sweep, table);
  Outcome outcome = shown_points(points_table(table, lines_width()), sweep.name, table, options.csv,
                                 options.json);
  // A point that failed is not hidden by the choice of rows.
  if (std::ranges::count(all.rows, PointStatus::failed, &PointResult::status) > 0)
    outcome.exit_code = internal_error;
  return outcome;
}

Outcome sweep(const SweepOptions& options) { return sweep(options, in_processes(options.workers)); }

Outcome results(const ResultsOptions& options) {
  const std::vector<std::string>& names = options.stores;
  // `merge` takes the place of a store's name; a store of that name can be given as ./merge.
  if (names.front() != "merge") {
    if (names.size() > 1) bad_option(names[1], "is one store too many, allowed: one, or merge");
    const Store store(names.front(), Store::Open::existing);
    const PointTable table = arranged({store.rows(options.where), {}},
                                      rows_of(options.sort, options.best, options.pareto));
    return shown_points(points_table(table, lines_width()), "", table, options.csv, options.json);
  }
  for (const std::string& given : {options.sort, options.best, options.pareto})
    if (!given.empty())
      bad_option("merge", "takes all rows, allowed: without --sort, --best, --pareto");
  if (names.size() < 3) bad_option("merge", "needs a target and at least one store to take from");
  std::vector<PointResult> rows;
  for (std::size_t i = 2; i < names.size(); ++i) {
    const std::vector<PointResult> more =
        Store(names[i], Store::Open::existing).rows(options.where);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  // Rows have keys of what they are of: of two equal ones the later stays.
  Store(names[1], Store::Open::create).put(rows);
  return {
      fmt::format("{}: took {} rows from {} stores\n", names[1], rows.size(), names.size() - 2)};
}

}  // namespace stepcast::cli
