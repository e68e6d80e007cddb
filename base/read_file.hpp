#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "stepcast/base/document.hpp"

/// Private to base/.
namespace stepcast {

/// The text of a file, or of standard input (`-`), which gives it once; messages call what is
/// allowed `format`. Throws InputError for what cannot be read or is larger than 16 MiB.
std::string read_file(const std::filesystem::path& path, std::string_view format);

}  // namespace stepcast
