#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace stepcast {

/// The scenarios below a folder of published rows, sorted; lists beside them are none.
std::vector<std::filesystem::path> scenario_files(const std::string& folder);

}  // namespace stepcast
