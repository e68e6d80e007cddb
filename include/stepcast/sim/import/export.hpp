#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

/// The way back: a scenario as a launch file of a framework (docs/formats/launch_files.md).
namespace stepcast {

/// A launch file, or the keys that its framework has no way to say.
struct LaunchExport {
  std::string text;                  ///< the launch file, with its devices
  std::vector<std::string> lacking;  ///< keys that the framework cannot say, or says otherwise
};

/// The kinds that export_launch takes: names of import_kinds() that have a way back.
std::vector<std::string> export_kinds();
/// The kind of the hardware's own people: mindspeed where the library of collectives is HCCL and
/// nothing is compiled into a graph, mindformers where it is, else megatron.
std::string usual_export(const Scenario& scenario);

/// The launch file of a scenario that was read from a document. It is read back as an import would,
/// on the same cluster, and every key that differs then is lacking. A kind that is none of
/// export_kinds() is a ContractError.
LaunchExport export_launch(const Scenario& scenario, const std::string& kind);

}  // namespace stepcast
