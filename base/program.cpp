#include "stepcast/base/program.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <array>
#include <climits>

namespace stepcast {
namespace {

/// The kernel says where it put the loader of a program, unless the loader itself is what it runs.
bool run_by_own_loader() { return getauxval(AT_BASE) == 0; }

}  // namespace

std::filesystem::path program_file() {
  if (run_by_own_loader()) {
    std::array<char, PATH_MAX> folder{};  // PREFIX/lib/stepcast
    if (dlinfo(dlopen(nullptr, RTLD_LAZY), RTLD_DI_ORIGIN, folder.data()) != 0) return {};
    return std::filesystem::path(folder.data()).parent_path().parent_path() / "bin" / "stepcast";
  }
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/self/exe", failure);
}

std::filesystem::path program_again() {
  return run_by_own_loader() ? program_file() : std::filesystem::path("/proc/self/exe");
}

}  // namespace stepcast
