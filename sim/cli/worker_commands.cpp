#include <CLI/CLI.hpp>

#include "command_line.hpp"
#include "worker.hpp"

namespace stepcast::cli {
namespace {

Outcome answer(const std::vector<std::string>& arguments) {
  if (arguments.front() == "worker") return {"", bad_input, "worker: does not start another one\n"};
  return CommandLine().answer(arguments);
}

}  // namespace

void add_worker_commands(CommandLine& line) {
  auto options = std::make_shared<WorkerOptions>();
  CLI::App* sub = line.command(
      "worker", "answer command lines, a line of JSON each, for other programs",
      "echo '{\"id\": 1, \"arguments\": [\"run\", \"ideal-pipeline.yaml\", \"--json\", "
      "\"-\"]}' | stepcast worker",
      [options] { return worker(*options, answer); });
  sub->add_option("-j,--jobs", options->workers, "requests at a time, default: all processors")
      ->type_name("N");
  sub->add_option("--memory", options->memory, "most memory of one request, default: no limit")
      ->type_name("SIZE");
  sub->add_option("--seconds", options->seconds, "longest time of one request, default: no limit")
      ->type_name("N");
  sub->add_flag("--no-files", options->no_files, "requests write no files");
}

}  // namespace stepcast::cli
