#pragma once
#include <string>

#include "stepcast/sim/scenario/file_kind.hpp"

/// `validate` and `schema` know files of every kind by these functions.
namespace stepcast::cli {

/// The JSON Schema of one kind of file. Throws InputError for a format that is not ours.
std::string schema_of(FileKind kind);

/// Reads a file of this kind with all its checks, which run nothing, and returns what more
/// there is to say of a file that is right. Throws InputError.
std::string check_file(FileKind kind, const std::string& path,
                       const std::vector<std::string>& overrides, const SearchPath& search);

}  // namespace stepcast::cli
