#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

/// The way back: a scenario as the flags of a framework (docs/formats/launch_files.md).
namespace stepcast {

struct LaunchExport {
  std::string arguments;             ///< flags with their values, on one line
  std::vector<std::string> lacking;  ///< keys that the framework cannot say, or says otherwise
};

/// The flags of Megatron-LM, or with HCCL as the library of collectives those of MindSpeed-LLM.
/// They are read back as an import would, and every key that differs then is lacking.
LaunchExport export_megatron(const Scenario& scenario);

}  // namespace stepcast
