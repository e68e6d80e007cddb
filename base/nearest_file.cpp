#include <algorithm>
#include <vector>

#include "document_steps.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/suggest.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// A folder that cannot be read has none; no folder is this one.
void add_stems(const fs::path& folder, const std::string& ending, std::vector<std::string>& stems) {
  for (const fs::path& file : files_in(folder.empty() ? "." : folder, ending))
    stems.push_back(file.stem().string());
}

std::string nearest_of(const std::vector<std::string>& stems, const fs::path& name,
                       const std::string& ending) {
  const std::string folder = name.parent_path().string();
  return did_you_mean(name.stem().string(), stems, folder.empty() ? folder : folder + "/", ending);
}

}  // namespace

std::string file_hint(const fs::path& name, const fs::path& directory, const SearchPath& search) {
  std::vector<std::string> stems;
  add_stems((directory / name).parent_path(), ".yaml", stems);
  if (name.is_relative())
    for (const fs::path& d : search.directories)
      add_stems((d / name).parent_path(), ".yaml", stems);
  std::ranges::sort(stems);  // a folder has no order
  stems.erase(std::unique(stems.begin(), stems.end()), stems.end());
  // `recipe` and `recipe.yml` of `recipe.yaml`.
  for (const std::string& meant : {name.filename().string(), name.stem().string()})
    if (std::binary_search(stems.begin(), stems.end(), meant))
      return "; did you mean " + (name.parent_path() / (meant + ".yaml")).string() + "?";
  return nearest_of(stems, name, ".yaml");
}

std::string neighbour_hint(const fs::path& name) {
  const std::string ending = name.extension().string();
  std::vector<std::string> stems;
  add_stems(name.parent_path(), ending, stems);
  return nearest_of(stems, name, ending);
}

}  // namespace stepcast
