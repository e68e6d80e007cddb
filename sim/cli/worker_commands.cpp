#include "command_line.hpp"
#include "option.hpp"
#include "worker.hpp"

namespace stepcast::cli {
namespace {

Outcome answer(const std::vector<std::string>& arguments) {
  // Both would wait for requests of their own.
  if (arguments.front() == "worker" || arguments.front() == "serve")
    return {"", bad_input, arguments.front() + ": is not for workers\n"};
  return CommandLine(arguments.front()).answer(arguments);
}

}  // namespace

void add_worker_commands(CommandLine& line) {
  auto options = std::make_shared<WorkerOptions>();
  CLI::App* sub = line.command(
      "worker", "answer command lines, a line of JSON each, for other programs",
      "echo '{\"id\": 1, \"arguments\": [\"run\", \"ideal-pipeline.yaml\", \"--json\", "
      "\"-\"]}' | stepcast worker",
      [options] { return worker(*options, answer); });
  option(sub, "-j,--jobs N", options->workers, "requests at a time, default: all processors");
  option(sub, "--memory SIZE", options->memory, "most memory of one request, default: no limit");
  option(sub, "--seconds N", options->seconds, "longest time of one request, default: no limit");
  sub->add_flag("--no-files", options->no_files, "requests write no files");
  sub->add_flag("--confined", options->confined, "requests read presets only, and --folder");
  repeated(sub, "--folder DIR", options->folders, "folder that --confined allows (repeatable)");
}

}  // namespace stepcast::cli
