#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "commands.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast::cli {
namespace {

namespace fs = std::filesystem;

/// Files of one kind: a folder below the folders of presets; scenarios lie in the folder itself.
struct ListedKind {
  const char* name;
  const char* folder;
};
constexpr std::array listed_kinds{
    ListedKind{"clusters", "clusters"},     ListedKind{"models", "models"},
    ListedKind{"frameworks", "frameworks"}, ListedKind{"scenarios", ""},
    ListedKind{"what-if", "what-if"},       ListedKind{"plans", "plans"}};

/// The files of a kind by the name that a scenario writes; of two with one name the first folder's.
std::map<std::string, fs::path> files_of(const ListedKind& kind, const SearchPath& search) {
  std::map<std::string, fs::path> files;
  for (const fs::path& directory : search.directories) {
    for (const fs::path& file : files_in(directory / kind.folder, ".yaml"))
      files.try_emplace((fs::path(kind.folder) / file.filename()).string(), file);
  }
  return files;
}

std::string lines_of(const ListedKind& kind, const std::map<std::string, fs::path>& files,
                     const SearchPath& search) {
  if (files.empty()) return {};
  std::size_t width = 0;
  for (const auto& [name, path] : files) width = std::max(width, name.size());
  std::string text = fmt::format("{}\n", kind.name);
  for (const auto& [name, path] : files)
    text += fmt::format("  {:<{}}  {}\n", name, width,
                        question_of(read_document_text(path.string(), search)));
  return text;
}

/// Presets of any kind whose name holds the word.
std::string matching(const std::string& word, const SearchPath& search) {
  std::string text;
  for (const ListedKind& kind : listed_kinds) {
    std::map<std::string, fs::path> files = files_of(kind, search);
    std::erase_if(files, [&](const auto& file) {
      return file.second.stem().string().find(word) == std::string::npos;
    });
    text += lines_of(kind, files, search);
  }
  return text;
}

}  // namespace

Outcome list_presets(const ListOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  std::vector<std::string> names;
  std::string text;
  for (const ListedKind& kind : listed_kinds) {
    names.emplace_back(kind.name);
    if (options.kind.empty() || options.kind == kind.name)
      text += lines_of(kind, files_of(kind, search), search);
  }
  if (!options.kind.empty() && std::ranges::find(names, options.kind) == names.end()) {
    text = matching(options.kind, search);
    if (!text.empty()) return {text};
    const std::vector<std::string> kinds = names;
    for (const ListedKind& kind : listed_kinds)
      for (const auto& [name, path] : files_of(kind, search)) names.push_back(path.stem().string());
    const std::string near = did_you_mean(options.kind, names);
    bad_option(
        "NAME",
        "is '" + options.kind + "'" +
            (!near.empty() ? near : ", allowed: part of a preset's name, or " + joined(kinds)));
  }
  return {text};
}

}  // namespace stepcast::cli
