#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "commands.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/presets_called.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/plan/plan.hpp"

namespace stepcast::cli {
namespace {

constexpr std::int64_t largest_job = 1 << 20, largest_batch = 1 << 24, longest_sequence = 1 << 22,
                       usual_sequence = 4096;
constexpr const char* reserve = "2GiB";  ///< that a plan leaves free, for what no model counts

/// `dgx-h100` of `clusters/dgx-h100.yaml`, the folder of a `config.json`.
std::string short_name(const std::string& file) {
  const std::filesystem::path path{file};
  const std::string stem = path.stem().string();
  return stem == "config" && path.has_parent_path() ? path.parent_path().filename().string() : stem;
}

std::string list_of(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (const std::int64_t v : values) text += (text.size() > 1 ? ", " : "") + std::to_string(v);
  return text + "]";
}

/// Powers of two that divide `n` and are at most `most`.
std::vector<std::int64_t> sizes_of(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= std::min(n, most); d *= 2)
    if (n % d == 0) all.push_back(d);
  return all;
}

/// A whole number of sequences a device, and enough to fill a pipeline: every replica has as many.
std::int64_t usual_batch(std::int64_t devices) {
  constexpr std::int64_t least = 64;
  return devices * std::max<std::int64_t>(1, (least + devices - 1) / devices);
}

struct FirstFile {
  std::string cluster, model, framework, name;  ///< files; empty: not named
  std::int64_t devices = 0, sequence = 0, batch = 0;
  bool config = false;  ///< the model is a config.json
  std::string assumed;  ///< what no option said
};

std::string head_of(const FirstFile& file) {
  std::string text = fmt::format("stepcast: 1\nname: {}\n", file.name);
  if (!file.framework.empty()) text += fmt::format("framework: {}\n", file.framework);
  text += fmt::format("cluster: {{extends: '{}', devices: {}}}\n", file.cluster, file.devices);
  return text +
         fmt::format("model: {{{}: '{}'}}\n", file.config ? "hf_config" : "extends", file.model);
}

std::string searched_text(const FirstFile& file, const ModelSpec& model, std::int64_t node) {
  // Wider lists find little more for a first file and take longer to search.
  constexpr std::int64_t most_stages = 32, most_expert_ranks = 128;
  const auto tp = sizes_of(file.devices, std::min<std::int64_t>(node, 8));
  const auto pp = sizes_of(file.devices, std::min(model.layers, most_stages));
  std::string text = head_of(file);
  text += fmt::format("parallel: {{tp: {}, pp: {}, vpp: [1, 2], zero: 1, sequence_parallel: true",
                      list_of(tp), list_of(pp));
  if (model.moe)
    text += fmt::format(", ep: {}", list_of(sizes_of(model.moe->experts, most_expert_ranks)));
  text += fmt::format(
      "}}\ntraining: {{sequence: {}, global_batch: {}, micro_batch: 1, recompute: [none, "
      "selective, full]}}\nschedule: {{pipeline: [1f1b, interleaved_1f1b]}}\nplan: {{shortlist: "
      "16, memory_reserve: {}}}\n",
      file.sequence, file.batch, reserve);
  return text;
}

std::string found_text(const FirstFile& file, const PlanSpace& space, const PlanPoint& point) {
  const Strategy& s = point.strategy;
  // Of the keys that bases vary only recomputation is one of these.
  std::string recompute = "none";
  for (const auto& [path, value] : space.bases.at(s.base).settings)
    if (path == "training.recompute") recompute = value;
  std::string text = fmt::format(
      "# question: how long is one step of {} on {} devices of {}?\n"
      "# A plan that fits, by arithmetic alone: roughly {}, {} of {} in use and {} "
      "more kept free.\n"
      "# stepcast run simulates it, stepcast plan searches for a better one.{}\n",
      short_name(file.model), file.devices, short_name(file.cluster), human(point.estimate),
      human(point.peak), human(point.capacity), reserve,
      file.assumed.empty() ? "" : " Assumed: " + file.assumed + ".");
  text += head_of(file);
  text += fmt::format("parallel: {{tp: {}, pp: {}, vpp: {}, ", s.tp, s.pp, s.vpp);
  if (s.ep > 1) text += fmt::format("ep: {}, ", s.ep);
  text += fmt::format("zero: {}, sequence_parallel: true, dp: auto}}\n", s.zero);
  text +=
      fmt::format("training: {{sequence: {}, global_batch: {}, micro_batch: {}, recompute: {}}}\n",
                  file.sequence, file.batch, s.micro_batch, recompute);
  return text +
         fmt::format("schedule: {{pipeline: {}}}\n", space.dimensions.schedules.at(s.schedule));
}

[[noreturn]] void refuse_size(const FirstFile& file, const PlanResult& result) {
  std::string why = "the tightest constraint is: " + result.tightest;
  std::string allowed = "more devices, a cluster with more memory, or a shorter --sequence";
  // A batch that divides badly leaves no plan either, and more memory would not help.
  if (result.tightest.find("global batch") != std::string::npos)
    allowed = "a --global-batch that more of their numbers divide, such as " +
              std::to_string(usual_batch(file.devices));
  if (result.nearest)
    why = fmt::format(
        "the least that a plan needs is {} a device, and {} are there beside {} kept free",
        human(result.nearest->peak), human(result.nearest->capacity), reserve);
  bad_option("--devices", fmt::format("is {}, on which no plan of {} fits: {}; allowed: {}",
                                      file.devices, short_name(file.model), why, allowed));
}

}  // namespace

Outcome new_scenario(const NewOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  // A vendor's or a common name stands for several clusters, of which one has to be chosen.
  if (!find_file(options.cluster, {}, search)) {
    const std::string asked = short_name(options.cluster);
    if (const auto names = presets_called(asked, "clusters", search); !names.empty())
      bad_option("--cluster", "is '" + asked + "'; did you mean " + joined(names) + "?");
  }
  FirstFile file;
  file.cluster = options.cluster;
  file.model = options.model;
  file.config = file.model.ends_with(".json");
  file.framework = options.framework;
  file.devices = count_option("--devices", options.devices, 1, largest_job);
  file.sequence = options.sequence.empty()
                      ? usual_sequence
                      : count_option("--sequence", options.sequence, 1, longest_sequence);
  file.batch = options.global_batch.empty()
                   ? usual_batch(file.devices)
                   : count_option("--global-batch", options.global_batch, 1, largest_batch);
  if (options.sequence.empty()) file.assumed = "the sequence";
  if (options.global_batch.empty())
    file.assumed += file.assumed.empty() ? "the global batch" : " and the global batch";
  file.name = fmt::format("{}-{}", short_name(file.model), file.devices);
  const ClusterSpec cluster = cluster_option(file.cluster, std::to_string(file.devices), options);
  const ModelSpec model = read_model(file.model, search);
  const PlanSpace space =
      read_plan_text(searched_text(file, model, cluster.node_devices), "new.yaml", {}, {}, search);
  // By arithmetic alone: a first file should appear at once.
  const PlanResult result = estimate_plan(space);
  if (result.shortlist.empty()) refuse_size(file, result);
  std::string text = found_text(file, space, result.shortlist.front());
  if (options.output.empty() || options.output == "-") return {std::move(text)};
  if (is_there(options.output))
    bad_option("--output", "'" + options.output + "' exists, allowed: a new file");
  write_file(options.output, text);
  return {fmt::format("{}: written; stepcast run {}\n", options.output, options.output)};
}

}  // namespace stepcast::cli
