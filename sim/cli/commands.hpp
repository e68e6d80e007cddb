#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace CLI {
class App;
}

/// The commands of the binary as functions from options to text. Only main prints and exits.
namespace stepcast::cli {

/// Exit codes of the contract.
inline constexpr int done = 0, check_failed = 1, bad_input = 2, internal_error = 3;

struct Outcome {
  std::string text;  ///< for stdout
  int exit_code = done;
  std::string complaint = {};              ///< for stderr, as it is
  std::vector<std::string> warnings = {};  ///< for the log
};

/// What every command that reads presets takes.
struct PresetOptions {
  std::vector<std::string> presets;  ///< --presets
};

/// What a launch file does not say itself.
struct LaunchOptions {
  std::string from, devices, cluster, deepspeed;    ///< empty: not given
  std::vector<std::string> arguments, environment;  ///< of a script: behind --, and --env
  bool ignore_unknown = false;
};

struct RunOptions : PresetOptions {
  std::string jobs;  ///< processes at a time; empty: all processors
  std::string scenario;
  LaunchOptions launch;
  std::vector<std::string> overrides;  ///< --set
  std::string json;                    ///< file, `-` for stdout instead of the table
  bool timing = false, fail_on_oom = false;
  std::string trace, report, step_trace, kernel_details;  ///< files
  std::string kernel_rank;                                ///< empty: 0
  std::string trace_ranks = "64";  ///< rank classes at most that the trace shows
  bool pipeline = false, operators = false;
  bool keys = false;               ///< what the framework says
  std::string operators_csv;       ///< file, `-` for stdout instead of the table
  std::string graph, graph_ranks;  ///< file; `0,8`, empty: as the form has it
  std::string paje;                ///< file
  std::string seeds;               ///< how many; empty: that of the scenario alone
  std::string load_steps;          ///< how many; empty: that of the scenario alone
  bool records() const {
    return pipeline || operators || !operators_csv.empty() || !trace.empty() || !report.empty() ||
           !step_trace.empty() || !kernel_details.empty();
  }
};
Outcome run(const RunOptions& options);

/// Writes the task graph of a step as .json, .dot or .et; what the form cannot say goes to
/// `warnings`. Throws InputError.
void write_graph(const std::string& path, const std::string& ranks, const Scenario& scenario,
                 std::vector<std::string>& warnings);

/// The overrides of a file with what the options say of a launch file, for every reader that takes
/// a path and overrides. Throws InputError: an option that does nothing for this file.
std::vector<std::string> launch_overrides(const std::string& path,
                                          const std::vector<std::string>& overrides,
                                          const LaunchOptions& launch, const SearchPath& search);
/// The scenario of a file of ours or of a launch file. Throws InputError.
Scenario scenario_option(const std::string& path, const std::vector<std::string>& overrides,
                         const LaunchOptions& launch, const SearchPath& search,
                         std::vector<std::string>& warnings);

/// A document whose devices are varied: of a launch file that leaves its size open that of a job
/// of `first` devices. Throws InputError.
ScenarioDocument sized_scenario(const std::string& path, const std::vector<std::string>& overrides,
                                LaunchOptions launch, std::int64_t first, const SearchPath& search);

struct NewOptions : PresetOptions {
  std::string model, cluster, devices;
  std::string framework;     ///< empty: the usual one of the device
  std::string sequence;      ///< empty: 4096
  std::string global_batch;  ///< empty: by the devices
  std::string output;        ///< file; empty: stdout
};
/// A first scenario that runs, with the plan that fits and has the least estimate. Throws
/// InputError.
Outcome new_scenario(const NewOptions& options);

struct ValidateOptions : PresetOptions {
  std::vector<std::string> files;
  LaunchOptions launch;
  std::vector<std::string> overrides;  ///< --set
};
Outcome validate(const ValidateOptions& options);

/// `kind` is a name of file_kinds().
Outcome schema(const std::string& kind);

struct TopologyOptions : PresetOptions {
  std::string cluster, dot, platform;
  std::string json;     ///< as for run
  std::string devices;  ///< empty: as the preset says
};
Outcome topology(const TopologyOptions& options);

struct CollectiveOptions : PresetOptions {
  std::string kind, cluster, size, algorithm;
  std::string devices;  ///< empty: as the preset says
  std::string ranks, stride = "1";
  std::string network = "ports";  ///< pairwise: that form too
  std::string json;               ///< as for run
};
Outcome collective(const CollectiveOptions& options);

struct ModelOptions : PresetOptions {
  std::string model, family;
  std::string sequence = "4096";
  std::string json;  ///< as for run
};
Outcome model(const ModelOptions& options);

struct ScheduleOptions {
  std::string schedule;            ///< a name of the table, or a YAML file of orders
  std::string pp, micro_batches;   ///< needed with a name
  std::string vpp, slices, group;  ///< empty: the least that the schedule serves; group: pp
  std::string warmup;              ///< empty: standard
  std::string put_off;             ///< empty: the schedule's own
  std::string costs = "1,1,1", latency = "0";
  std::string pair;           ///< empty: the sum of the costs
  std::string width = "100";  ///< of the drawing as text
  bool orders = false;
  std::string svg;   ///< file, `-` for stdout instead of the table
  std::string json;  ///< as for run
};
Outcome schedule(const ScheduleOptions& options);

struct KeysOptions : PresetOptions {
  std::vector<std::string> words;
  std::string scenario;  ///< whose values are shown; empty: none
  LaunchOptions launch;
};
/// The keys of a scenario that words are about, the nearest first.
Outcome keys(const KeysOptions& options);

struct ListOptions : PresetOptions {
  std::vector<std::string> words;  ///< clusters, models ... first, or parts of names
  std::string json;                ///< --json
};
Outcome list_presets(const ListOptions& options);
/// The few keys of scenarios and plans that end with what an option is called (`--tp`).
std::vector<std::string> keys_called(const std::string& option);

/// `program` has the commands that are offered.
Outcome completion(const std::string& shell, const CLI::App& program);

/// Throws InputError that names the option.
[[noreturn]] void bad_option(const std::string& option, const std::string& message);

/// The whole number that an option holds, `4Ki` or `8`. Throws InputError.
std::int64_t count_option(const std::string& option, const std::string& text, std::int64_t low,
                          std::int64_t high);
/// The number of processes that `--jobs` asks for; empty: one per processor. Throws InputError.
int jobs_option(const std::string& text);
/// The number of `--seeds`; `draws` says whether the scenario has anything that a seed changes.
/// Throws InputError.
std::int64_t seeds_option(const std::string& text, bool draws);

/// The cluster file at the size of `--devices` (empty: its own). Throws InputError.
ClusterSpec cluster_option(const std::string& path, const std::string& devices,
                           const PresetOptions& options);

/// The table; with `--json` the same numbers in a file or, for `-`, instead of the table.
Outcome shown(std::string table, const std::string& json_file, const std::string& json);

/// Whether stdout is a terminal that wants colours.
bool colours();

/// Writes beside, then renames: a reader sees the old file or the new one. Links are followed;
/// devices and pipes are written in place. `-` is not a file.
/// Throws InputError when the place cannot be written.
void write_file(const std::string& path, const std::string& text);

/// The columns of stdout where it is a terminal, at least 80; otherwise 100, so that a file does
/// not depend on the window in which it was written.
std::size_t terminal_width();

/// The same for tables of which a file should lose nothing: 0, any length, where stdout is no
/// terminal.
std::size_t lines_width();

/// Gives the text of a file to its argument, piece by piece.
using PieceWriter = std::function<void(const std::function<void(std::string_view)>&)>;

/// `by_name`: compressed when the name ends in `.gz`.
enum class Form { plain, by_name };

/// Writes a file that is too long for one text, otherwise as write_file does.
/// Throws InputError when the place cannot be written.
void write_pieces(const std::string& path, Form form, const PieceWriter& body);

/// Removes the file that is being written under another name, if there is one. For handlers of
/// signals.
void remove_unfinished_file();

/// Completion scripts made of the commands and options of a program themselves.
std::string zsh_completion(const CLI::App& program);
std::string fish_completion(const CLI::App& program);

}  // namespace stepcast::cli
