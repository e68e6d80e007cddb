#include "command_line.hpp"
#include "option.hpp"

namespace stepcast::cli {
namespace {

void add_run(CommandLine& line) {
  const auto [sub, options] =
      line.command(run, "run", "predict one step of a scenario",
                   "stepcast run telechat3-36b-2048.yaml --set parallel.vpp=4 --json -");
  required(sub, "scenario SCENARIO", options->scenario,
           "scenario or launch file, - for standard input");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::engine(sub, options->overrides);
  option(sub, "--paje FILE", options->paje,
         "write SimGrid's own trace of devices and links (Paje), with --engine simgrid");
  CommandLine::model_preset(sub, options->overrides);
  CommandLine::launch(sub, options->launch);
  CommandLine::json(sub, options->json);
  sub->add_flag("--timing", options->timing,
                "report wall time and memory of the simulation itself");
  option(sub, "--trace FILE", options->trace,
         "write what was executed as a Chrome trace (.json or .json.gz)");
  option(sub, "--trace-ranks N", options->trace_ranks, "most rank classes that the trace shows");
  option(sub, "--report FILE", options->report, "write a page that shows the run (.html)");
  option(sub, "--step-trace FILE", options->step_trace,
         "write cluster_step_trace_time.csv, the columns of the Ascend profiling tools");
  option(sub, "--kernel-details FILE", options->kernel_details,
         "write kernel_details.csv, what the Ascend profiler would show of one rank");
  option(sub, "--kernel-rank N", options->kernel_rank, "rank of --kernel-details, default 0");
  option(sub, "--graph FILE", options->graph,
         "write what the ranks execute: .json to run again, .dot to draw, .et for Chakra");
  option(sub, "--graph-ranks LIST", options->graph_ranks,
         "ranks that a .dot or .et has: 0,8, stages (one of each) or all");
  sub->add_flag("--operators", options->operators,
                "show the operators that take longest, by pipeline stage");
  option(sub, "--operators-csv FILE", options->operators_csv,
         "write every operator as CSV, - for stdout instead of the table");
  sub->add_flag("--keys", options->keys, "show the keys that the framework says, and its rules");
  sub->add_flag("--pipeline", options->pipeline, "draw the executed schedule");
  option(sub, "--seeds N", options->seeds,
         "run so many seeds and report their quantiles; trace and report show the median");
  option(sub, "--load-steps N", options->load_steps,
         "run so many steps of changing expert loads and report their quantiles");
  CommandLine::jobs(sub, options->jobs);
  sub->add_flag("--fail-on-oom", options->fail_on_oom,
                "exit 1 when the step does not fit into device memory");
  CommandLine::presets(sub, *options);
}

void add_files(CommandLine& line) {
  const auto [sub, options] =
      line.command(validate, "validate", "check files of every kind without running them",
                   "stepcast validate scenarios/*.yaml");
  required(sub, "files FILE", options->files, "files to check");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::presets_of(sub, options->overrides);
  CommandLine::launch_size(sub, options->launch);
  CommandLine::presets(sub, *options);
  auto kind = std::make_shared<std::string>("scenario");
  line.command("schema", "print the JSON Schema of one kind of file, for editors",
               "stepcast schema plan > plan.schema.json", [kind] { return schema(*kind); })
      ->add_option("kind", *kind,
                   "scenario (the default), check, cluster, model, framework, sweep, plan, orders, "
                   "ratios or gallery")
      ->type_name("KIND");
}

}  // namespace

void add_scenario_commands(CommandLine& line) {
  add_run(line);
  add_files(line);
}

}  // namespace stepcast::cli
