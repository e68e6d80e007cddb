#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/errors.hpp"

namespace stepcast::launch {

/// One flag of a command with the words behind it, or one key of a structured file with its value.
struct Setting {
  std::string name;  ///< `--num-layers`, `parallel_config.data_parallel`
  std::vector<std::string> words;
  Place place;
  bool is_list = false;      ///< of a structured file: words are the items
  std::string written = {};  ///< the key as the file has it, where that is not the name
  const std::string& shown() const { return written.empty() ? name : written; }
};

/// What a launch file says, whatever its form: flags in order, the environment, the devices.
struct Launch {
  std::string file;
  std::vector<Setting> settings, environment;
  std::optional<Setting> nodes, devices_per_node, devices;  ///< of the launcher
  /// Texts that here-documents of a script wrote, by the last name of the file.
  std::map<std::string, std::string> files = {};
  std::vector<Diagnostic> notes = {};  ///< what was met and not followed, each with its place
};

/// The launch of a shell script or a list of arguments; `text` is that of the file. Throws
/// InputError: what cannot be followed, no launch, several launches.
Launch read_shell(const std::string& path, const std::string& text);
/// Whether a value is what a command would have printed.
bool is_unknown(const std::string& word);

}  // namespace stepcast::launch
