#include "command_line.hpp"
#include "option.hpp"
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
  required(sub, "scenario SCENARIO", options->scenario,
           "scenario file whose keys may hold lists or the word search");
  sub->add_option("--devices", options->devices, "numbers of devices to try, 512,1024")
      ->delimiter(',')
      ->type_name("N");
  option(sub, "--top K", options->top, "points to simulate at least");
  CommandLine::jobs(sub, options->jobs);
  option(sub, "--store FILE", options->store, "keep answers here: a search that was ended goes on");
  option(sub, "--output FILE", options->output, "write the best point as a scenario");
  option(sub, "--report FILE", options->report, "write a page that shows the frontier (.html)");
  option(sub, "--csv FILE", options->csv, "write all timed points, - for stdout");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::presets_of(sub, options->overrides);
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
