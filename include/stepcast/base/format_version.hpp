#pragma once
#include "stepcast/base/describe.hpp"

namespace stepcast {

/// The version of the file format that the program reads; breaking changes count it up.
inline constexpr std::int64_t format_version = 1;

/// Describes `stepcast: 1`, which opens every file. A preset brings its own along into the
/// mapping that extends it.
inline void describe_format_version(Visitor& visitor, bool required = false) {
  std::int64_t version = format_version;
  visitor.field({"stepcast", &version, "version of the file format",
                 between(format_version, format_version), required});
}

}  // namespace stepcast
