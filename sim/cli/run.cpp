#include <sys/resource.h>

#include <chrono>

#include "commands.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/page/report_page.hpp"
#include "stepcast/sim/report/report.hpp"
#include "stepcast/sim/report/step_trace.hpp"
#include "stepcast/sim/report/trace.hpp"
#include "text_file.hpp"

namespace stepcast::cli {
namespace {

std::uint64_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

constexpr std::size_t table_width = 100;

/// Writes the files that show the run itself; returns the drawing for the terminal.
std::string show_run(const RunOptions& options, const Scenario& scenario) {
  const bool all = !options.report.empty() || !options.step_trace.empty() || options.pipeline;
  constexpr std::int64_t most_classes = 1 << 20;
  const auto ranks = static_cast<std::uint32_t>(
      count_option("--trace-ranks", options.trace_ranks, 1, most_classes));
  RecordedRun run = record(scenario, all ? Recording::none : ranks);
  if (!options.report.empty()) write_file(options.report, report_page(scenario, run));
  if (!options.step_trace.empty()) write_file(options.step_trace, step_trace_csv(scenario, run));
  std::string drawing = options.pipeline ? "\n" + pipeline_text(run, table_width, colours()) : "";
  if (!options.trace.empty()) {
    write_pieces(options.trace, Form::by_name,
                 [&](const auto& out) { write_trace(scenario, run, ranks, out); });
  }
  return drawing;
}

/// In a process of its own, before the run whose result counts: a process makes at most one.
std::string shown_run(const RunOptions& options, const Scenario& scenario) {
  std::string drawing;
  const auto keep = [&](const WorkerAnswer& answer) {
    if (answer.failed()) throw InputError(answer.failure);
    drawing = answer.text;
  };
  run_in_workers(
      1, 1, [&](std::size_t) { return show_run(options, scenario); }, keep);
  return drawing;
}

}  // namespace

Outcome run(const RunOptions& options) {
  std::vector<std::string> imported;
  const Scenario scenario = scenario_option(options.scenario, options.overrides, options.launch,
                                            default_search_path(options.presets), imported);
  const std::string drawing = options.records() ? shown_run(options, scenario) : "";
  const auto begin = std::chrono::steady_clock::now();
  const Forecast result = forecast(scenario);
  std::optional<RunTiming> timing;
  if (options.timing) {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    timing = {wall.count(), peak_rss()};
  }

  Outcome outcome = shown(report_table(scenario, result, timing, colours()) + drawing, options.json,
                          options.json.empty() ? "" : report_json(scenario, result, timing));
  outcome.warnings = std::move(imported);
  if (!result.fits_memory()) {
    outcome.warnings.push_back(scenario.name + " does not fit into device memory");
    if (options.fail_on_oom) outcome.exit_code = check_failed;
  }
  return outcome;
}

}  // namespace stepcast::cli
