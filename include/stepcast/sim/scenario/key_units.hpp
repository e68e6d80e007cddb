#pragma once
#include <string>
#include <string_view>

namespace stepcast {

/// Whether a number is rounded for people or shown as it is.
enum class Digits { few, all };

/// The value of a key of a scenario as people write it. `path` and `value` are those of a line of
/// Scenario::content, which has SI units: `1.6e+12` of `cluster.device.memory.bandwidth` is
/// `1.60 TB/s`, with all digits `1.6e+12 B/s`. What has no unit stays as it is.
std::string value_with_unit(std::string_view path, const std::string& value, Digits digits);

}  // namespace stepcast
