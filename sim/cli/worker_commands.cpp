#include "command_line.hpp"
#include "option.hpp"
#include "serve.hpp"
#include "worker.hpp"

namespace stepcast::cli {
namespace {

Outcome answer(const std::vector<std::string>& arguments) {
  // Both would wait for requests of their own.
  if (arguments.front() == "worker" || arguments.front() == "serve")
    return {"", bad_input, arguments.front() + ": is not for workers\n"};
  return CommandLine(arguments.front()).answer(arguments);
}

void add_worker(CommandLine& line) {
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

void add_choices(CommandLine& line) {
  const auto [sub, options] = line.command(
      choices, "choices", "which of some values may run, one by one, and why the others may not",
      "stepcast choices scenarios/telechat3-36b-2048.yaml parallel.tp=4,8,16 --set "
      "parallel.dp=auto");
  required(sub, "scenario SCENARIO", options->scenario,
           "scenario or launch file, - for standard input");
  required(sub, "keys K=V,V", options->keys, "path.to.key=value,value");
  CommandLine::overrides(sub, options->overrides);
  CommandLine::presets_of(sub, options->overrides);
  CommandLine::launch_size(sub, options->launch);
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

void add_serve(CommandLine& line) {
  const auto [sub, options] =
      line.command(serve, "serve", "open a page in the browser that answers while one turns knobs",
                   "stepcast serve --folder my-scenarios");
  sub->add_option("--port", options->port,
                  "port, 0 for any free one; default: 8471 or the next free");
  sub->add_option("--host", options->host,
                  "address to listen on; anything but loopback lets others use this machine");
  repeated(sub, "--allow-host NAME[:PORT]", options->allowed_hosts,
           "name under which browsers may ask, with --host (repeatable)");
  repeated(sub, "--folder DIR", options->folders, "folder of scenarios and presets (repeatable)");
  option(sub, "-j,--jobs N", options->workers, "forecasts at a time, default: all processors");
  sub->add_flag("--open", options->opens, "open the page in the browser");
}

}  // namespace

void add_worker_commands(CommandLine& line) {
  add_worker(line);
  add_choices(line);
  add_serve(line);
}

}  // namespace stepcast::cli
