#include "command_line.hpp"
#include "option.hpp"

namespace stepcast::cli {

void add_operator_commands(CommandLine& line) {
  const auto [sub, options] = line.command(
      operator_forecast, "operator",
      "time, bound and efficiency of one kernel, or of a table of measured ones",
      "stepcast operator matmul --m 4096 --k 8192 --n 8192 --cluster clusters/dgx-h100.yaml");
  option(sub, "kind KIND", options->kind, "matmul, attention_forward, rms_norm, ... or --table");
  CommandLine::preset(
      sub, "--cluster CLUSTER", options->cluster, "clusters",
      "cluster preset or file; with --table the device of each row names one without it");
  for (std::size_t i = 0; i < operator_columns; ++i) {
    const OperatorColumnInfo& column = info(static_cast<OperatorColumn>(i));
    // Some columns are of tables alone.
    if (!column.option.empty())
      sub->add_option(std::string(column.option), options->columns[i], std::string(column.meaning))
          ->type_name("X");
  }
  option(sub, "--bytes S", options->bytes, "of a collective as nccl-tests count them, 64MiB");
  option(sub, "--table FILE", options->table, "CSV file with an operator per row, - for stdin");
  option(sub, "--csv FILE", options->csv,
         "write the table with its forecasts, - for stdout, which is the default");
  CommandLine::json(sub, options->json);
  CommandLine::overrides(sub, options->overrides);
  CommandLine::presets(sub, *options);
}

}  // namespace stepcast::cli
