#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>

#include "commands.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/version.hpp"

namespace {

using namespace stepcast;

/// Every command with its options; the chosen one is left in `chosen`.
class CommandLine {
 public:
  CommandLine()
      : app_{
            "stepcast predicts the time of one LLM training step on a cluster, before anyone books "
            "it."} {
    app_.set_version_flag("--version", std::string("stepcast ") + version);
    app_.require_subcommand(1);
    app_.add_flag("-v,--verbose", verbose_, "log what is done to stderr");
    app_.add_flag("-q,--quiet", quiet_, "log errors only");
    app_.fallthrough();
    app_.footer("Start with: stepcast run scenarios/telechat3-36b-2048.yaml");
    add_run();
    add_files();
    add_topology();
    add_collective();
    add_model();
    add_schedule();
    add_completion();
  }

  int main(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      const std::vector<std::string> rest = app_.remaining();
      if (app_.get_subcommands().empty() && !rest.empty()) {
        std::cerr << rest.front() << ": is no command or option, see stepcast --help\n";
        return cli::bad_input;
      }
      const int code = app_.exit(error);
      return code == 0 ? cli::done : cli::bad_input;
    }
    spdlog::set_default_logger(spdlog::stderr_color_st("stepcast"));
    spdlog::set_pattern("%^%l%$: %v");
    spdlog::set_level(quiet_     ? spdlog::level::err
                      : verbose_ ? spdlog::level::debug
                                 : spdlog::level::warn);
    refuse_empty_options();
    const auto begin = std::chrono::steady_clock::now();
    const cli::Outcome outcome = chosen_();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    spdlog::debug("{} took {:.3f} s", app_.get_subcommands().front()->get_name(), took.count());
    for (const std::string& warning : outcome.warnings) spdlog::warn(warning);
    std::cout << outcome.text << std::flush;
    std::cerr << outcome.complaint;
    if (std::cout) return outcome.exit_code;
    std::cerr << "stdout: cannot be written\n";
    return cli::bad_input;
  }

 private:
  /// An option whose text is empty would be taken for one that is not there.
  void refuse_empty_options() const {
    for (const CLI::Option* option : app_.get_subcommands().front()->get_options()) {
      if (option->get_positional()) continue;
      for (const std::string& given : option->results())
        if (given.empty()) cli::bad_option(option->get_name(), "is empty, give a value");
    }
  }

  CLI::App* command(const char* name, const char* what, const char* example,
                    std::function<cli::Outcome()> body) {
    CLI::App* sub = app_.add_subcommand(name, what);
    sub->footer(std::string("Example: ") + example);
    sub->callback([this, body = std::move(body)] { chosen_ = body; });
    return sub;
  }
  static void presets(CLI::App* sub, cli::PresetOptions& options) {
    sub->add_option("--presets", options.presets, "folder to look for presets in (repeatable)")
        ->type_name("DIR")
        ->allow_extra_args(false);
  }

  static void json(CLI::App* sub, std::string& file) {
    sub->add_option("--json", file, "write the result as JSON, - for stdout instead of the table")
        ->type_name("FILE");
  }
  static void overrides(CLI::App* sub, std::vector<std::string>& list) {
    sub->add_option("--set", list, "override a key, path.to.key=value (repeatable)")
        ->type_name("K=V")
        ->allow_extra_args(false);
  }

  void add_run() {
    CLI::App* sub =
        command("run", "predict one step of a scenario",
                "stepcast run scenarios/telechat3-36b-2048.yaml --set parallel.vpp=4 --json -",
                [this] { return cli::run(run_); });
    sub->add_option("scenario", run_.scenario, "scenario file, - for standard input")
        ->required()
        ->type_name("SCENARIO");
    overrides(sub, run_.overrides);
    json(sub, run_.json);
    sub->add_flag("--timing", run_.timing, "report wall time and memory of the simulation itself");
    sub->add_flag("--fail-on-oom", run_.fail_on_oom,
                  "exit 1 when the step does not fit into device memory");
    presets(sub, run_);
  }

  void add_files() {
    CLI::App* sub =
        command("validate", "check scenario, cluster and model files without running them",
                "stepcast validate scenarios/*.yaml", [this] { return cli::validate(validate_); });
    sub->add_option("files", validate_.files, "files to check")->required()->type_name("FILE");
    overrides(sub, validate_.overrides);
    presets(sub, validate_);
    command("schema", "print the JSON Schema of scenario files",
            "stepcast schema > scenario.schema.json", [] { return cli::schema(); });
  }

  void add_topology() {
    CLI::App* sub =
        command("topology", "show the fabric of a cluster: links, bisection bandwidth, routes",
                "stepcast topology clusters/atlas-800t-a2.yaml --devices 1024",
                [this] { return cli::topology(topology_); });
    sub->add_option("cluster", topology_.cluster, "cluster file")->required()->type_name("CLUSTER");
    sub->add_option("--devices", topology_.devices, "size of the cluster")->type_name("N");
    sub->add_option("--dot", topology_.dot, "write the fabric as a Graphviz graph, - for stdout")
        ->type_name("FILE");
    json(sub, topology_.json);
    presets(sub, topology_);
  }

  void add_collective() {
    CLI::App* sub =
        command("collective", "time of one collective, per algorithm, beside its bandwidth bound",
                "stepcast collective all_reduce --cluster clusters/atlas-800t-a2.yaml --ranks 64 "
                "--devices 64 --size 64MiB",
                [this] { return cli::collective(collective_); });
    sub->add_option("kind", collective_.kind,
                    "all_reduce, reduce_scatter, all_gather, all_to_all or broadcast")
        ->required()
        ->type_name("KIND");
    sub->add_option("--cluster", collective_.cluster, "cluster file")
        ->required()
        ->type_name("CLUSTER");
    sub->add_option("--ranks", collective_.ranks, "members of the group")
        ->required()
        ->type_name("N");
    sub->add_option("--stride", collective_.stride,
                    "distance between members, 8 = one per node of eight")
        ->type_name("K");
    sub->add_option("--size", collective_.size, "bytes as nccl-tests count them, 64MiB")
        ->required()
        ->type_name("S");
    sub->add_option("--devices", collective_.devices, "size of the cluster")->type_name("N");
    sub->add_option("--algorithm", collective_.algorithm, "only this one")->type_name("NAME");
    sub->add_option("--network", collective_.network,
                    "pairwise: the time with every message a flow of its own beside it")
        ->type_name("FORM");
    json(sub, collective_.json);
    presets(sub, collective_);
  }

  void add_model() {
    CLI::App* sub = command("model", "parameters, active parameters and FLOPs per token of a model",
                            "stepcast model models/deepseek-v3.yaml --sequence 4096",
                            [this] { return cli::model(model_); });
    sub->add_option("model", model_.model, "model file, or a Hugging Face config.json")
        ->required()
        ->type_name("MODEL");
    sub->add_option("--sequence", model_.sequence, "tokens of a sequence")->type_name("TOKENS");
    json(sub, model_.json);
    presets(sub, model_);
  }

  void add_schedule() {
    CLI::App* sub = command("schedule",
                            "order of a pipeline schedule, drawn and timed by itself: makespan, "
                            "bubble, activations in flight",
                            "stepcast schedule zb_h1 --pp 4 --micro-batches 8 --svg zb_h1.svg",
                            [this] { return cli::schedule(schedule_); });
    sub->add_option("schedule", schedule_.schedule,
                    "gpipe, 1f1b, interleaved_1f1b, zb_h1, ... or a YAML file of orders")
        ->required()
        ->type_name("SCHEDULE");
    sub->add_option("--pp", schedule_.pp, "pipeline stages")->type_name("P");
    sub->add_option("--micro-batches", schedule_.micro_batches, "micro-batches of the step")
        ->type_name("M");
    sub->add_option("--vpp", schedule_.vpp, "chunks per stage")->type_name("V");
    sub->add_option("--slices", schedule_.slices, "slices of the sequence of a micro-batch")
        ->type_name("S");
    sub->add_option("--group", schedule_.group, "micro-batches per visit of a chunk, default pp")
        ->type_name("N");
    sub->add_option("--warmup", schedule_.warmup, "standard, extra(n) or less_memory")
        ->type_name("KIND");
    sub->add_option("--costs", schedule_.costs,
                    "times of forward, backward for the input, backward for the weights")
        ->type_name("F,B,W");
    sub->add_option("--pair", schedule_.pair,
                    "time of a forward and a backward that run as one, default their sum")
        ->type_name("T");
    sub->add_option("--latency", schedule_.latency, "time of a transfer between stages")
        ->type_name("C");
    sub->add_flag("--orders", schedule_.orders, "list the units of each stage, too");
    sub->add_option("--width", schedule_.width, "columns of the drawing")->type_name("N");
    sub->add_option("--svg", schedule_.svg, "write the drawing as SVG, - for stdout")
        ->type_name("FILE");
    json(sub, schedule_.json);
  }

  void add_completion() {
    CLI::App* sub = command("completion", "print a completion script for the shell",
                            "stepcast completion bash > /etc/bash_completion.d/stepcast",
                            [this] { return cli::completion(shell_); });
    sub->add_option("shell", shell_, "bash")
        ->required()
        ->check(CLI::IsMember({"bash"}))
        ->type_name("SHELL");
  }

  CLI::App app_;
  std::function<cli::Outcome()> chosen_;
  cli::RunOptions run_;
  cli::ValidateOptions validate_;
  cli::TopologyOptions topology_;
  cli::CollectiveOptions collective_;
  cli::ModelOptions model_;
  cli::ScheduleOptions schedule_;
  std::string shell_;
  bool verbose_ = false, quiet_ = false;
};

}  // namespace

/// SimGrid visits coupled links recursively: the stack of a job of 10^5 ranks is deeper than usual.
static void allow_deep_stack() {
  constexpr rlim_t wanted = rlim_t{1} << 30U;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);
}

int main(int argc, char** argv) {
  allow_deep_stack();
  try {
    return CommandLine().main(argc, argv);
  } catch (const stepcast::InputError& error) {
    std::cerr << error.what() << "\n";
    return stepcast::cli::bad_input;
  } catch (const stepcast::EngineError& error) {
    std::cerr << "engine: " << error.what() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "internal error: " << error.what() << "\n";
  }
  return stepcast::cli::internal_error;
}
