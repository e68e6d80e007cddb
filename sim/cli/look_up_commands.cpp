#include "command_line.hpp"
#include "option.hpp"

namespace stepcast::cli {
namespace {

void required_cluster(CLI::App* sub, const char* names, std::string& file) {
  CommandLine::preset(sub, names, file, "clusters", "cluster preset or file")->required();
}

void add_topology(CommandLine& line) {
  const auto [sub, options] = line.command(
      topology, "topology", "show the fabric of a cluster: links, bisection bandwidth, routes",
      "stepcast topology clusters/atlas-800t-a2.yaml --devices 1024");
  required_cluster(sub, "cluster CLUSTER", options->cluster);
  option(sub, "--devices N", options->devices, "size of the cluster");
  option(sub, "--dot FILE", options->dot, "write the fabric as a Graphviz graph, - for stdout");
  option(sub, "--platform FILE", options->platform,
         "write the cluster as a platform of SimGrid (XML), - for stdout");
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

void add_collective(CommandLine& line) {
  const auto [sub, options] = line.command(
      collective, "collective", "time of one collective, per algorithm, beside its bandwidth bound",
      "stepcast collective all_reduce --cluster clusters/atlas-800t-a2.yaml --ranks 64 "
      "--devices 64 --size 64MiB");
  required(sub, "kind KIND", options->kind,
           "all_reduce, reduce_scatter, all_gather, all_to_all, broadcast or send_recv");
  required_cluster(sub, "--cluster CLUSTER", options->cluster);
  required(sub, "--ranks N", options->ranks, "members of the group");
  option(sub, "--stride K", options->stride, "distance between members, 8 = one per node of eight");
  required(sub, "--size S", options->size, "bytes as nccl-tests count them, 64MiB");
  option(sub, "--devices N", options->devices, "size of the cluster");
  option(sub, "--algorithm NAME", options->algorithm, "only this one");
  option(sub, "--network FORM", options->network,
         "pairwise: the time with every message a flow of its own beside it");
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

void add_new(CommandLine& line) {
  const auto [sub, options] = line.command(
      new_scenario, "new", "write a first scenario: a model on a cluster, with a plan that fits",
      "stepcast new --model kimi-k2 --cluster atlas-900-a3 --devices 2048 --output kimi.yaml");
  CommandLine::preset(sub, "--model PRESET", options->model, "models",
                      "model preset or file, or a config.json")
      ->required();
  required_cluster(sub, "--cluster PRESET", options->cluster);
  required(sub, "--devices N", options->devices, "size of the job");
  option(sub, "--framework PRESET", options->framework,
         "framework preset; without it the usual one of the device");
  option(sub, "--sequence N", options->sequence, "tokens of a sequence, default 4096");
  option(sub, "--global-batch N", options->global_batch,
         "sequences of a step, default a whole number for each device, 64 at least");
  option(sub, "-o,--output FILE", options->output, "write it to a new file, default stdout");
  CommandLine::presets(sub, *options);
}

void add_keys(CommandLine& line) {
  const auto [sub, options] =
      line.command(keys, "keys", "find keys of a scenario by a word: default, values, meaning",
                   "stepcast keys recompute --in telechat3-36b-2048.yaml");
  required(sub, "word WORD", options->words,
           "part of a key, of its values or of its meaning; all count");
  option(sub, "--in SCENARIO", options->scenario,
         "scenario or launch file whose values are shown beside them");
  CommandLine::launch(sub, options->launch);
  CommandLine::presets(sub, *options);
}

void add_model(CommandLine& line) {
  const auto [sub, options] =
      line.command(model, "model", "parameters, active parameters and FLOPs per token of a model",
                   "stepcast model models/deepseek-v3.yaml --sequence 4096");
  CommandLine::preset(sub, "model MODEL", options->model, "models",
                      "model preset or file, or a Hugging Face config.json")
      ->required();
  option(sub, "--sequence TOKENS", options->sequence, "tokens of a sequence");
  option(sub, "--as FAMILY", options->family,
         "family that a config.json of another model_type is read by");
  CommandLine::json(sub, options->json);
  CommandLine::presets(sub, *options);
}

void add_schedule(CommandLine& line) {
  const auto [sub, options] =
      line.command(schedule, "schedule",
                   "order of a pipeline schedule, drawn and timed by itself: makespan, "
                   "bubble, activations in flight",
                   "stepcast schedule zb_h1 --pp 4 --micro-batches 8 --svg zb_h1.svg");
  required(sub, "schedule SCHEDULE", options->schedule,
           "gpipe, 1f1b, interleaved_1f1b, zb_h1, ... or a YAML file of orders");
  option(sub, "--pp P", options->pp, "pipeline stages");
  option(sub, "--micro-batches M", options->micro_batches, "micro-batches of the step");
  option(sub, "--vpp V", options->vpp, "chunks per stage");
  option(sub, "--slices S", options->slices, "slices of the sequence of a micro-batch");
  option(sub, "--group N", options->group, "micro-batches per visit of a chunk, default pp");
  option(sub, "--warmup KIND", options->warmup, "standard, extra(n) or less_memory");
  option(sub, "--put-off K", options->put_off,
         "stage r defers K times r weight gradients, default the schedule's own");
  option(sub, "--costs F,B,W", options->costs,
         "times of forward, backward for the input, backward for the weights");
  option(sub, "--pair T", options->pair,
         "time of a forward and a backward that run as one, default their sum");
  option(sub, "--latency C", options->latency, "time of a transfer between stages");
  sub->add_flag("--orders", options->orders, "list the units of each stage, too");
  option(sub, "--width N", options->width, "columns of the drawing");
  option(sub, "--svg FILE", options->svg, "write the drawing as SVG, - for stdout");
  CommandLine::json(sub, options->json);
}

void add_list(CommandLine& line) {
  const auto [sub, options] =
      line.command(list_presets, "list", "show the presets that are found, and what each answers",
                   "stepcast list clusters");
  option(sub, "words KIND|WORD", options->words,
         "clusters, models, frameworks, scenarios, what-if or plans; parts of names");
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
