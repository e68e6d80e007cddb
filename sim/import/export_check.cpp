#include <algorithm>
#include <filesystem>
#include <map>

#include "export_flags.hpp"
#include "forms.hpp"
#include "stepcast/base/canonical.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"
#include "stepcast/sim/scenario/draft.hpp"
#include "stepcast/sim/scenario/layers.hpp"

// An export against what an import makes of it.
namespace stepcast {
namespace {

/// Keys of a scenario as its specs have them now: a plan changes those of its file.
std::map<std::string, std::string> keys_of(const Scenario& scenario) {
  ScenarioDraft draft;
  draft.scenario = scenario;
  draft.scenario.schedule.pipeline_group_given = scenario.pipeline_shape().group;
  draft.scenario.workload.plan.dp_given = scenario.workload.plan.dp;
  const std::string content =
      canonical_text([&](Visitor& visitor) { describe_content(visitor, draft); });
  std::map<std::string, std::string> all;
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    const std::string line = content.substr(at, end - at);
    const std::size_t equals = std::min(line.find('='), line.size());
    all[line.substr(0, equals)] = line.substr(std::min(equals + 1, line.size()));
    at = end + 1;
  }
  return all;
}

/// Keys that no framework says, or that are compared by what they mean.
bool is_apart(const std::string& path) {
  return path.starts_with("cluster.") || path.starts_with("simulate.") ||
         path.starts_with("stalls") || path == "model.name" ||
         path == "parallel.layers_per_chunk" || path == "stepcast";
}

/// The preset that runs the scenario, where it is one of the exported framework; else none.
std::string framework_of_export(const Scenario& scenario, std::string_view kind,
                                const SearchPath& search) {
  if (!scenario.framework || scenario.framework->file.empty()) return "none";
  const std::string& file = scenario.framework->file;
  const std::string usual = launch::identify(kind, {}, {}, search).name;
  return launch::identify(kind, {}, file, search).name == usual ? file : "none";
}

/// Presets stand in folders beside each other.
SearchPath search_of(const Scenario& scenario) {
  SearchPath search;
  if (scenario.framework && !scenario.framework->file.empty())
    search.directories.push_back(
        std::filesystem::path(scenario.framework->file).parent_path().parent_path());
  return search;
}

/// What an import makes of the text, on the same cluster and of the size that the text says.
Scenario read_back(const Scenario& scenario, std::string_view kind, const std::string& text) {
  const auto forms = launch::launch_forms();
  const auto form = std::ranges::find(forms, kind, &launch::LaunchForm::name);
  expects(form != forms.end(), "what is exported is a form of launch files");
  // Through the same steps as a user's import, so that what is compared is what a user gets.
  launch::Draft draft{{}};
  draft.set("stepcast", 1, {});
  draft.set("name", "exported", {});
  const SearchPath search = search_of(scenario);
  const std::string framework = framework_of_export(scenario, kind, search);
  draft.run_by(launch::identify(kind, text, framework, search));
  launch::set_framework(draft, framework);
  const auto devices = form->import("exported", text, ImportOptions{}, draft);
  if (!draft.wrong().empty()) throw InputError(draft.wrong());
  // The cluster is no part of a launch file.
  expects(devices.has_value(), "an export says how many devices there are");
  Node root = parse_document(draft.yaml(), "exported");
  const Node* cluster = scenario.document ? scenario.document->find("cluster") : nullptr;
  expects(cluster != nullptr, "an exported scenario was read from a document with a cluster");
  set_value(root, "cluster", *cluster);
  Node count{.kind = Node::Kind::scalar, .text = std::to_string(*devices)};
  set_value(root, "cluster.devices", count);
  launch::leave_to_framework(root, search, draft);
  // As an import does: keys that the text makes and that do nothing here are left out, one error at
  // a time.
  for (;;) {
    try {
      return read_scenario(ScenarioDocument{root, "exported", {}}, search);
    } catch (const InputError& error) {
      if (!launch::leave_out_idle(error, root, draft)) throw;
    }
  }
}

}  // namespace

ChunkLayers chunk_layers(const Scenario& scenario) {
  ChunkLayers all;
  for (const auto& row : layers_of(scenario).slices) {
    all.emplace_back();
    for (const auto& slice : row) all.back().push_back(slice.count);
  }
  return all;
}

std::vector<std::string> lacking_keys(const Scenario& scenario, std::string_view kind,
                                      const std::string& text) {
  std::vector<std::string> lacking;
  try {
    const Scenario again = read_back(scenario, kind, text);
    if (again.cluster.devices != scenario.cluster.devices) lacking.emplace_back("cluster.devices");
    const auto here = keys_of(scenario), there = keys_of(again);
    for (const auto& [path, value] : here) {
      const auto found = there.find(path);
      const std::string other = found == there.end() ? "nothing" : found->second;
      // Without tensor ranks it does nothing, and imports leave it out.
      if (path == "parallel.sequence_parallel" && scenario.workload.plan.tp == 1) continue;
      if (!is_apart(path) && other != value)
        lacking.emplace_back(path)
            .append(" (" + value)
            .append(", the framework has " + other)
            .append(")");
    }
    if (chunk_layers(scenario) != chunk_layers(again))
      lacking.emplace_back("parallel.layers_per_chunk");
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics())
      lacking.push_back((d.path.empty() ? "" : d.path + ": ") + d.message);
  }
  return lacking;
}

}  // namespace stepcast
