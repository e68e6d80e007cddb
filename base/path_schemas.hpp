#pragma once
#include <string>

#include "schema_values.hpp"

namespace stepcast {

/// The schema of a mapping from paths of keys to their values, or to lists of their values.
/// `mapping` is the schema of the mapping that the paths lead into; it stands below `$defs` as
/// `name`.
Json path_schemas(const Json& mapping, const std::string& name, bool lists);

}  // namespace stepcast
