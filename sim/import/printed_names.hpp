#pragma once
#include <span>
#include <string_view>

/// Names of printed arguments that are not those of their flags, and values that are defaults of
/// names which no table of flags has.
namespace stepcast::launch {

struct PrintedName {
  std::string_view printed, flag;
  bool off = false;  ///< the flag is there when False is printed
};
std::span<const PrintedName> printed_names();

/// Whether a name is worked out or of another job than training, or has the value that it has
/// unless said, so that it says nothing.
bool is_printed_default(std::string_view name, std::string_view value);

}  // namespace stepcast::launch
