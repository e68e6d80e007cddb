#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/program.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

/// PREFIX/share/stepcast of a program PREFIX/bin/stepcast, wherever PREFIX was moved to.
std::string beside_program() {
  const std::filesystem::path program = program_file();
  if (program.empty()) return {};
  std::error_code failure;
  const auto folder = program.parent_path().parent_path() / "share" / "stepcast";
  return std::filesystem::is_directory(folder, failure) ? folder.string() : std::string();
}

}  // namespace

SearchPath default_search_path(const std::vector<std::string>& presets) {
  // First found wins: the command line, the environment, beside the program, installed, and the
  // source tree last, so that an installed program never finds the presets of a checkout.
  SearchPath search;
  for (const std::string& directory : presets) {
    if (!is_folder(directory)) {
      refuse_input({directory}, {}, "is no folder, allowed: a folder of presets");
    }
    search.directories.emplace_back(directory);
  }
  if (const char* variable = std::getenv("STEPCAST_PRESETS")) {
    std::istringstream stream{variable};
    for (std::string directory; std::getline(stream, directory, ':');) {
      if (!directory.empty()) search.directories.emplace_back(directory);
    }
  }
  if (const std::string beside = beside_program(); !beside.empty())
    search.directories.emplace_back(beside);
  search.directories.emplace_back(STEPCAST_INSTALLED_PRESETS);
  constexpr std::string_view source = STEPCAST_SOURCE_PRESETS;
  if (!source.empty()) search.directories.emplace_back(source);
  return search;
}

}  // namespace stepcast
