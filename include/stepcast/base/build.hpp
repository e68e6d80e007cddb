#pragma once
#include <string>

#include "stepcast/base/version.hpp"

/// Says which build of the program is running, so that a result can tell what made it.
namespace stepcast {

/// The commit that the program was built from, `-dirty` where files differed from it. It is
/// empty where the build knew no git, and in programs that are not shipped, such as tests.
const char* build_commit();

/// A hash over the build id of the executable or module that holds this code: 16
/// hexadecimal digits that change with every change of the machine code, and not with the machine.
/// stepcast-mpi has that of the stepcast beside which it was built.
const std::string& build_fingerprint();

/// That hash for the executable or module that holds the code at an address.
std::string fingerprint_of(const void* code);

/// The head of a JSON result: version of the format and of the program, commit (null where
/// it is not known) and fingerprint. `Json` is a type of nlohmann-json.
template <class Json>
Json program_head() {
  const std::string commit = build_commit();
  return {{"format", 1},
          {"version", version},
          {"commit", commit.empty() ? Json(nullptr) : Json(commit)},
          {"fingerprint", build_fingerprint()}};
}

}  // namespace stepcast
