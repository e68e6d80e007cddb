#include "stepcast/sim/import/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/plan/plan_report.hpp"

namespace stepcast {
namespace {

/// Dotted settings as nested YAML, keys in the order of their first appearance.
struct Tree {
  std::string key, value;
  std::vector<Tree> below;

  Tree& child(const std::string& name) {
    const auto found = std::ranges::find(below, name, &Tree::key);
    if (found != below.end()) return *found;
    below.push_back({name, {}, {}});
    return below.back();
  }
  std::string text(std::size_t depth) const {
    std::string all;
    for (const Tree& t : below) {
      all += std::string(2 * depth, ' ') + t.key + ":";
      all += t.below.empty() ? " " + t.value + "\n" : "\n" + t.text(depth + 1);
    }
    return all;
  }
};

/// Settings share prefixes, so that they become a tree before they are text.
void put(Tree& root, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  std::string path = setting.substr(0, equals);
  Tree* node = &root;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.')) {
    node = &node->child(path.substr(0, dot));
    path = path.substr(dot + 1);
  }
  node->child(path).value = setting.substr(equals + 1);
}

/// Layers of each chunk and stage against the even share, as MindFormers' `offset` has it.
std::string offsets(const LayerTable& layers, std::int64_t base) {
  std::string text = "[";
  for (const auto& chunk : layers.slices) {
    text += text.size() > 1 ? ", [" : "[";
    for (std::size_t s = 0; s < chunk.size(); ++s)
      text += (s > 0 ? ", " : "") + std::to_string(chunk[s].count - base);
    text += "]";
  }
  return text + "]";
}

/// MindFormers takes a table of layers or a word for all of them.
std::string recomputed(const TrainingSpec& training, const LayerTable& layers) {
  if (training.recompute == TrainingSpec::Recompute::full) return "True";
  if (training.recompute != TrainingSpec::Recompute::table) return "False";
  std::string text = "[";
  for (std::size_t c = 0; c < layers.slices.size(); ++c) {
    text += c > 0 ? ", [" : "[";
    for (std::size_t s = 0; s < layers.slices[c].size(); ++s)
      text += (s > 0 ? ", " : "") + std::to_string(training.recompute_layers[c][s]);
    text += "]";
  }
  return text + "]";
}

/// MindSpore's name of a schedule; its zero_bubble_v has the phases of dualpipe_v
/// (docs/models/pipeline.md).
std::string mindspore_schedule(const std::string& name) {
  if (name == "interleaved_1f1b") return "1f1b";
  if (name == "dualpipe_v") return "zero_bubble_v";
  const bool same = name == "gpipe" || name == "1f1b" || name == "seqpipe" || name == "seqvpp" ||
                    name == "seqsmartvpp";
  return same ? name : "# " + name + " has no counterpart";
}

/// A run draws one seed, so that its step is not the time by which the plan has decided.
std::string seeds_comment(const PlanSpace& space, const PlanPoint& point) {
  if (!point.seeds) return {};
  const PlanSeeds& seeds = *point.seeds;
  return fmt::format(
      "# The plan has decided by {:g}% of the steps of {} seeds: {}, median {} (run --seeds {}).\n"
      "# Seed {}, which `stepcast run` draws, takes {}.\n",
      100 * space.spec.quantile, space.spec.seeds, human(seeds.decides),
      human(Seconds{seeds.step_time.p50}), space.spec.seeds, seeds.first_seed,
      human(seeds.first_step));
}

}  // namespace

/// The winner extends the plan's own file, so that everything that was not searched stays where it
/// is written.
std::string plan_scenario(const PlanSpace& space, const PlanPoint& point,
                          const std::string& directory) {
  namespace fs = std::filesystem;
  const fs::path file = fs::weakly_canonical(space.file);
  const fs::path from = fs::weakly_canonical(directory.empty() ? "." : directory);
  Tree root;
  for (const std::string& setting : space.overrides) put(root, setting);
  for (const std::string& setting : settings_of(space, point.strategy, point.placement))
    put(root, setting);
  return "# question: what does the best plan of " + space.file + " take?\n" +
         seeds_comment(space, point) + "extends: '" + file.lexically_proximate(from).string() +
         "'\n" + root.text(0);
}

std::string mindformers_keys(const Scenario& scenario) {
  const ParallelPlan& plan = scenario.workload.plan;
  const LayerTable layers = assign_layers(scenario.workload, scenario.cluster.device);
  const std::int64_t base = scenario.workload.model.layers / plan.chunk_map().virtual_stages();
  std::string text = "parallel_config:\n";
  const auto line = [&](const char* key, std::int64_t value) {
    text += fmt::format("  {}: {}\n", key, value);
  };
  line("data_parallel", plan.dp);
  line("model_parallel", plan.tp);
  line("context_parallel", plan.cp);
  line("expert_parallel", plan.ep);
  line("pipeline_stage", plan.pp);
  line("micro_batch_num", scenario.micro_batches());
  if (scenario.schedule.slices > 1) line("seq_split_num", scenario.schedule.slices);
  text += fmt::format("  use_seq_parallel: {}\n", plan.sequence_parallel ? "True" : "False");
  text += fmt::format("runner_config:\n  batch_size: {}\n", scenario.workload.training.micro_batch);
  text +=
      fmt::format("parallel:\n  enable_parallel_optimizer: {}\n", plan.zero > 0 ? "True" : "False");
  if (plan.zero > 1)
    text += "  parallel_optimizer_config:\n    gradient_accumulation_shard: True\n";
  text +=
      fmt::format("  pipeline_config:\n    pipeline_interleave: {}\n    pipeline_scheduler: {}\n",
                  plan.vpp > 1 ? "True" : "False", mindspore_schedule(scenario.schedule.pipeline));
  text += fmt::format("recompute_config:\n  recompute: {}\n",
                      recomputed(scenario.workload.training, layers));
  if (scenario.workload.training.recompute == TrainingSpec::Recompute::selective)
    text += "  select_recompute: True\n";
  return text + fmt::format("model:\n  model_config:\n    pp_interleave_num: {}\n    offset: {}\n",
                            plan.vpp, offsets(layers, base));
}

/// The reader's way, since flags are held against the file that they came from.
std::string megatron_arguments(const Scenario& scenario) {
  const LaunchExport flags = export_megatron(scenario);
  if (flags.lacking.empty()) return flags.arguments + "\n";
  std::string text = "none, since no flag says\n";
  for (const std::string& key : flags.lacking) text += "  " + key + "\n";
  return text;
}

}  // namespace stepcast
