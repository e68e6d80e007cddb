#include "stepcast/base/module.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "stepcast/base/build.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/program.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// lib/stepcast/NAME.so in the nearest folder above the program: its prefix, or the folder of a
/// build. Where there is none, the place in its prefix.
fs::path file_of(const std::string& name) {
  const fs::path program = program_file();
  const fs::path file = fs::path("lib") / "stepcast" / (name + ".so");
  for (fs::path folder = program.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    std::error_code failure;
    if (fs::exists(folder / file, failure)) return folder / file;
  }
  return program.parent_path().parent_path() / file;
}

}  // namespace

void* module_entry(const std::string& name, const std::string& entry,
                   const std::string& fingerprint) {
  const fs::path file = file_of(name);
  if (!fs::exists(file))
    throw EngineError(file.string() + ": does not exist, but is part of this installation");
  void* const module = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (module == nullptr) throw EngineError(std::string("cannot be loaded: ") + dlerror());
  // Program and module exchange objects, whose layout only one build makes sure of.
  void* const found = dlsym(module, entry.c_str());
  if (found == nullptr || fingerprint_of(found) != fingerprint)
    throw EngineError(file.string() + ": was built with another program than this one");
  return found;
}

}  // namespace stepcast
