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
  std::optional<Setting> launcher_config = {};              ///< a file that accelerate reads
  /// Texts that here-documents of a script wrote, by the last name of the file.
  std::map<std::string, std::string> files = {};
  std::vector<Diagnostic> notes = {};       ///< what was met and not followed, each with its place
  std::optional<Diagnostic> one_node = {};  ///< noted where the user does not say how many devices
  /// Names of variables that a script asks for and nobody sets, each with its first place.
  std::vector<std::pair<std::string, Place>> missing = {};
  std::string unset = {};                     ///< the same in words, with what to give
  std::string program = {};                   ///< that is launched: a file or a module
  std::vector<std::string> first_words = {};  ///< between the program and its first flag
  std::size_t other_words = 0;                ///< behind it that are no flags: `data.batch=4`
};

/// What a script finds beside it.
struct ShellInputs {
  std::vector<std::string> arguments;              ///< $1, $2, ..
  std::map<std::string, std::string> environment;  ///< variables that are set
};

/// The launch of a shell script or a list of arguments; `text` is that of the file. Throws
/// InputError: what cannot be followed, no launch, several launches.
Launch read_shell(const std::string& path, const std::string& text, const ShellInputs& inputs = {});
/// Whether a script asks for several arguments, `$1` and on, that nobody gives, and how that is
/// said.
bool lacks_arguments(const std::vector<std::pair<std::string, Place>>& missing);
inline const std::string without_arguments = "takes arguments, which are not given";
/// Whether a value is what a command would have printed.
bool is_unknown(const std::string& word);

}  // namespace stepcast::launch
