#include <fmt/format.h>

#include <filesystem>

#include "command_line.hpp"
#include "option.hpp"
#include "progress.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/phases.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/accuracy/gallery.hpp"
#include "stepcast/sim/accuracy/intervals.hpp"
#include "stepcast/sim/accuracy/plain_rows.hpp"
#include "stepcast/sim/calibrate/left_out.hpp"
#include "stepcast/sim/calibrate/profile_fit.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/kernels/components.hpp"

namespace stepcast::cli {
namespace {

struct AccuracyOptions : PresetOptions {
  std::string folder;
  bool components = false;  ///< measured kernels and collectives instead of steps
  bool by_script = false;   ///< rows without the listed differences from their scripts
  bool plain = false;       ///< rows as questions, without the switches of their frameworks
  bool left_out = false;    ///< with components: fitted again without parts of their tables
  std::string json;         ///< as for run
  std::string write;        ///< page to bring up to date, with a plot beside it
  std::string check;        ///< page whose overall figure must hold
  std::string intervals;    ///< folder of the intervals of hardware types
  int workers = 0;          ///< 0: all processors
};

constexpr std::string_view page_file = "a page (Markdown)";
constexpr double slack = 0.002;  // the overall figure may worsen by 0.2 points

int workers_of(int given) { return given > 0 ? given : usable_processors(); }

Ledger measured(const AccuracyOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  const int workers = workers_of(options.workers);
  Ledger ledger;
  begin_phase("forecasting published steps");
  // Rows by script change the keys that differ from what their scripts say, which is why these are
  // read first.
  ledger.differences = differences_of(options.folder, search);
  const std::vector<PublishedRow> rows = published_rows(options.folder, search);
  ledger.rows = measure(rows, workers);
  begin_phase("forecasting by scripts");
  ledger.by_script =
      measure_by_script(options.folder, rows, ledger.rows, ledger.differences, search, workers);
  // Only that part was asked for.
  if (options.by_script) ledger = emptied(ledger);
  begin_phase("comparing published pairs");
  ledger.ratios = measure_ratios(options.folder, ledger.rows, search, workers);
  return ledger;
}

void write_page(const Ledger& ledger, const std::string& path) {
  const std::string page = read_document_text(path, {}, page_file);
  write_file(path, replace_ledger(page, path, ledger_markdown(ledger)));
  write_file(std::filesystem::path(path).replace_extension(".svg").string(), ledger_svg(ledger));
}

/// What the check says; empty when the figure holds.
std::string complaint(double overall, const std::string& path) {
  const auto committed = read_overall(read_document_text(path, {}, page_file));
  if (!committed) refuse_input({path}, {}, "holds no overall figure, write it with --write");
  if (overall <= *committed + slack) return "";
  return fmt::format(
      "overall mean absolute error is {:.2f} %, {} says {:.2f} %, allowed: 0.2 points more\n",
      100 * overall, path, 100 * *committed);
}

/// Exit code 1 when there is something to complain of.
Outcome judged(Outcome outcome, std::string complaint) {
  outcome.complaint = std::move(complaint);
  if (!outcome.complaint.empty()) outcome.exit_code = check_failed;
  return outcome;
}

/// The measurements that come with the presets.
std::string measurements(const SearchPath& search) {
  for (const auto& directory : search.directories)
    if (is_folder(directory / "measurements")) return (directory / "measurements").string();
  bad_option("DIR", "is missing, give a folder of measurements");
}

/// What the check says of rows that were left out; empty when the figure holds.
std::string left_out_complaint(double overall, const std::string& path) {
  const auto committed = read_left_out(read_document_text(path, {}));
  if (!committed)
    refuse_input({path}, {}, "holds no figure of what was left out, write it with --write");
  if (overall <= *committed + slack) return "";
  return fmt::format(
      "mean absolute error of what was left out is {:.2f} %, {} says {:.2f} %, allowed: 0.2 points "
      "more\n",
      100 * overall, path, 100 * *committed);
}

Outcome of_components(const AccuracyOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  const std::string folder = options.folder.empty() ? measurements(search) : options.folder;
  const ComponentLedger ledger = measure_components(folder, search);
  std::vector<LeftOutFigures> left_out;
  // Leaving parts out means fitting again, which takes most of the time of this command.
  if (options.left_out || !options.write.empty() || !options.check.empty())
    left_out = leave_out(folder, search);
  const std::string text =
      components_text(ledger) + (options.left_out ? left_out_text(left_out) : "");
  Outcome outcome = shown(text, options.json, options.json.empty() ? "" : components_json(ledger));
  outcome =
      judged(std::move(outcome), options.check.empty()
                                     ? ""
                                     : complaint(ledger.overall(), options.check) +
                                           left_out_complaint(overall(left_out), options.check));
  // Written at last, so that a page that is checked and written shows what it was checked against
  // before.
  if (!options.write.empty())
    write_file(options.write,
               replace_ledger(read_document_text(options.write, {}, page_file), options.write,
                              components_markdown(ledger) + left_out_markdown(left_out)));
  if (!options.intervals.empty())
    write_file((std::filesystem::path(options.intervals) / "operators.yaml").string(),
               residuals_yaml(ledger));
  return outcome;
}

/// What the check says of techniques: no fewer may be near than the page says.
std::string gallery_complaint(std::size_t counted, const std::string& path) {
  const auto committed = read_counted(read_document_text(path, {}, page_file));
  if (!committed) refuse_input({path}, {}, "counts no rows of a gallery, write it with --write");
  if (static_cast<double>(counted) >= *committed) return "";
  return fmt::format("{} rows count as near, {} says {}, allowed: no fewer\n", counted, path,
                     *committed);
}

Outcome of_gallery(const AccuracyOptions& options) {
  const Gallery gallery = measure_gallery(options.folder, default_search_path(options.presets),
                                          workers_of(options.workers));
  const std::size_t counted = figures(gallery).counted;
  Outcome outcome = judged(
      shown(gallery_text(gallery), options.json, options.json.empty() ? "" : gallery_json(gallery)),
      options.check.empty() ? "" : gallery_complaint(counted, options.check));
  if (!options.write.empty())
    write_file(options.write, replace_ledger(read_document_text(options.write, {}, page_file),
                                             options.write, gallery_markdown(gallery)));
  return outcome;
}

/// The errors of questions beside those of rows as they are written.
Outcome of_plain(const AccuracyOptions& options) {
  if (options.components || options.by_script || is_gallery(options.folder))
    bad_option("--plain",
               "is about published steps as they are shipped, give a folder such as "
               "scenarios/validation alone");
  for (const auto& [name, value] : {std::pair{"--write", options.write},
                                    {"--check", options.check},
                                    {"--intervals", options.intervals}})
    if (!value.empty())
      bad_option(name, "takes the rows as they are written, give it without --plain");
  const auto rows = measure_plain(options.folder, default_search_path(options.presets),
                                  workers_of(options.workers));
  return shown(plain_text(rows), options.json, options.json.empty() ? "" : plain_json(rows));
}

/// Pages and intervals are those of the rows as they are shipped.
void check_by_script(const AccuracyOptions& options) {
  if (options.components || is_gallery(options.folder))
    bad_option("--by-script",
               "is about published steps, give a folder such as scenarios/validation");
  for (const auto& [name, value] : {std::pair{"--write", options.write},
                                    {"--check", options.check},
                                    {"--intervals", options.intervals}})
    if (!value.empty())
      bad_option(name, "takes the rows as they are shipped, give it without --by-script");
}

Outcome accuracy(const AccuracyOptions& options) {
  if (!options.intervals.empty() && !options.components && is_gallery(options.folder))
    bad_option("--intervals",
               "follow from published steps, give a folder such as scenarios/validation, or from "
               "measured kernels with --components");
  if (options.left_out && !options.components)
    bad_option("--left-out", "parts of measurements are left out, give --components");
  if (options.by_script) check_by_script(options);
  const PhaseProgress progress("accuracy");
  if (options.components) return of_components(options);
  if (options.folder.empty()) bad_option("DIR", "is missing, give a folder of scenarios");
  if (options.plain) return of_plain(options);
  // A folder of techniques is told by its files.
  if (is_gallery(options.folder)) return of_gallery(options);
  const Ledger ledger = measured(options);
  std::string wrong = options.check.empty() ? "" : complaint(ledger.overall(), options.check);
  // A row without a forecast counts as an error and not as missing.
  for (const MeasuredRow& row : ledger.rows)
    if (!row.failure.empty()) wrong += row.name + ": " + row.failure + "\n";
  Outcome outcome = judged(
      shown(ledger_text(ledger), options.json, options.json.empty() ? "" : ledger_json(ledger)),
      std::move(wrong));
  if (!options.write.empty()) write_page(ledger, options.write);
  if (!options.intervals.empty())
    for (const IntervalFile& file :
         interval_files(ledger, measure_plain(options.folder, default_search_path(options.presets),
                                              workers_of(options.workers))))
      write_file((std::filesystem::path(options.intervals) / file.name).string(), file.text);
  return outcome;
}

struct CalibrateOptions : PresetOptions {
  std::vector<std::string> profiles;  ///< folders of profiles, with `cluster`
  std::string start;                  ///< cluster whose numbers the fit to step times starts at
  std::string cluster;               ///< where the fit starts; with `results` what `output` extends
  std::string results;               ///< --from-results, with `devices`
  std::vector<std::string> devices;  ///< --device
  int numbers = 4;                   ///< that are fitted to step times, at most
  std::string output;
  int workers = 0;
};

Outcome from_profiles(const CalibrateOptions& options) {
  // A profile says a part of a cluster file; the rest has to come from somewhere.
  if (options.cluster.empty()) bad_option("--cluster", "is missing, give the preset to start from");
  Profile profile;
  for (const std::string& folder : options.profiles) read_profile(folder, profile);
  const ClusterSpec cluster = cluster_option(options.cluster, "", options);
  const ProfileCalibration fitted = calibrate_from_profile(profile, cluster);
  if (!options.output.empty()) {
    const std::string name = std::filesystem::path(options.output).stem().string();
    write_file(options.output, profile_yaml(fitted, options.cluster, name));
  }
  return {profile_text(fitted, profile)};
}

Outcome calibrate(const CalibrateOptions& options) {
  if (!options.profiles.empty()) return from_profiles(options);
  if (options.results.empty())
    bad_option("PROFILE_DIR", "is missing, give folders of profiles, or --from-results");
  if (options.devices.empty()) bad_option("--device", "is missing, give the devices to fit");
  // Step times are fitted by the numbers that a table lists, one after the other.
  const auto rows = published_rows(options.results, default_search_path(options.presets));
  std::optional<ClusterSpec> start;
  if (!options.start.empty()) start = cluster_option(options.start, "", options);
  const PhaseProgress progress("calibrate");
  const Calibration fitted =
      calibrate_from_results(rows, options.devices, start, workers_of(options.workers),
                             static_cast<std::size_t>(options.numbers));
  if (!options.output.empty())
    write_file(options.output, calibration_yaml(fitted,
                                                "which numbers of " + joined(options.devices) +
                                                    " follow from published step times?",
                                                options.cluster));
  return {calibration_text(fitted)};
}

void workers(CLI::App* sub, int& target) {
  sub->add_option("-j,--jobs", target, "processes at a time, all processors without it")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

void add_accuracy(CommandLine& line) {
  const auto [sub, options] =
      line.command(accuracy, "accuracy", "forecast published steps and report the errors",
                   "stepcast accuracy scenarios/validation");
  option(sub, "folder DIR", options->folder,
         "scenarios that expect a step time, a folder per source; a gallery of techniques; "
         "measurements with --components");
  sub->add_flag("--components", options->components,
                "forecast measured kernels and collectives instead");
  sub->add_flag("--left-out", options->left_out,
                "with --components: fit again without a part of each table and forecast that part; "
                "--write and --check do so, too");
  sub->add_flag(
      "--by-script", options->by_script,
      "take every key that differs.yaml of the folder lists as the script of its row says");
  sub->add_flag("--plain", options->plain,
                "rows as a user would ask them, without the switches of frameworks: both errors by "
                "source");
  CommandLine::json(sub, options->json);
  option(sub, "--write PAGE", options->write, "bring the ledger of this page up to date");
  option(sub, "--check PAGE", options->check,
         "exit 1 when the overall figure, or the count of techniques, is worse than this page's");
  sub->add_option("--intervals", options->intervals,
                  "write how far unseen steps lie from their forecasts, a part of a cluster file "
                  "for each type of hardware, into this folder; with --components a file of "
                  "residuals of kernels")
      ->check([](const std::string& folder) {
        return is_folder(folder) ? std::string()
                                 : folder + " is no folder, allowed: one that exists";
      })
      ->type_name("DIR");
  workers(sub, options->workers);
  CommandLine::presets(sub, *options);
}

void add_calibrate(CommandLine& line) {
  const auto [sub, options] =
      line.command(calibrate, "calibrate", "fit the numbers of a hardware type to measurements",
                   "stepcast calibrate profiles/rank0 --cluster "
                   "clusters/atlas-800t-a2.yaml -o my-cluster.yaml");
  option(sub, "profiles PROFILE_DIR", options->profiles,
         "folders of profiler output or collective tables");
  CommandLine::preset(sub, "--cluster CLUSTER", options->cluster, "clusters",
                      "cluster preset or file that profiles start at, and that the output extends");
  option(sub, "--from-results DIR", options->results,
         "fit to step times instead: scenarios that expect them");
  repeated(sub, "--device NAME", options->devices,
           "beginning of the device names to fit (repeatable)");
  sub->add_option("--numbers", options->numbers,
                  "numbers that are fitted to step times, at most, in the order of the table")
      ->check(CLI::Range(1, 4))
      ->type_name("N");
  option(sub, "--start CLUSTER", options->start,
         "cluster file whose numbers the fit to step times starts at");
  option(sub, "-o,--output FILE", options->output, "write a part of a cluster file");
  workers(sub, options->workers);
  CommandLine::presets(sub, *options);
}

}  // namespace

void add_accuracy_commands(CommandLine& line) {
  add_accuracy(line);
  add_calibrate(line);
}

}  // namespace stepcast::cli
