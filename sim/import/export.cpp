#include "stepcast/sim/import/export.hpp"

#include <algorithm>
#include <array>

#include "export_flags.hpp"

// The frameworks that have a way back.
namespace stepcast {
namespace {

struct Export {
  std::string_view kind;
  std::string (*write)(const Scenario&);
};

constexpr std::array<Export, 3> exports{{{"megatron", megatron_script},
                                         {"mindspeed", mindspeed_script},
                                         {"mindformers", mindformers_yaml}}};

}  // namespace

std::vector<std::string> export_kinds() {
  std::vector<std::string> kinds;
  kinds.reserve(exports.size());
  for (const Export& each : exports) kinds.emplace_back(each.kind);
  return kinds;
}

std::string usual_export(const Scenario& scenario) {
  if (scenario.cluster.collectives.library != CollectiveLibrarySpec::Library::hccl)
    return "megatron";
  const bool graph = scenario.workload.runtime.dispatch == RuntimeSpec::Dispatch::graph_sink;
  return graph ? "mindformers" : "mindspeed";
}

LaunchExport export_launch(const Scenario& scenario, const std::string& kind) {
  const auto found = std::ranges::find(exports, kind, &Export::kind);
  expects(found != exports.end(), "an exported kind has a way back");
  if (scenario.synthetic || scenario.graph || !scenario.document) return {{}, {"workload"}};
  LaunchExport result{found->write(scenario), {}};
  result.lacking = lacking_keys(scenario, kind, result.text);
  return result;
}

}  // namespace stepcast
