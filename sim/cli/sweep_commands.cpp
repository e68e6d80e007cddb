#include "sweep_commands.hpp"

#include "command_line.hpp"
#include "option.hpp"

namespace stepcast::cli {
namespace {

constexpr const char* all_inputs =
    "list every key that differs, those that presets and defaults bring, too";

void add_tables(CLI::App* sub, std::string& csv, std::string& json) {
  option(sub, "--csv FILE", csv, "write the points as CSV, - for stdout instead of the table");
  CommandLine::json(sub, json);
}

void add_sweep(CommandLine& line) {
  const auto [sub, options] =
      line.command(sweep, "sweep", "predict every point of a sweep file; resumes from a store",
                   "stepcast sweep scaling/telechat3-105b.yaml --store "
                   "results.sqlite --csv points.csv");
  add_sweep_options(sub, *options);
  CommandLine::jobs(sub, options->workers);
}

void add_results(CommandLine& line) {
  const auto [sub, options] =
      line.command(results, "results",
                   "show what is in a store of sweeps; results merge TARGET STORE... joins stores",
                   "stepcast results results.sqlite --where 'mfu > 0.4 AND tp = 8' --csv -");
  required(sub, "store STORE", options->stores, "store, or: merge TARGET STORE...");
  option(sub, "--where SQL", options->where, "SQL expression over the columns of the CSV");
  add_row_options(sub, options->sort, options->best, options->pareto);
  add_tables(sub, options->csv, options->json);
}

void add_scale(CommandLine& line) {
  const auto [sub, options] =
      line.command(scale, "scale", "how a scenario scales over devices: efficiency, and what grows",
                   "stepcast scale telechat3-105b-4096.yaml --devices 256..8192 --svg curve.svg");
  required(sub, "file FILE", options->file,
           "scenario or launch file, or sweep file that varies cluster.devices");
  option(sub, "--devices LIST", options->devices, "128..8192 doubles, 128,1024,7968 lists");
  sub->add_flag("--weak", options->weak, "keep the tokens per device (default)");
  sub->add_flag("--strong", options->strong, "keep the global batch");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::engine(sub, options->overrides);
  CommandLine::presets_of(sub, options->overrides);
  CommandLine::launch_kind(sub, options->launch);
  CommandLine::jobs(sub, options->workers);
  option(sub, "--store FILE", options->store, "keep results here, simulate only what is missing");
  sub->add_flag("--accept-builds", options->accept_builds,
                "take rows of the store that other builds made, and label them");
  option(sub, "--report FILE", options->report, "write a page that shows the points (.html)");
  option(sub, "--seeds N", options->seeds,
         "run so many seeds at each size: mean step, and a band of 10 % to 90 %");
  option(sub, "--svg FILE", options->svg,
         "write the curves as SVG, - for stdout instead of the table");
  add_tables(sub, options->csv, options->json);
  CommandLine::presets(sub, *options);
}

void add_check(CommandLine& line) {
  const auto [sub, options] = line.command(
      check, "check", "compare scenarios with what they expect; exit 1 where one fails",
      "stepcast check regression --junit check.xml");
  required(sub, "paths PATH", options->paths, "scenarios with expect:, or folders of them");
  CommandLine::jobs(sub, options->workers);
  sub->add_flag("--update", options->update, "write what came out into the files, in place");
  repeated(sub, "--filter PATTERN", options->filters,
           "only files whose path fits this pattern, '*105b*' (repeatable)");
  CommandLine::engine(sub, options->overrides);
  option(sub, "--tolerance P%", options->tolerance,
         "how far off every value may be, 2%, in place of its own tolerance");
  option(sub, "--junit FILE", options->junit,
         "write a JUnit report, - for stdout instead of the table");
  option(sub, "--markdown FILE", options->markdown,
         "write a summary in Markdown, - for stdout instead of the table");
  option(sub, "--report FILE", options->report, "write a page that shows it (.html)");
  sub->add_flag("--annotations", options->annotations,
                "print what failed as annotations of GitHub, too");
  CommandLine::presets(sub, *options);
}

/// What launch files leave open, where `--devices` and `--cluster` would be of one side.
void add_launch(CLI::App* sub, std::vector<std::string>& launch) {
  repeated(sub, "--launch K=V", launch,
           "of launch files: cluster=PRESET, devices=N, from=KIND, deepspeed=FILE (repeatable)");
}

void add_diff(CommandLine& line) {
  const auto [sub, options] = line.command(
      diff, "diff", "what differs between two scenarios or results, and where the time went",
      "stepcast diff telechat3-105b-4096.yaml "
      "what-if/telechat3-105b-ep64.yaml");
  required(sub, "before A", options->before, "scenario or launch file, or result of run --json");
  option(sub, "after B", options->after, "what it is compared with; without it A with --set");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::presets_of(sub, options->overrides);
  add_launch(sub, options->launch);
  sub->add_flag("--inputs", options->inputs, all_inputs);
  CommandLine::jobs(sub, options->jobs);
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

void add_compare(CommandLine& line) {
  const auto [sub, options] =
      line.command(compare, "compare", "scenarios, results and variants side by side",
                   "stepcast compare telechat3-105b-4096.yaml --set "
                   "parallel.vpp=4 --set 'parallel.tp=4; parallel.dp=auto'");
  required(sub, "files A B C", options->files,
           "scenarios or launch files, or results of run --json; or a scenario and a profile "
           "(folder, kernel_details.csv, Chrome trace)");
  repeated(sub, "--set K=V", options->variants,
           "one more side: A with these keys, 'a.b=1; c.d=2' (repeatable); beside a profile "
           "they change A");
  CommandLine::engine(sub, options->engine);
  CommandLine::presets_of(sub, options->variants, PresetCount::several);
  add_launch(sub, options->launch);
  sub->add_flag("--inputs", options->inputs, all_inputs);
  CommandLine::jobs(sub, options->jobs);
  option(sub, "--rank N", options->rank, "rank that was profiled, default 0");
  option(sub, "--report FILE", options->report, "write a page that shows it (.html)");
  option(sub, "--markdown FILE", options->markdown,
         "write the table as Markdown, - for stdout instead of the table");
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

}  // namespace

void add_sweep_commands(CommandLine& line) {
  add_sweep(line);
  add_results(line);
  add_scale(line);
  add_check(line);
  add_diff(line);
  add_compare(line);
}

void add_row_options(CLI::App* sub, std::string& sort, std::string& best, std::string& pareto) {
  option(sub, "--sort COLUMN", sort,
         "best first by this column or key, also COLUMN:asc, COLUMN:desc");
  option(sub, "--best N", best, "the N best that fit, by --sort or by step time");
  option(sub, "--pareto A,B", pareto,
         "those that no other one beats: step_time_s,peak_memory_bytes");
}

void add_sweep_options(CLI::App* sub, SweepOptions& options) {
  required(sub, "sweep SWEEP", options.sweep, "sweep file");
  option(sub, "--store FILE", options.store, "keep results here, simulate only what is missing");
  sub->add_flag("--accept-builds", options.accept_builds,
                "take rows of the store that other builds made, and label them");
  option(sub, "--csv FILE", options.csv,
         "write the points as CSV, - for stdout instead of the table");
  option(sub, "--json FILE", options.json,
         "write the result as JSON, - for stdout instead of the table");
  option(sub, "--report FILE", options.report, "write a page that shows the points (.html)");
  repeated(sub, "--filter F", options.filters,
           "only points with path.to.key=value, also != < <= > >= (repeatable)");
  CommandLine::engine(sub, options.overrides);
  option(sub, "--limit N", options.limit, "at most so many points");
  option(sub, "--shard I/N", options.shard, "the i-th of n equal parts, for job arrays");
  add_row_options(sub, options.sort, options.best, options.pareto);
  sub->add_flag("--dry-run", options.dry_run, "list the points instead");
  repeated(sub, "--presets DIR", options.presets, "folder to look for presets in (repeatable)");
}

}  // namespace stepcast::cli
