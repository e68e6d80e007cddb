#pragma once
#include <string>

namespace stepcast {

/// Throws InputError, each at its line, where a platform file of SimGrid holds what it may not:
/// what SimGrid would do while it simulates, other files, models whose links are no links, names
/// given twice. `key` is what names the file.
void check_platform_text(const std::string& file, const std::string& key);

}  // namespace stepcast
