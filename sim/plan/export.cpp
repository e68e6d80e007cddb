#include "stepcast/sim/import/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "stepcast/base/text.hpp"
#include "stepcast/base/written_document.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
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
  // A setting is `path=value`.
  const std::size_t equals = setting.find('=');
  std::string path = setting.substr(0, equals);
  Tree* node = &root;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.')) {
    node = &node->child(path.substr(0, dot));
    path = path.substr(dot + 1);
  }
  node->child(path).value = setting.substr(equals + 1);
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

/// The winner as it extends the plan's own file.
std::string extending_text(const PlanSpace& space, const std::vector<std::string>& settings,
                           const std::string& directory) {
  namespace fs = std::filesystem;
  const fs::path file = fs::weakly_canonical(space.file);
  const fs::path from = fs::weakly_canonical(directory.empty() ? "." : directory);
  // Overrides of the command line are part of what the plan was asked.
  Tree root;
  for (const std::string& setting : settings) put(root, setting);
  return "extends: '" + file.lexically_proximate(from).string() + "'\n" + root.text(0);
}

/// The same scenario with its own keys and the names of its presets.
std::string standing_text(const PlanSpace& space, const std::vector<std::string>& settings,
                          const std::string& directory, const SearchPath& search) {
  Node root = space.launched ? space.launched->root : load_document(space.file, search);
  std::vector<Diagnostic> wrong;
  apply_overrides(root, settings, search, wrong);
  if (!wrong.empty()) throw InputError(std::move(wrong));
  std::erase_if(root.entries, [](const Node::Entry& entry) {
    return entry.key == "plan" || entry.key == "expect";
  });
  return written_document(root, directory);
}

std::string hash_of(const std::string& text, const std::string& directory,
                    const SearchPath& search) {
  const std::string path = (std::filesystem::path(directory) / "winner.yaml").string();
  return prepare_scenario({load_document_text(text, path, search), path, {}}, search).sha256;
}

/// By itself where that is the same scenario, else as it extends the plan's file; a launch file is
/// nothing that a scenario could extend.
std::string winner_text(const PlanSpace& space, const std::vector<std::string>& settings,
                        const std::string& directory, const SearchPath& search) {
  if (space.launched) return standing_text(space, settings, directory, search);
  std::string extending = extending_text(space, settings, directory);
  try {
    std::string alone = standing_text(space, settings, directory, search);
    if (hash_of(alone, directory, search) == hash_of(extending, directory, search)) return alone;
  } catch (const InputError&) {  // a file that only the plan knows how to reach
  }
  return extending;
}

}  // namespace

std::string plan_scenario(const PlanSpace& space, const PlanPoint& point,
                          const std::string& directory, const std::vector<std::string>& idle,
                          const SearchPath& search) {
  std::vector<std::string> settings = space.overrides;
  for (std::string& setting : settings_of(space, point.strategy, point.placement))
    settings.push_back(std::move(setting));
  for (const std::string& key : idle) settings.push_back(key + "=auto");
  const std::string text = winner_text(space, settings, directory, search);
  return "# question: what does the best plan of " + space.file + " take?\n" +
         seeds_comment(space, point) + text;
}

/// The frameworks that run on the hardware, the usual one first.
std::string launch_files(const Scenario& scenario) {
  // The usual framework first, then another of the same hardware.
  std::vector<std::string> kinds{usual_export(scenario)};
  if (kinds.front() != "megatron")
    kinds.emplace_back(kinds.front() == "mindspeed" ? "mindformers" : "mindspeed");
  std::string text;
  for (const std::string& kind : kinds) {
    const LaunchExport file = export_launch(scenario, kind);
    // The first one that can say everything is enough.
    if (file.lacking.empty())
      return text + "Launch file for " + kind + " (stepcast export --to " + kind + "):\n" +
             file.text;
    text += "No launch file for " + kind + ", since nothing in it says\n";
    for (const std::string& key : file.lacking) text += "  " + key + "\n";
  }
  return text;
}

}  // namespace stepcast
