#pragma once
#include "stepcast/base/section.hpp"
#include "stepcast/scheduler/packing.hpp"

namespace stepcast {

/// Reads the file that `schedule.data.documents.file` names, beside the file that names it or on
/// the search path. Every wrong line is reported.
void read_lengths(const Node& root, const SearchPath& search, DocumentSpec& documents,
                  Reading& reading);

}  // namespace stepcast
