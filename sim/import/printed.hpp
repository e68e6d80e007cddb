#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "draft.hpp"
#include "stepcast/sim/import/import.hpp"

namespace stepcast::launch {

/// The text of a log: at most its first 64 MiB, signs that steer a terminal left out. Throws
/// InputError: a file that cannot be read.
std::string read_printed(const std::string& path, const SearchPath& search);
/// The framework whose arguments a text lists.
Framework printed_framework(const std::string& text);
/// Whether a text holds the list of arguments that Megatron-LM and its kin print.
bool has_printed_arguments(std::string_view text);

std::optional<std::int64_t> import_arguments(const std::string& path, const std::string& text,
                                             const ImportOptions& options, Draft& draft);

}  // namespace stepcast::launch
