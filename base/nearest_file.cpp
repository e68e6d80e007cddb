#include "nearest_file.hpp"

#include <algorithm>
#include <vector>

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

void add_stems(const fs::path& folder, std::vector<std::string>& stems) {
  std::error_code failure;
  for (fs::directory_iterator file(folder.empty() ? "." : folder, failure), end;
       !failure && file != end; file.increment(failure))
    if (file->path().extension() == ".yaml") stems.push_back(file->path().stem().string());
}

}  // namespace

std::string file_hint(const fs::path& name, const fs::path& directory, const SearchPath& search) {
  std::vector<std::string> stems;
  add_stems((directory / name).parent_path(), stems);
  if (name.is_relative())
    for (const fs::path& d : search.directories) add_stems((d / name).parent_path(), stems);
  std::ranges::sort(stems);  // a folder has no order
  const auto near = nearest(name.stem().string(), stems);
  if (!near) return {};
  return "; did you mean " + (name.parent_path() / (*near + ".yaml")).string() + "?";
}

}  // namespace stepcast
