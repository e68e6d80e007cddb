#include "command_line.hpp"
#include "option.hpp"
#include "sweep_commands.hpp"

namespace stepcast::cli {

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
