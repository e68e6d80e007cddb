#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "command_line.hpp"
#include "option.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/kernels/operator_rows.hpp"
#include "stepcast/workloads/operator_table.hpp"

namespace stepcast::cli {
namespace {

struct OperatorOptions : PresetOptions {
  std::string kind;  ///< empty with `table`
  std::array<std::string, operator_columns>
      columns;                         ///< --m, --k ... of the kind; empty: not given
  std::string bytes;                   ///< --bytes, of a collective
  std::string cluster;                 ///< empty: by the device of each row
  std::vector<std::string> overrides;  ///< --set
  std::string table;                   ///< --table, `-` for stdin
  std::string csv, json;               ///< files, `-` for stdout
};

constexpr auto m_column = static_cast<std::size_t>(OperatorColumn::m_or_bytes);

std::string option_of(OperatorColumn column, bool collective) {
  if (column == OperatorColumn::m_or_bytes && collective) return "--bytes";
  return column == OperatorColumn::kind ? "KIND" : std::string(info(column).option);
}

/// Columns that say something about this kind.
bool serves(const OperatorKind& kind, OperatorColumn column) {
  const bool attention = kind.of == OperatorClass::attention;
  const bool of_attention =
      column == OperatorColumn::causal || column == OperatorColumn::generation;
  return column == OperatorColumn::type || (attention && of_attention) ||
         (column == OperatorColumn::batch && has_sequences(kind.of)) ||
         std::ranges::find(kind.sizes, column) != kind.sizes.end();
}

/// The options as the cells of a row; what the kind has no use for is refused.
OperatorOptions as_row(OperatorOptions options, const OperatorKind& kind) {
  const bool collective = kind.of == OperatorClass::collective;
  std::vector<Diagnostic> wrong;
  const auto useless = [&](const std::string& option) {
    wrong.push_back({{}, option, "means nothing to " + std::string(kind.name)});
  };
  for (std::size_t i = 0; i < operator_columns; ++i) {
    const auto column = static_cast<OperatorColumn>(i);
    const bool of_kind = serves(kind, column) && !(collective && i == m_column);
    if (!options.columns[i].empty() && !of_kind) useless(std::string(info(column).option));
  }
  if (!options.bytes.empty() && !collective) useless("--bytes");
  if (!wrong.empty()) throw InputError(std::move(wrong));
  if (collective && !options.bytes.empty()) {
    const auto bytes = parse_bytes(options.bytes);
    if (!bytes)
      bad_option("--bytes",
                 fmt::format("is '{}', allowed: a size such as 64MiB, 1B", options.bytes));
    options.columns[m_column] = shortest(bytes->value());
  }
  std::string& type = options.columns[static_cast<std::size_t>(OperatorColumn::type)];
  if (type.empty()) type = name(kind.types.front());
  return options;
}

OperatorRequest request_of(const OperatorOptions& given, const OperatorForecaster& cluster) {
  std::vector<OperatorProblem> problems;
  const OperatorKind* kind = find_operator_kind(given.kind);
  // Options are brought into the form of a row of a table, so that both are read by one reader.
  const OperatorOptions options = kind == nullptr ? given : as_row(given, *kind);
  OperatorCells cells;
  for (std::size_t i = 0; i < operator_columns; ++i)
    if (!options.columns[i].empty()) cells[i] = options.columns[i];
  cells[static_cast<std::size_t>(OperatorColumn::kind)] = given.kind;
  const auto request = read_operator(cells, problems);
  if (request) check_operator(*request, cluster, problems);
  if (problems.empty()) return *request;
  const bool collective = kind != nullptr && kind->of == OperatorClass::collective;
  std::vector<Diagnostic> wrong;
  wrong.reserve(problems.size());
  for (const OperatorProblem& problem : problems)
    wrong.push_back({{}, option_of(problem.column, collective), problem.message});
  throw InputError(std::move(wrong));
}

Outcome of_table(const OperatorOptions& options, OperatorClusters& clusters,
                 const OperatorResiduals& residuals) {
  // Columns mean other options for collectives: `--size` instead of `--m`.
  if (!options.kind.empty())
    bad_option("KIND", fmt::format("is '{}' beside --table, allowed: one of them", options.kind));
  for (std::size_t i = 0; i < operator_columns; ++i)
    if (!options.columns[i].empty())
      bad_option(std::string(info(static_cast<OperatorColumn>(i)).option),
                 "means nothing to --table, whose rows have columns of their own");
  if (options.csv == "-" && options.json == "-")
    bad_option("--csv", "and --json are both -, allowed: one of them");
  const OperatorTable table(read_document_text(options.table, {}, "a CSV file"), options.table,
                            clusters);
  const bool shows_csv = options.csv.empty() || options.csv == "-";
  std::string csv =
      options.json == "-" && options.csv.empty() ? "" : operator_csv(table, residuals);
  if (!shows_csv) write_file(options.csv, csv);
  return shown(shows_csv ? std::move(csv) : "", options.json,
               options.json.empty() ? "" : operator_table_json(table, residuals));
}

Outcome operator_forecast(const OperatorOptions& options) {
  if (options.kind.empty() && options.table.empty())
    bad_option("KIND", "is missing, give a kind of operator, or --table");
  if (options.table.empty() && !options.csv.empty())
    bad_option("--csv", "is for --table alone, allowed: --json");
  if (options.table.empty() && options.cluster.empty())
    bad_option("--cluster", "is missing, give a cluster file");
  const SearchPath search = default_search_path(options.presets);
  OperatorClusters clusters(options.cluster, options.overrides, search);
  const OperatorResiduals residuals = shipped_residuals(search);
  if (!options.table.empty()) return of_table(options, clusters, residuals);
  const OperatorRequest request = request_of(options, *clusters.all());
  return shown(operator_text(request, *clusters.all(), residuals), options.json,
               options.json.empty() ? "" : operator_json(request, *clusters.all(), residuals));
}

}  // namespace

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
