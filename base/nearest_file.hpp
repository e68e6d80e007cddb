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
/// The same for a file of any kind: one of nearly that name and the same ending beside it.
std::string neighbour_hint(const std::filesystem::path& name);

}  // namespace stepcast
