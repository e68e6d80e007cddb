#pragma once
#include <functional>

#include "commands.hpp"
#include "stepcast/sim/sweep/sweep_report.hpp"
#include "stepcast/sim/sweep/sweep_run.hpp"

namespace CLI {
class App;
}

namespace stepcast::cli {

struct SweepOptions : PresetOptions {
  std::string sweep;
  std::vector<std::string> overrides;  ///< --engine, of the base
  std::string workers;                 ///< -j; empty: one per processor
  std::string store;                   ///< empty: results are not kept
  std::string csv, json;               ///< as for run
  std::string report;                  ///< page, empty: none
  std::vector<std::string> filters;    ///< --filter
  std::string limit, shard;            ///< empty: all
  bool dry_run = false, accept_builds = false;
  std::string sort, best, pareto;  ///< which rows to show; empty: all, in their order
};
/// `--sort`, `--best` and `--pareto`.
void add_row_options(CLI::App* sub, std::string& sort, std::string& best, std::string& pareto);
/// All options of a sweep but `-j`; the options must outlive the parsing.
void add_sweep_options(CLI::App* sub, SweepOptions& options);

/// Simulates the missing points of a run, telling `watch` of each.
using RunMissing = std::function<void(SweepRun& run, const Sweep& sweep, const SearchPath& search,
                                      const std::function<void(const PointDone&)>& watch)>;
Outcome sweep(const SweepOptions& options, const RunMissing& run_missing);
/// In processes of this machine, as many as `-j` says.
Outcome sweep(const SweepOptions& options);

struct ScaleOptions : PresetOptions {
  std::string file;                    ///< a scenario, or a sweep file
  LaunchOptions launch;                ///< of a launch file; its devices are the first of `devices`
  std::string devices;                 ///< `128..8192` doubles, `128,7968` lists
  std::vector<std::string> overrides;  ///< --set
  bool weak = false, strong = false;   ///< neither: weak
  std::string workers, store;          ///< as for sweep
  std::string csv, json, svg;          ///< as for run
  std::string report;                  ///< page, empty: none
  bool accept_builds = false;          ///< rows of other builds in the store count
  std::string seeds;                   ///< how many at each size; empty: that of the scenario
};
Outcome scale(const ScaleOptions& options);

struct CheckOptions : PresetOptions {
  std::vector<std::string> paths;
  std::vector<std::string> overrides;  ///< --engine, of every file
  std::string workers;                 ///< as for sweep
  bool update = false;
  std::string junit;                 ///< file; empty: none
  std::string markdown;              ///< file, `-` for stdout instead of the table; empty: none
  std::string report;                ///< page; empty: none
  bool annotations = false;          ///< in the words of GitHub, after the table
  std::vector<std::string> filters;  ///< patterns of paths; empty: all
  std::string tolerance;             ///< in place of each value's own; empty: those of the files
};
Outcome check(const CheckOptions& options);

struct DiffOptions : PresetOptions {
  std::string before, after;  ///< a scenario, or a result of `run --json`; no `after`: `before`
  std::vector<std::string> overrides;  ///< --set, of `after`
  std::vector<std::string> launch;     ///< --launch, of launch files: `devices=64`
  std::string json;                    ///< as for run
  std::string jobs;                    ///< as for run
  bool inputs = false;                 ///< every key that differs, those of presets too
};
Outcome diff(const DiffOptions& options);

struct CompareOptions : PresetOptions {
  std::vector<std::string> files;     ///< scenarios or results, at least one; or a profile second
  std::vector<std::string> engine;    ///< --engine, as the override of every scenario
  std::vector<std::string> variants;  ///< --set: each a variant of the first, `a.b=1; c.d=2`
  std::vector<std::string> launch;    ///< as for diff
  std::string json, markdown;         ///< as for run
  std::string report;                 ///< page; empty: none
  std::string rank;                   ///< of the profile; empty: 0
  std::string jobs;                   ///< as for run
  bool inputs = false;                ///< as for diff
};
/// The first file beside the second, which is a profile. Throws InputError.
Outcome compare_with_profile(const CompareOptions& options);
/// `a=1; b=2` -> both: the keys of one --set of compare.
std::vector<std::string> settings_of(const std::string& text);
/// `devices=64` -> `launch.devices=64`
std::vector<std::string> launch_keys(const std::vector<std::string>& given);
Outcome compare(const CompareOptions& options);

struct ResultsOptions {
  std::vector<std::string> stores;  ///< one; or `merge`, a target and its sources
  std::string where;
  std::string csv, json;           ///< as for run
  std::string sort, best, pareto;  ///< as for sweep
};
Outcome results(const ResultsOptions& options);

RunMissing in_processes(const std::string& workers);
/// Where results are kept, and whose rows count.
struct StoreChoice {
  std::string file;  ///< empty: none
  bool accept_builds = false;
};
/// Simulates what the store does not hold, with progress on stderr.
PointTable run_points(const Sweep& sweep, const std::vector<std::size_t>& points,
                      const StoreChoice& choice, const SearchPath& search,
                      const RunMissing& run_missing);

/// The table of points; with `--csv` and `--json` the same numbers in files or, for `-`, instead.
Outcome shown_points(const std::string& table, const std::string& name, const PointTable& points,
                     const std::string& csv, const std::string& json);

/// Writes the points as a page for a browser.
void write_points_page(const std::string& file, const Sweep& sweep, const PointTable& points);

/// Throws InputError: without a store there are no rows of other builds.
void refuse_without_store(bool accept_builds, const std::string& store);

}  // namespace stepcast::cli
