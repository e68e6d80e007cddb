#include <CLI/CLI.hpp>

#include "command_line.hpp"
#include "progress.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/study/explain.hpp"

namespace stepcast::cli {

Outcome explain(const ExplainOptions& options) {
  constexpr std::int64_t most_rows = 1000, most_workers = 1024;
  const std::int64_t top = count_option("--top", options.top, 1, most_rows);
  const std::int64_t workers = options.workers.empty()
                                   ? usable_processors()
                                   : count_option("-j", options.workers, 1, most_workers);
  const Scenario scenario =
      prepare_scenario(options.scenario, options.overrides, default_search_path(options.presets));
  const PhaseProgress progress("explain");
  const Explanation found = stepcast::explain(scenario, static_cast<int>(workers));
  const auto rows = static_cast<std::size_t>(top);
  if (options.svg == "-") return {tornado_svg(scenario, found, rows)};
  if (!options.svg.empty()) write_file(options.svg, tornado_svg(scenario, found, rows));
  return shown(explanation_table(scenario, found, rows), options.json,
               options.json.empty() ? "" : explanation_json(scenario, found));
}

void add_explain_commands(CommandLine& line) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* sub = line.command("explain", "what bounds the step, and what would shorten it",
                               "stepcast explain scenarios/telechat3-36b-2048.yaml --svg buy.svg",
                               [options] { return explain(*options); });
  sub->add_option("scenario", options->scenario, "scenario file, - for standard input")
      ->required()
      ->type_name("SCENARIO");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::json(sub, options->json);
  sub->add_option("--svg", options->svg, "write the tornado chart, - for stdout")
      ->type_name("FILE");
  sub->add_option("--top", options->top, "rows of each list")->type_name("N");
  sub->add_option("-j,--workers", options->workers, "processes at a time, default: all processors")
      ->type_name("N");
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
