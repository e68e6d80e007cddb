#pragma once
#include <string>

#include "stepcast/sim/scenario/file_kind.hpp"

/// `validate` and `schema` know files of every kind by these functions.
namespace stepcast::cli {

/// What the keys of a file say it is; a scenario where they do not say.
FileKind kind_of(const std::string& text, const std::string& path, const SearchPath& search);

/// What is wrong with giving a key of such a file a value, taken alone: an unknown key, or a value
/// that its key cannot have. Empty when nothing is.
std::string wrong_value(FileKind kind, const std::string& path, const Node& value);

/// The JSON Schema of one kind of file. Throws InputError for a format that is not ours.
std::string schema_of(FileKind kind);

/// Reads a file of this kind with all its checks, which run nothing, and returns what more
/// there is to say of a file that is right. Throws InputError.
std::string check_file(FileKind kind, const std::string& path,
                       const std::vector<std::string>& overrides, const SearchPath& search);

}  // namespace stepcast::cli
