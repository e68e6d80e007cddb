#include <filesystem>

#include "command_line.hpp"
#include "commands.hpp"
#include "option.hpp"
#include "progress.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/plan/plan_report.hpp"
#include "stepcast/sim/report/lines.hpp"

namespace stepcast::cli {
namespace {

struct PlanOptions : PresetOptions {
  std::string scenario;
  std::vector<std::string> overrides;  ///< --set
  std::vector<std::string> devices;
  std::string top, jobs;  ///< empty: as the file says, all processors
  std::string output;     ///< file for the winning scenario
  std::string report;     ///< file for the page
  std::string csv, json;  ///< as for run
  bool verbose = false;   ///< the whole table and the launch file
  std::string store;      ///< where a search that is ended goes on; empty: nowhere
};

constexpr std::int64_t most_points = 100'000;

PlanSpace read(const PlanOptions& options, const SearchPath& search) {
  std::vector<std::int64_t> devices;
  for (const std::string& text : options.devices)
    devices.push_back(count_option("--devices", text, 1, static_cast<std::int64_t>(max_devices)));
  PlanSpace space = read_plan(options.scenario, options.overrides, devices, search);
  if (!options.top.empty()) space.spec.top = count_option("--top", options.top, 1, most_points);
  return space;
}

Outcome plan(const PlanOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  const PlanSpace space = read(options, search);
  const int jobs = jobs_option(options.jobs);
  const PhaseProgress progress("plan");
  const PlanResult result = search_plan(space, search, jobs, options.store);
  // Nothing feasible is an answer about the input, with the way out.
  if (result.best.empty() && result.placed.empty())
    return {"", bad_input, plan_failure(space, result)};
  const PlanPoint& winner = best_point(space, result);
  if (!options.output.empty()) {
    const auto directory = std::filesystem::path(options.output).parent_path();
    write_file(options.output,
               plan_scenario(space, winner, directory.string(),
                             // Keys that the winner makes no use of would be refused by a run and
                             // are left out.
                             idle_algorithms(read_point(space, winner, search)), search));
  }
  if (!options.report.empty()) write_file(options.report, plan_page(space, result));
  if (!options.csv.empty() && options.csv != "-") write_file(options.csv, plan_csv(space, result));
  if (options.csv == "-") return {plan_csv(space, result)};
  std::string text =
      folded(plan_table(space, result, options.verbose ? PlanDetail::all : PlanDetail::brief,
                        read_pairs(search)),
             lines_width());
  if (options.verbose) text += "\n" + launch_files(read_point(space, winner, search));
  Outcome outcome = shown(text, options.json, options.json.empty() ? "" : plan_json(space, result));
  outcome.warnings = space.warnings;
  // A space of one point needs no search; the user may have expected one.
  if (space.points() == 1)
    outcome.warnings.push_back(options.scenario +
                               " holds one point, whose layers were placed: give keys lists of "
                               "values or the word search to compare more");
  else if (space.launched)
    outcome.warnings.push_back(options.scenario +
                               ": is read once, so what its flags make of sizes (chunks, overlaps) "
                               "is alike in all points; stepcast run --set reads it again");
  return outcome;
}

}  // namespace

void add_plan_commands(CommandLine& line) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* sub =
      line.command("plan", "search parallel strategies and simulate the best",
                   "stepcast plan plans/gpt3-175b-512.yaml --output winner.yaml", [options, &line] {
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
