#include <CLI/CLI.hpp>

#include "command_line.hpp"

namespace stepcast::cli {
namespace {

void add_topology(CommandLine& line) {
  auto options = std::make_shared<TopologyOptions>();
  CLI::App* sub =
      line.command("topology", "show the fabric of a cluster: links, bisection bandwidth, routes",
                   "stepcast topology clusters/atlas-800t-a2.yaml --devices 1024",
                   [options] { return topology(*options); });
  CommandLine::preset(sub, "cluster", options->cluster, "clusters", "cluster preset or file")
      ->required()
      ->type_name("CLUSTER");
  sub->add_option("--devices", options->devices, "size of the cluster")->type_name("N");
  sub->add_option("--dot", options->dot, "write the fabric as a Graphviz graph, - for stdout")
      ->type_name("FILE");
  sub->add_option("--platform", options->platform,
                  "write the cluster as a platform of SimGrid (XML), - for stdout")
      ->type_name("FILE");
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

void add_collective(CommandLine& line) {
  auto options = std::make_shared<CollectiveOptions>();
  CLI::App* sub = line.command(
      "collective", "time of one collective, per algorithm, beside its bandwidth bound",
      "stepcast collective all_reduce --cluster clusters/atlas-800t-a2.yaml --ranks 64 "
      "--devices 64 --size 64MiB",
      [options] { return collective(*options); });
  sub->add_option("kind", options->kind,
                  "all_reduce, reduce_scatter, all_gather, all_to_all, broadcast or send_recv")
      ->required()
      ->type_name("KIND");
  CommandLine::preset(sub, "--cluster", options->cluster, "clusters", "cluster preset or file")
      ->required()
      ->type_name("CLUSTER");
  sub->add_option("--ranks", options->ranks, "members of the group")->required()->type_name("N");
  sub->add_option("--stride", options->stride,
                  "distance between members, 8 = one per node of eight")
      ->type_name("K");
  sub->add_option("--size", options->size, "bytes as nccl-tests count them, 64MiB")
      ->required()
      ->type_name("S");
  sub->add_option("--devices", options->devices, "size of the cluster")->type_name("N");
  sub->add_option("--algorithm", options->algorithm, "only this one")->type_name("NAME");
  sub->add_option("--network", options->network,
                  "pairwise: the time with every message a flow of its own beside it")
      ->type_name("FORM");
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

void add_new(CommandLine& line) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* sub = line.command(
      "new", "write a first scenario: a model on a cluster, with a plan that fits",
      "stepcast new --model kimi-k2 --cluster atlas-900-a3 --devices 2048 --output kimi.yaml",
      [options] { return new_scenario(*options); });
  CommandLine::preset(sub, "--model", options->model, "models",
                      "model preset or file, or a config.json")
      ->required()
      ->type_name("PRESET");
  CommandLine::preset(sub, "--cluster", options->cluster, "clusters", "cluster preset or file")
      ->required()
      ->type_name("PRESET");
  sub->add_option("--devices", options->devices, "size of the job")->required()->type_name("N");
  sub->add_option("--framework", options->framework,
                  "framework preset; without it the usual one of the device")
      ->type_name("PRESET");
  sub->add_option("--sequence", options->sequence, "tokens of a sequence, default 4096")
      ->type_name("N");
  sub->add_option("--global-batch", options->global_batch,
                  "sequences of a step, default a whole number for each device, 64 at least")
      ->type_name("N");
  sub->add_option("-o,--output", options->output, "write it to a new file, default stdout")
      ->type_name("FILE");
  CommandLine::presets(sub, *options);
}

void add_keys(CommandLine& line) {
  auto options = std::make_shared<KeysOptions>();
  CLI::App* sub =
      line.command("keys", "find keys of a scenario by a word: default, values, meaning",
                   "stepcast keys recompute --in scenarios/telechat3-36b-2048.yaml",
                   [options] { return keys(*options); });
  sub->add_option("word", options->words,
                  "part of a key, of its values or of its meaning; all count")
      ->required()
      ->type_name("WORD");
  sub->add_option("--in", options->scenario,
                  "scenario or launch file whose values are shown beside them")
      ->type_name("SCENARIO");
  CommandLine::launch(sub, options->launch);
  CommandLine::presets(sub, *options);
}

void add_model(CommandLine& line) {
  auto options = std::make_shared<ModelOptions>();
  CLI::App* sub =
      line.command("model", "parameters, active parameters and FLOPs per token of a model",
                   "stepcast model models/deepseek-v3.yaml --sequence 4096",
                   [options] { return model(*options); });
  CommandLine::preset(sub, "model", options->model, "models",
                      "model preset or file, or a Hugging Face config.json")
      ->required()
      ->type_name("MODEL");
  sub->add_option("--sequence", options->sequence, "tokens of a sequence")->type_name("TOKENS");
  sub->add_option("--as", options->family,
                  "family that a config.json of another model_type is read by")
      ->type_name("FAMILY");
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

void add_schedule(CommandLine& line) {
  auto options = std::make_shared<ScheduleOptions>();
  CLI::App* sub = line.command("schedule",
                               "order of a pipeline schedule, drawn and timed by itself: makespan, "
                               "bubble, activations in flight",
                               "stepcast schedule zb_h1 --pp 4 --micro-batches 8 --svg zb_h1.svg",
                               [options] { return schedule(*options); });
  sub->add_option("schedule", options->schedule,
                  "gpipe, 1f1b, interleaved_1f1b, zb_h1, ... or a YAML file of orders")
      ->required()
      ->type_name("SCHEDULE");
  sub->add_option("--pp", options->pp, "pipeline stages")->type_name("P");
  sub->add_option("--micro-batches", options->micro_batches, "micro-batches of the step")
      ->type_name("M");
  sub->add_option("--vpp", options->vpp, "chunks per stage")->type_name("V");
  sub->add_option("--slices", options->slices, "slices of the sequence of a micro-batch")
      ->type_name("S");
  sub->add_option("--group", options->group, "micro-batches per visit of a chunk, default pp")
      ->type_name("N");
  sub->add_option("--warmup", options->warmup, "standard, extra(n) or less_memory")
      ->type_name("KIND");
  sub->add_option("--put-off", options->put_off,
                  "stage r defers K times r weight gradients, default the schedule's own")
      ->type_name("K");
  sub->add_option("--costs", options->costs,
                  "times of forward, backward for the input, backward for the weights")
      ->type_name("F,B,W");
  sub->add_option("--pair", options->pair,
                  "time of a forward and a backward that run as one, default their sum")
      ->type_name("T");
  sub->add_option("--latency", options->latency, "time of a transfer between stages")
      ->type_name("C");
  sub->add_flag("--orders", options->orders, "list the units of each stage, too");
  sub->add_option("--width", options->width, "columns of the drawing")->type_name("N");
  sub->add_option("--svg", options->svg, "write the drawing as SVG, - for stdout")
      ->type_name("FILE");
  CommandLine::json(sub, options->json);
}

void add_list(CommandLine& line) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* sub =
      line.command("list", "show the presets that are found, and what each answers",
                   "stepcast list clusters", [options] { return list_presets(*options); });
  sub->add_option("kind", options->kind,
                  "clusters, models, frameworks, scenarios, what-if or plans")
      ->type_name("KIND");
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

void add_completion(CommandLine& line) {
  auto shell = std::make_shared<std::string>();
  // Known only when the command is there, which refers to it.
  const auto program = std::make_shared<const CLI::App*>();
  CLI::App* sub = line.command("completion", "print a completion script for the shell",
                               "stepcast completion bash > /etc/bash_completion.d/stepcast",
                               [shell, program] { return completion(*shell, **program); });
  *program = sub->get_parent();
  sub->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
}

}  // namespace

void add_look_up_commands(CommandLine& line) {
  add_topology(line);
  add_collective(line);
  add_model(line);
  add_keys(line);
  add_new(line);
  add_schedule(line);
  add_list(line);
  add_completion(line);
}

}  // namespace stepcast::cli
