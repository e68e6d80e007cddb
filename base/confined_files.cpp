#include "stepcast/base/confined_files.hpp"

#include <algorithm>
#include <optional>

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// Nothing: every file may be read.
std::optional<std::vector<fs::path>>& allowed() {
  static std::optional<std::vector<fs::path>> folders;
  return folders;
}

}  // namespace

void read_files_only_from(const std::vector<fs::path>& folders) {
  std::vector<fs::path> real;
  for (const fs::path& folder : folders) {
    std::error_code failure;
    const fs::path path = fs::canonical(folder, failure);
    if (!failure) real.push_back(path);
  }
  allowed() = std::move(real);
}

bool may_read(const fs::path& file) {
  if (!allowed()) return true;
  std::error_code failure;
  const fs::path real = fs::canonical(file, failure);
  if (failure || !fs::is_regular_file(real, failure)) return false;
  return std::ranges::any_of(*allowed(), [&](const fs::path& folder) {
    return std::ranges::mismatch(folder, real).in1 == folder.end();
  });
}

}  // namespace stepcast
