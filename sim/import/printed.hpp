#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "draft.hpp"
#include "stepcast/sim/import/import.hpp"

namespace stepcast::launch {

/// One argument with its resolved value, as Python prints it.
struct Printed {
  std::string name, value;
  Place place;
  std::string shown = {};  ///< where a file has it under a longer name
};

/// Arguments as flags: those that are off, at their default or without effect left out. Names that
/// are not known are refused.
Launch arranged(Framework framework, const std::vector<Printed>& arguments, const std::string& path,
                const ImportOptions& options, Draft& draft);

/// The text of a log: at most its first 64 MiB, signs that steer a terminal left out. Throws
/// InputError: a file that cannot be read.
std::string read_printed(const std::string& path, const SearchPath& search);
/// The framework whose arguments a text lists.
Framework printed_framework(const std::string& text);
/// Whether a text holds the list of arguments that Megatron-LM and its kin print.
bool has_printed_arguments(std::string_view text);

}  // namespace stepcast::launch
