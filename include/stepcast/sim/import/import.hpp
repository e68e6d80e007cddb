#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/document.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// Launch files of training frameworks become scenarios: docs/formats/launch_files.md.
namespace stepcast {

/// What is known beside a launch file, from the command line or the key `launch`.
struct ImportOptions {
  std::string from;                           ///< a name of import_kinds(); empty: guessed
  std::optional<std::int64_t> devices;        ///< instead of what the file says
  std::string cluster;                        ///< preset
  std::vector<std::string> overrides;         ///< `path.to.key=value`, instead of what a flag says
  bool ignore_unknown = false;                ///< unknown flags are listed, not refused
  std::string deepspeed = {};                 ///< DeepSpeed's JSON beside a script or a config.json
  std::vector<std::string> arguments = {};    ///< of a script: $1, $2, ..
  std::vector<std::string> environment = {};  ///< `NAME=VALUE`, which a script finds set
};

/// A launch file as the text of a scenario, with what was met and is not in it.
struct ImportedScenario {
  std::string text;                   ///< the scenario as YAML; comments name the flag behind a key
  std::vector<std::string> warnings;  ///< what was met and is not in it, each with its place
  ScenarioDocument document;          ///< the same, with the places of the flags
};

/// Reads a launch file, or the folder of a Hugging Face model. Nothing in it is executed. Throws
/// InputError with every flag that is refused or unknown, and every key that does not fit the
/// others, at the flag's place.
ImportedScenario import_launch(const std::string& path, const ImportOptions& options,
                               const SearchPath& search);

/// The kinds that --from takes.
std::vector<std::string> import_kinds();

/// Whether a file is a launch file rather than one of ours, by its name and its first words.
bool is_launch_file(const std::string& path, const SearchPath& search);

/// The tables of flags of docs/formats/launch_files.md.
std::string launch_flags_page();

}  // namespace stepcast
