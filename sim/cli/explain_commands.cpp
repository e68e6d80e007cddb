#include "command_line.hpp"
#include "option.hpp"
#include "progress.hpp"
#include "stepcast/sim/explain/explain.hpp"
#include "stepcast/sim/explain/loss.hpp"
#include "stepcast/sim/forecast/seeds.hpp"
#include "stepcast/sim/import/launched.hpp"
#include "stepcast/sim/page/pages.hpp"
#include "stepcast/sim/report/lines.hpp"

namespace stepcast::cli {

namespace {

struct ExplainOptions : PresetOptions {
  std::string scenario;
  LaunchOptions launch;                ///< its devices stand in `devices`
  std::vector<std::string> overrides;  ///< --set
  std::string json, svg;               ///< as for run
  std::string report;                  ///< page; empty: none
  std::string top = "12", workers;     ///< empty: as many as there are processors
  std::string devices, seeds;          ///< two sizes between which efficiency is lost
  bool strong = false;                 ///< the global batch stays between them
};

/// `256,4096`.
std::vector<std::int64_t> two_sizes(const std::string& text) {
  constexpr std::int64_t most_devices = 1 << 20;
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos || text.find(',', comma + 1) != std::string::npos)
    bad_option("--devices", "is '" + text + "', allowed: two sizes such as 256,4096");
  const std::int64_t small = count_option("--devices", text.substr(0, comma), 1, most_devices);
  const std::int64_t large = count_option("--devices", text.substr(comma + 1), 1, most_devices);
  if (small >= large)
    bad_option("--devices", "is '" + text + "', allowed: the smaller size first, then a larger");
  return {small, large};
}

Outcome explain_loss(const ExplainOptions& options, int workers) {
  const SearchPath search = default_search_path(options.presets);
  const std::vector<std::int64_t> sizes = two_sizes(options.devices);
  Sweep sweep = devices_sweep(
      sized_scenario(options.scenario, options.overrides, options.launch, sizes.front(), search),
      sizes, !options.strong, search);
  if (!options.svg.empty())
    bad_option("--svg", "is given with --devices, which draws nothing, allowed: one of them");
  if (!options.report.empty())
    bad_option("--report", "is given with --devices, which has no page, allowed: one of them");
  if (!options.seeds.empty())
    sweep.seeds = seeds_option(options.seeds,
                               draws_for_seeds(read_scenario(point_document(sweep, 0), search)));
  const LossSplit split = split_loss(sweep, search, workers);
  return shown(loss_table(split), options.json, options.json.empty() ? "" : loss_json(split));
}

Outcome explain(const ExplainOptions& options) {
  constexpr std::int64_t most_rows = 1000;
  const std::int64_t top = count_option("--top", options.top, 1, most_rows);
  const int workers = jobs_option(options.workers);
  const SearchPath search = default_search_path(options.presets);
  LaunchOptions launch = options.launch;
  // Two sizes ask why the larger one loses; one number is the size of a launch file.
  if (is_launched(options.scenario, options.overrides, search) &&
      options.devices.find(',') == std::string::npos)
    launch.devices = options.devices;
  else if (!options.devices.empty())
    return explain_loss(options, workers);
  if (options.strong || !options.seeds.empty())
    bad_option(options.strong ? "--strong" : "--seeds", "says how sizes compare, give --devices");
  std::vector<std::string> warnings;
  const Scenario scenario =
      scenario_option(options.scenario, options.overrides, launch, search, warnings);
  const PhaseProgress progress("explain");
  const Explanation found = stepcast::explain(scenario, workers);
  const auto rows = static_cast<std::size_t>(top);
  if (options.svg == "-") return {.text = tornado_svg(scenario, found, rows), .warnings = warnings};
  if (!options.svg.empty()) write_file(options.svg, tornado_svg(scenario, found, rows));
  // Explanations are large: text and page want them only where they are written.
  const bool written = !options.json.empty() || !options.report.empty();
  const std::string json = written ? explanation_json(scenario, found) : "";
  if (!options.report.empty())
    write_file(options.report,
               study_page("explain",
                          {scenario.name, "What bounds the step, and what would help",
                           explanation_text(scenario, found)},
                          json));
  Outcome outcome =
      shown(folded(explanation_table(scenario, found, rows), lines_width()), options.json, json);
  outcome.warnings = std::move(warnings);
  return outcome;
}

}  // namespace

void add_explain_commands(CommandLine& line) {
  const auto [sub, options] =
      line.command(explain, "explain", "what bounds the step, and what would shorten it",
                   "stepcast explain telechat3-36b-2048.yaml --svg buy.svg");
  required(sub, "scenario SCENARIO", options->scenario,
           "scenario or launch file, - for standard input");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::presets_of(sub, options->overrides);
  CommandLine::launch_kind(sub, options->launch);
  CommandLine::json(sub, options->json);
  option(sub, "--report FILE", options->report, "write a page that shows it (.html)");
  option(sub, "--svg FILE", options->svg, "write the tornado chart, - for stdout");
  option(sub, "--devices A,B", options->devices,
         "two sizes, 256,4096: why the larger one is less efficient, instead; or the size "
         "of a launch file's job");
  option(sub, "--seeds N", options->seeds, "with --devices: means over so many seeds");
  sub->add_flag("--strong", options->strong, "with --devices: keep the global batch");
  option(sub, "--top N", options->top, "rows of each list");
  option(sub, "-j,--jobs,--workers N", options->workers,
         "processes at a time, default: all processors");
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
