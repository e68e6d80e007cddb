#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "commands.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/reference_world.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/page/pages.hpp"
#include "stepcast/sim/report/kernel_trace.hpp"
#include "stepcast/sim/report/lines.hpp"
#include "stepcast/sim/report/report.hpp"
#include "stepcast/sim/report/run_operators.hpp"
#include "stepcast/sim/report/trace.hpp"
#include "stepcast/sim/scenario/checks.hpp"

namespace stepcast::cli {
namespace {

/// One change of a scenario with which its step fits into memory.
struct WayToFit {
  std::string setting;             ///< `training.recompute=full`, as --set takes it
  double step_time = 0, peak = 0;  ///< [s], [bytes]
};

constexpr std::size_t ways_named = 2;

std::string setting_text(const char* key, std::int64_t value) {
  return fmt::format("{}={}", key, value);
}

/// Changes that make a step smaller, one key each; what is not allowed is found by trying.
std::vector<std::string> smaller_steps(const Scenario& scenario) {
  using Recompute = TrainingSpec::Recompute;
  const ParallelPlan& plan = scenario.workload.plan;
  const TrainingSpec& training = scenario.workload.training;
  std::vector<std::string> all;
  if (training.recompute == Recompute::none) all.emplace_back("training.recompute=selective");
  if (training.recompute != Recompute::full) all.emplace_back("training.recompute=full");
  for (std::int64_t zero = plan.zero + 1; zero <= 3; ++zero)
    all.push_back(setting_text("parallel.zero", zero));
  if (training.micro_batch % 2 == 0)
    all.push_back(setting_text("training.micro_batch", training.micro_batch / 2));
  // Twice as many may not be enough; tensor ranks stay inside a node.
  for (std::int64_t tp = 2 * plan.tp; tp <= scenario.cluster.node_devices; tp *= 2)
    all.push_back(setting_text("parallel.tp", tp));
  for (const std::int64_t pp : {2 * plan.pp, 4 * plan.pp})
    all.push_back(setting_text("parallel.pp", pp));
  if (scenario.workload.model.moe) all.push_back(setting_text("parallel.ep", 2 * plan.ep));
  if (!plan.sequence_parallel && plan.tp > 1) all.emplace_back("parallel.sequence_parallel=true");
  return all;
}

std::string tried_text(const RunOptions& options, const std::vector<std::string>& settings) {
  std::vector<std::string> overrides = options.overrides, unused;
  overrides.insert(overrides.end(), settings.begin(), settings.end());
  const Scenario scenario = scenario_option(options.scenario, overrides, options.launch,
                                            default_search_path(options.presets), unused);
  // Settings that are refused throw here and are no way to fit.
  const Forecast result = forecast(scenario);
  double peak = 0;
  for (const StageForecast& stage : result.stages)
    if (stage.memory) peak = std::max(peak, stage.memory->peak().value());
  if (!result.fits_memory()) return "-";
  return shortest(result.step_time.value()) + " " + shortest(peak);
}

/// Those that fit, the fastest first.
std::vector<WayToFit> tried(const RunOptions& options,
                            const std::vector<std::vector<std::string>>& changes) {
  std::vector<WayToFit> ways;
  const auto job = [&](std::size_t i) -> std::string {
    try {
      return tried_text(options, changes[i]);
    } catch (const InputError&) {  // not allowed here
      return "-";
    }
  };
  run_in_workers(changes.size(), jobs_option(options.jobs), job, [&](const WorkerAnswer& answer) {
    if (answer.failed()) return;
    std::istringstream text(answer.text);
    std::string step, peak;
    if (!(text >> step >> peak)) return;
    std::string setting;
    for (const std::string& one : changes[answer.index])
      setting += (setting.empty() ? "" : " --set ") + one;
    ways.push_back({std::move(setting), *parse_number(step), *parse_number(peak)});
  });
  std::ranges::stable_sort(ways, {}, &WayToFit::step_time);
  if (ways.size() > ways_named) ways.resize(ways_named);
  return ways;
}

/// The cheapest ways to fit, tried: those of one change that fit and lose least time, at most two,
/// and of two changes where no single one is enough. Each is simulated in a process of its own.
std::vector<WayToFit> ways_to_fit(const RunOptions& options, const Scenario& scenario) {
  if (scenario.synthetic || options.scenario == "-") return {};
  const std::vector<std::string> single = smaller_steps(scenario);
  std::vector<std::vector<std::string>> changes;
  changes.reserve(single.size());
  // Single changes first: whoever reads the answer wants the smallest one.
  for (const std::string& one : single) changes.push_back({one});
  if (std::vector<WayToFit> ways = tried(options, changes); !ways.empty()) return ways;
  const auto full = std::ranges::find(single, std::string("training.recompute=full"));
  if (full == single.end()) return {};
  // Full recomputation frees most: it goes with every other change before two sizes change at once.
  changes.clear();
  for (const std::string& other : single)
    if (!other.starts_with("training.recompute")) changes.push_back({*full, other});
  return tried(options, changes);
}

/// What a run says of them, beside a step of `step_time`.
std::string ways_text(const std::vector<WayToFit>& ways, double step_time) {
  if (ways.empty())
    return "  It does not fit with one smaller size or with full recomputation beside it; stepcast "
           "plan searches\n  further.\n";
  std::string text = "  The cheapest ways to fit, tried:\n";
  for (const WayToFit& way : ways)
    text += fmt::format("    --set {:<40} {} ({:+.1f} %), {}\n", way.setting,
                        human(Seconds{way.step_time}), 100 * (way.step_time / step_time - 1),
                        human(Bytes{way.peak}));
  return text;
}

std::uint64_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// Refuses what asks for two texts in the place of the table, and what does nothing.
void check_texts(const RunOptions& options) {
  if (options.kernel_details.empty() && !options.kernel_rank.empty())
    bad_option("--kernel-rank", "is given without --kernel-details");
  if (options.operators_csv != "-") return;
  if (options.json == "-")
    bad_option("--operators-csv", "and --json are both -, allowed: one of them");
  if (options.operators || options.pipeline || options.keys)
    bad_option("--operators-csv", "is -, allowed: without --operators, --pipeline and --keys");
}

constexpr std::size_t table_width = 100;

constexpr std::size_t operators_shown = 12;  ///< of each stage

/// A rank of the job; every rank must be recorded to have one that is not the first of its like.
Rank rank_option(const std::string& text, const Scenario& scenario) {
  if (text.empty()) return Rank{0};
  const std::int64_t last = scenario.workload.plan.world() - 1;
  return Rank{static_cast<std::uint32_t>(count_option("--kernel-rank", text, 0, last))};
}

/// What a recorded run shows on the terminal, and beside `result` in JSON.
struct RunShown {
  std::string text, fields;  ///< `fields` are empty, or a JSON object
  /// Of the run without a recording, where recording changed nothing of it.
  std::optional<Forecast> forecast = {};
};

/// What is asked for as text stands in JSON, too.
std::string fields_of(const RunOptions& options, const Scenario& scenario, const RecordedRun& run,
                      const std::vector<RunOperator>& operators) {
  if (options.json.empty() || (!options.pipeline && !options.operators)) return {};
  return run_fields_json(options.pipeline ? pipeline_text(run, table_width, false) : "",
                         options.pipeline ? timeline_json(scenario, run) : "",
                         options.operators ? &operators : nullptr);
}

/// Writes the files that show the run itself.
RunShown show_run(const RunOptions& options, const Scenario& scenario) {
  const bool operators = options.operators || !options.operators_csv.empty();
  constexpr std::int64_t most_classes = 1 << 20;
  const auto ranks = static_cast<std::uint32_t>(
      count_option("--trace-ranks", options.trace_ranks, 1, most_classes));
  // The table of the profiling tools has a row for every rank.
  const bool all = !options.step_trace.empty() || !options.kernel_rank.empty();
  RecordedRun run = record(scenario, all ? RecordedClasses{} : RecordedClasses{.first = ranks});
  if (!options.report.empty()) write_file(options.report, report_page(scenario, run));
  if (!options.step_trace.empty()) write_file(options.step_trace, step_trace_csv(scenario, run));
  std::string drawing = options.pipeline ? "\n" + pipeline_text(run, table_width, colours()) : "";
  if (!options.kernel_details.empty()) {
    const Rank rank = rank_option(options.kernel_rank, scenario);
    write_file(options.kernel_details, kernel_details_csv(kernel_trace(scenario, run, rank), rank));
  }
  std::vector<RunOperator> list;
  if (operators) list = run_operators(scenario, run);
  if (options.operators) drawing += run_operators_table(list, operators_shown);
  if (options.operators_csv == "-") drawing = run_operators_csv(list);
  if (!options.operators_csv.empty() && options.operators_csv != "-")
    write_file(options.operators_csv, run_operators_csv(list));
  if (!options.trace.empty()) {
    write_pieces(options.trace, Form::by_name,
                 [&](const auto& out) { write_trace(scenario, run, ranks, out); });
  }
  RunShown shown{drawing, fields_of(options, scenario, run, list)};
  if (run.exact) shown.forecast = std::move(run.forecast);
  return shown;
}

/// Before the run whose result counts. A process makes at most one run in which SimGrid shares
/// flows, and what a forecast takes is told of one by itself: then in a process of its own.
RunShown shown_run(const RunOptions& options, const Scenario& scenario) {
  if (!needs_simgrid(scenario) && !options.timing) return show_run(options, scenario);
  RunShown shown;
  const auto keep = [&](const WorkerAnswer& answer) {
    if (answer.failed()) throw_failure("the recorded run", answer);
    const std::size_t end = answer.text.find('\n');  // a JSON object has none inside
    shown = {answer.text.substr(end + 1), answer.text.substr(0, end)};
  };
  const auto show = [&](std::size_t) {
    const RunShown made = show_run(options, scenario);
    return made.fields + "\n" + made.text;
  };
  run_in_workers(1, 1, show, keep);
  return shown;
}

/// The result with what else was asked for.
std::string with_fields(std::string report, const std::string& fields) {
  return fields.empty() ? std::move(report) : with_run_fields(report, fields);
}

/// The steps of the seeds that are asked for.
std::optional<SeedRuns> seeds_of(const RunOptions& options, const Scenario& scenario) {
  if (options.seeds.empty()) return {};
  const std::int64_t count = seeds_option(options.seeds, draws_for_seeds(scenario));
  return run_seeds(scenario, count, jobs_option(options.jobs));
}

/// How many steps of changing loads are asked for, 0: none. Refuses what cannot be run, before
/// anything is.
std::int64_t load_steps_option(const RunOptions& options, const Scenario& scenario) {
  if (options.load_steps.empty()) return 0;
  const bool experts = !scenario.synthetic && scenario.workload.model.moe;
  if (!experts || !loads_change(scenario.workload))
    bad_option(
        "--load-steps",
        "is given but loads of experts are the same in every step, allowed with "
        "moe.routing zipf and a lifetime, random, or a file of several steps, where ep > 1 or "
        "moe.capacity_factor is given");
  const std::int64_t most = std::min(most_load_steps, load_steps_left(scenario));
  return count_option("--load-steps", options.load_steps, 1, most);
}

/// What a recording shows: the median seed of several.
Scenario shown_scenario(const Scenario& scenario, const std::optional<SeedRuns>& seeds) {
  Scenario shown = seeds ? with_drawn_fleet(scenario) : scenario;
  if (seeds) shown.stalls = with_seeds(shown.stalls, static_cast<std::int64_t>(seeds->median()));
  return shown;
}

void graph_option(const RunOptions& options, const Scenario& scenario,
                  std::vector<std::string>& imported) {
  if (!options.graph.empty()) write_graph(options.graph, options.graph_ranks, scenario, imported);
  if (options.graph.empty() && !options.graph_ranks.empty())
    bad_option("--graph-ranks", "is given without --graph");
}

/// SimGrid ends the process where it cannot write: the file is made before.
void paje_option(const RunOptions& options, const Scenario& scenario) {
  if (options.paje.empty()) return;
  if (scenario.simulate.engine != StepEngine::simgrid)
    bad_option("--paje",
               "is what SimGrid does, which the fast engine does not ask, allowed: with "
               "--engine simgrid");
  if (options.paje == "-") bad_option("--paje", "is -, allowed: a file");
  write_file(options.paje, "");
}

/// Which memory a forecast that does not fit asks too much of.
std::string full_memory(const Forecast& forecast) {
  const bool host = std::ranges::all_of(forecast.stages, [](const StageForecast& stage) {
    return !stage.memory || stage.memory->peak() <= stage.memory->capacity;
  });
  return host ? "host memory" : "device memory";
}

}  // namespace

std::int64_t seeds_option(const std::string& text, bool draws) {
  const std::int64_t count = count_option("--seeds", text, 1, most_seeds);
  if (!draws)
    bad_option("--seeds",
               "is given but nothing is drawn, allowed with cluster.fleet, stalls.spread, "
               "compute_jitter, gc_pauses or allocator_pauses");
  return count;
}

Outcome run(const RunOptions& options) {
  check_texts(options);
  std::vector<std::string> imported;
  begin_phase("reading");
  const Scenario scenario = scenario_option(options.scenario, options.overrides, options.launch,
                                            default_search_path(options.presets), imported);
  // All options that can be wrong are looked at before the first simulation.
  rank_option(options.kernel_rank, scenario);
  paje_option(options, scenario);
  const std::int64_t load_steps = load_steps_option(options, scenario);
  graph_option(options, scenario, imported);
  const std::optional<SeedRuns> seeds = seeds_of(options, scenario);
  RunShown recorded;
  // Recording runs once more beside the forecast where it skips less, or shows another seed.
  if (options.records()) recorded = shown_run(options, shown_scenario(scenario, seeds));
  if (options.records() && !seeds && options.operators_csv != "-" && counts_fleet(scenario))
    recorded.text += "  What is drawn or written of the run shows one step of equal devices.\n";
  std::string& drawing = recorded.text;
  std::optional<LoadSteps> steps;
  if (load_steps > 0) steps = run_load_steps(scenario, load_steps, jobs_option(options.jobs));
  const auto begin = std::chrono::steady_clock::now();
  // SimGrid opens its trace before its first activity and cannot do so later.
  if (!options.paje.empty()) trace_reference_world(options.paje);
  Forecast result =
      recorded.forecast && !seeds ? std::move(*recorded.forecast) : forecast(scenario);
  result.load_steps = steps;
  if (seeds) {
    result.seeds = seed_statistics(scenario, *seeds);
    if (options.records())
      drawing +=
          fmt::format("  What is drawn or written of the run shows seed {}, the median of {}.\n",
                      result.seeds->median_seed, result.seeds->count);
  }
  std::optional<RunTiming> timing;
  if (options.timing) {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    timing = {wall.count(), peak_rss()};
  }

  begin_phase("writing the report");
  const bool csv = options.operators_csv == "-";
  if (options.keys) drawing = framework_keys_text(scenario) + drawing;
  Outcome outcome = shown(
      csv ? drawing
          : folded(report_table(scenario, result, timing, colours()), lines_width()) + drawing,
      options.json,
      options.json.empty() ? ""
                           : with_fields(report_json(scenario, result, timing), recorded.fields));
  outcome.warnings = std::move(imported);
  // What does not fit is still forecast: the warning and ways to fit come with the time.
  if (!result.fits_memory()) {
    outcome.warnings.push_back(scenario.name + " does not fit into " + full_memory(result));
    if (options.json != "-" && !csv)
      outcome.text += ways_text(ways_to_fit(options, scenario), result.step_time.value());
    if (options.fail_on_oom) outcome.exit_code = check_failed;
  }
  return outcome;
}

}  // namespace stepcast::cli
