#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sim/scenario/framework.hpp"

/// Private to sim/scenario/: where frameworks are, and how they are read.
namespace stepcast {

/// A framework's file: `name` is a path, or a name in a folder `frameworks` of the search path.
std::optional<std::filesystem::path> framework_file(const std::string& name,
                                                    const std::filesystem::path& directory,
                                                    const SearchPath& search);
/// The path without links and dots, where it can be had.
std::string real_path(const std::filesystem::path& path);

/// The framework that `name`, written at `place` below `path`, means; `files`: all that were read.
std::optional<Framework> read_named_framework(const std::string& name, const Place& place,
                                              const std::string& path, const SearchPath& search,
                                              Reading& reading, std::vector<std::string>& files);
/// The framework that a scenario writes as a mapping.
std::optional<Framework> read_written_framework(const Node& mapping, const SearchPath& search,
                                                Reading& reading);

}  // namespace stepcast
