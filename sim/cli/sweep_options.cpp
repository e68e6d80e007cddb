#include <CLI/CLI.hpp>

#include "command_line.hpp"
#include "sweep_commands.hpp"

namespace stepcast::cli {

void add_row_options(CLI::App* sub, std::string& sort, std::string& best, std::string& pareto) {
  sub->add_option("--sort", sort, "best first by this column or key, also COLUMN:asc, COLUMN:desc")
      ->type_name("COLUMN");
  sub->add_option("--best", best, "the N best that fit, by --sort or by step time")->type_name("N");
  sub->add_option("--pareto", pareto,
                  "those that no other one beats: step_time_s,peak_memory_bytes")
      ->type_name("A,B");
}

void add_sweep_options(CLI::App* sub, SweepOptions& options) {
  sub->add_option("sweep", options.sweep, "sweep file")->required()->type_name("SWEEP");
  sub->add_option("--store", options.store, "keep results here, simulate only what is missing")
      ->type_name("FILE");
  sub->add_flag("--accept-builds", options.accept_builds,
                "take rows of the store that other builds made, and label them");
  sub->add_option("--csv", options.csv,
                  "write the points as CSV, - for stdout instead of the table")
      ->type_name("FILE");
  sub->add_option("--json", options.json,
                  "write the result as JSON, - for stdout instead of the table")
      ->type_name("FILE");
  sub->add_option("--report", options.report, "write a page that shows the points (.html)")
      ->type_name("FILE");
  sub->add_option("--filter", options.filters,
                  "only points with path.to.key=value, also != < <= > >= (repeatable)")
      ->type_name("F")
      ->allow_extra_args(false);
  CommandLine::engine(sub, options.overrides);
  sub->add_option("--limit", options.limit, "at most so many points")->type_name("N");
  sub->add_option("--shard", options.shard, "the i-th of n equal parts, for job arrays")
      ->type_name("I/N");
  add_row_options(sub, options.sort, options.best, options.pareto);
  sub->add_flag("--dry-run", options.dry_run, "list the points instead");
  sub->add_option("--presets", options.presets, "folder to look for presets in (repeatable)")
      ->type_name("DIR")
      ->allow_extra_args(false);
}

}  // namespace stepcast::cli
