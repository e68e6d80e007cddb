#pragma once
#include <filesystem>

#include "stepcast/base/section.hpp"

namespace stepcast {

/// The folder of the file in which a value stands; the working folder for a setting.
std::filesystem::path directory_of(const Place& place);

/// Notes what of the file is not known because a preset was not found: a key that it would have
/// given is no error of its own.
bool note_missing_presets(const std::vector<Diagnostic>& wrong, Reading& reading);
void drop_consequences(Reading& reading);

/// Adds to unknown keys where a key of that name does stand: `tp` is `parallel.tp`.
void suggest_paths(Reading& reading);

}  // namespace stepcast
