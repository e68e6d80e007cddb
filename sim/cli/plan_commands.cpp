#include <CLI/CLI.hpp>

#include "command_line.hpp"
#include "plan.hpp"

namespace stepcast::cli {

void add_plan_commands(CommandLine& line) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* sub = line.command(
      "plan", "search parallel strategies and simulate the best",
      "stepcast plan scenarios/plans/gpt3-175b-512.yaml --output winner.yaml", [options, &line] {
        options->verbose = line.verbose();
        return plan(*options);
      });
  sub->add_option("scenario", options->scenario,
                  "scenario file whose keys may hold lists or the word search")
      ->required()
      ->type_name("SCENARIO");
  sub->add_option("--devices", options->devices, "numbers of devices to try, 512,1024")
      ->delimiter(',')
      ->type_name("N");
  sub->add_option("--top", options->top, "points to simulate at least")->type_name("K");
  sub->add_option("-j,--jobs", options->jobs, "processes at a time (default: processors)")
      ->type_name("N");
  sub->add_option("--store", options->store, "keep answers here: a search that was ended goes on")
      ->type_name("FILE");
  sub->add_option("--output", options->output, "write the best point as a scenario")
      ->type_name("FILE");
  sub->add_option("--report", options->report, "write a page that shows the frontier (.html)")
      ->type_name("FILE");
  sub->add_option("--csv", options->csv, "write all timed points, - for stdout")->type_name("FILE");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::presets_of(sub, options->overrides);
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
