#pragma once
#include <string>

#include "stepcast/sim/scenario/file_kind.hpp"

/// `validate` knows files of every kind by this function.
namespace stepcast::cli {

/// This reads a file of this kind with all its checks, which run nothing, and returns what more
/// there is to say of a file that is right. Throws InputError.
std::string check_file(FileKind kind, const std::string& path,
                       const std::vector<std::string>& overrides, const SearchPath& search);

}  // namespace stepcast::cli
