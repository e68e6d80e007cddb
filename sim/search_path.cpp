#include <cstdlib>
#include <sstream>

#include "stepcast/sim/scenario.hpp"

namespace stepcast {

SearchPath default_search_path(const std::vector<std::string>& presets) {
  SearchPath search;
  for (const std::string& directory : presets) search.directories.emplace_back(directory);
  if (const char* variable = std::getenv("STEPCAST_PRESETS")) {
    std::istringstream stream{variable};
    for (std::string directory; std::getline(stream, directory, ':');) {
      if (!directory.empty()) search.directories.emplace_back(directory);
    }
  }
  search.directories.emplace_back(STEPCAST_INSTALLED_PRESETS);
  search.directories.emplace_back(STEPCAST_SOURCE_PRESETS);
  return search;
}

}  // namespace stepcast
