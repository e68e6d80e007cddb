#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/sim/accuracy/differences.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// Here forecasts stand against published results: docs/accuracy.md says how to read them.
namespace stepcast {

/// Says what a row may be used for: rows of folders that a fit knows are fitted or held out;
/// foreign ones stand in a folder that no fit has used; superseded ones repeat a configuration that
/// a newer container has measured, are listed, and count in no figure.
enum class RowLabel { fitted, held_out, foreign, superseded };
std::string_view name(RowLabel label);
/// Superseded rows stand in a folder of this name inside that of their family.
inline constexpr std::string_view superseded_folder = "superseded";

/// A scenario whose `expect:` holds a published step time.
struct PublishedRow {
  std::string file;    ///< relative to the folder that was searched
  std::string family;  ///< the folder below it: one source
  Scenario scenario;
  RowLabel label = RowLabel::fitted;
  std::string framework;  ///< that ran the step; empty where `labels.yaml` says none
};

/// `labels.yaml` of a folder of published rows: which folders no fit has used, which rows
/// of the other folders none may use, and which framework ran what.
struct SourceLabels {
  struct Framework {
    std::string name;
    std::vector<std::string> folders;
  };
  std::vector<std::string> foreign;
  std::vector<std::string> held_out;  ///< names of rows, beside those that their hash holds out
  std::vector<Framework> frameworks;
};
/// Its keys.
void describe(Visitor& visitor, SourceLabels& labels);
/// Reads such a file. Throws InputError, also where a folder that it names is not beside it.
SourceLabels read_label_file(const std::string& path, const SearchPath& search);
/// Reads that of a folder; without it all folders are known to fits. Throws InputError.
SourceLabels read_labels(const std::string& folder, const SearchPath& search);
/// The label of the row `name` in `file`, which is relative to the folder of the labels.
RowLabel label_of(const SourceLabels& labels, std::string_view file, std::string_view name);

/// Has every scenario below `folder` that expects a step time, sorted by file. Throws
/// InputError with the errors of all files, or where the folder does not exist or holds no such
/// scenario.
std::vector<PublishedRow> published_rows(const std::string& folder, const SearchPath& search);

/// Says whether a row is kept from fitting: about half are, by a hash of their name alone.
bool held_out(std::string_view name);

/// What a forecast says of one row.
struct RowForecast {
  double step_time = 0;               ///< [s]
  std::optional<double> peak_memory;  ///< of the fullest device, as its row counts [B]
  double expert_module = 0;  ///< forward and backward of ExpertModuleTimes [s]; 0: no experts
  bool fits = true;          ///< Forecast::fits_memory
  std::string failure;       ///< why there is none
};

/// Forecasts of all scenarios, each in a process of its own, in their order.
std::vector<RowForecast> forecast_all(const std::vector<const Scenario*>& scenarios, int workers);

/// One published step beside its forecast. Times in seconds, memory in bytes.
struct MeasuredRow {
  std::string name, family, file, device, framework;
  std::string hardware;  ///< hardware_id() of the device
  RowLabel label = RowLabel::fitted;
  std::int64_t ranks = 0, zero = 0;
  bool model = true, experts = false;                       ///< model: not a synthetic workload
  double published = 0, forecast = 0;                       ///< step times [s]
  std::optional<double> published_memory, forecast_memory;  ///< [B]
  std::string failure;
  double error() const { return forecast / published - 1; }
  /// Says whether the row counts in figures.
  bool counts() const { return failure.empty() && label != RowLabel::superseded; }
  /// Nothing unless both are known.
  std::optional<double> memory_error() const {
    if (!published_memory || !forecast_memory || !failure.empty()) return {};
    return *forecast_memory / *published_memory - 1;
  }
};
std::vector<MeasuredRow> measure(const std::vector<PublishedRow>& rows, int workers);

/// Errors of some rows, as fractions. p90 is by nearest rank; bias is the mean signed
/// error.
struct ErrorFigures {
  std::size_t rows = 0;
  double mean = 0, median = 0, p90 = 0, worst = 0, bias = 0;
};
ErrorFigures figures(std::vector<double> signed_errors);

/// A published ratio of two step times, as users decide by them: `ratios.yaml` of the
/// folder.
struct Ratio {
  std::string name, of, to, source;  ///< files relative to the folder
  double published = 0;              ///< step time of `of` over that of `to`
  double forecast = 0;
};
/// The ratios of such a file, without forecasts. Throws InputError: what is wrong with
/// the file, and scenarios that do not stand beside it.
std::vector<Ratio> read_ratios(const std::string& path, const SearchPath& search);
/// The keys of such a file.
void describe(Visitor& visitor, std::vector<Ratio>& ratios);
/// The list of the folder with its forecasts; it is empty without the file. Throws
/// InputError.
std::vector<Ratio> measure_ratios(const std::string& folder, const std::vector<MeasuredRow>& rows,
                                  const SearchPath& search, int workers);

/// A row with each listed key as its script says.
struct ScriptRow {
  MeasuredRow row;       ///< of a row that lacks words: as it is shipped
  bool lacking = false;  ///< the format has no word for what the script says
};
/// The rows of `rows` that `differences` name, in their order; `shipped` are their
/// forecasts as the files have them. Throws InputError.
std::vector<ScriptRow> measure_by_script(const std::string& folder,
                                         const std::vector<PublishedRow>& rows,
                                         const std::vector<MeasuredRow>& shipped,
                                         const std::vector<Difference>& differences,
                                         const SearchPath& search, int workers);

/// All published steps, ratios and differences from scripts.
struct Ledger {
  std::vector<MeasuredRow> rows;
  std::vector<Ratio> ratios;
  std::vector<Difference> differences;
  std::vector<ScriptRow> by_script;
  /// The mean absolute error of all rows with a model that count [fraction]: what the check
  /// holds.
  double overall() const;
};

/// The ledger with its list of differences emptied: rows stand as their scripts say, and
/// those that lack words are left out. Ratios stay.
Ledger emptied(const Ledger& ledger);

/// Errors of rows that belong together, of those that were fitted, of those that were
/// not and of foreign ones, and Spearman's rank correlation of forecast and published step times.
struct LedgerGroup {
  std::string name;
  ErrorFigures all, calibrated, held_out, foreign;
  double ranks = 1;
};
/// The groups are families, then hardware types, rows with experts and all rows with a model.
std::vector<LedgerGroup> ledger_groups(const Ledger& ledger);
/// Classes across families: dense rows and rows with experts by framework, those that
/// shard parameters over 128 ranks or more, rows with experts by hardware type, and rows with
/// experts with each of their families left out.
std::vector<LedgerGroup> ledger_classes(const Ledger& ledger);

/// Errors of the memory of a family's rows that report it, as fractions; `too_low` counts
/// rows that are more than 5 % low.
struct MemoryFigures {
  std::string family;
  std::size_t rows = 0;
  double bias = 0, lowest = 0;
  std::size_t too_low = 0;
};
std::vector<MemoryFigures> memory_figures(const Ledger& ledger);

/// The ledger as tables for people.
std::string ledger_text(const Ledger& ledger);
std::string ledger_json(const Ledger& ledger);
/// Tables for docs/accuracy.md; the first line is the overall figure that `read_overall`
/// finds again.
std::string ledger_markdown(const Ledger& ledger);
/// The picture has forecast over published on logarithmic axes.
std::string ledger_svg(const Ledger& ledger);

/// The overall figure of a written ledger; nothing where the text holds none.
std::optional<double> read_overall(std::string_view markdown);
/// `page` with what stands between its markers replaced. Throws InputError without markers.
std::string replace_ledger(const std::string& page, const std::string& path,
                           const std::string& markdown);

}  // namespace stepcast
