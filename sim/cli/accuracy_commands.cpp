#include "accuracy.hpp"
#include "command_line.hpp"
#include "option.hpp"
#include "stepcast/base/confined_files.hpp"

namespace stepcast::cli {
namespace {

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
