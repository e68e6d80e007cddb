#pragma once
#include <filesystem>
#include <string>

#include "stepcast/base/document.hpp"

/// Private to base/.
namespace stepcast {

/// `; did you mean clusters/dgx-h100.yaml?` where a YAML file of nearly that name stands in
/// the same folder below `directory` or the search path, and empty otherwise.
std::string file_hint(const std::filesystem::path& name, const std::filesystem::path& directory,
                      const SearchPath& search);

}  // namespace stepcast
