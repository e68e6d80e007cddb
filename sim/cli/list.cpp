#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "commands.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"
#include "worker.hpp"

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
    std::error_code failure;
    for (fs::directory_iterator file(directory / kind.folder, failure), end;
         !failure && file != end; file.increment(failure)) {
      if (file->path().extension() == ".yaml")
        files.try_emplace((fs::path(kind.folder) / file->path().filename()).string(), file->path());
    }
  }
  return files;
}

/// Presets of a kind (empty: of all) whose name holds the word.
std::vector<ListedPreset> listed(const std::string& kind, const std::string& word,
                                 const SearchPath& search) {
  std::vector<ListedPreset> found;
  for (const ListedKind& one : listed_kinds) {
    if (!kind.empty() && kind != one.name) continue;
    for (const auto& [name, path] : files_of(one, search)) {
      if (path.stem().string().find(word) != std::string::npos)
        found.push_back({one.name, name, question_of(read_document_text(path.string(), search))});
    }
  }
  return found;
}

std::string as_text(const std::vector<ListedPreset>& presets) {
  std::string text;
  std::size_t width = 0;
  for (std::size_t i = 0; i < presets.size(); ++i) {
    const ListedPreset& preset = presets[i];
    if (i == 0 || presets[i - 1].kind != preset.kind) {
      width = 0;
      for (std::size_t j = i; j < presets.size() && presets[j].kind == preset.kind; ++j)
        width = std::max(width, presets[j].name.size());
      text += fmt::format("{}\n", preset.kind);
    }
    text += fmt::format("  {:<{}}  {}\n", preset.name, width, preset.question);
  }
  return text;
}

[[noreturn]] void no_preset(const std::string& word, std::vector<std::string> names,
                            const SearchPath& search) {
  const std::vector<std::string> kinds = names;
  for (const ListedKind& kind : listed_kinds)
    for (const auto& [name, path] : files_of(kind, search)) names.push_back(path.stem().string());
  const std::string near = did_you_mean(word, names);
  bad_option(
      "NAME",
      "is '" + word + "'" +
          (!near.empty() ? near : ", allowed: part of a preset's name, or " + joined(kinds)));
}

}  // namespace

Outcome list_presets(const ListOptions& options) {
  const SearchPath search = default_search_path(options.presets);
  std::vector<std::string> kinds;
  kinds.reserve(listed_kinds.size());
  for (const ListedKind& kind : listed_kinds) kinds.emplace_back(kind.name);
  const bool is_kind =
      options.kind.empty() || std::ranges::find(kinds, options.kind) != kinds.end();
  const std::vector<ListedPreset> presets =
      listed(is_kind ? options.kind : "", is_kind ? "" : options.kind, search);
  if (presets.empty() && !is_kind) no_preset(options.kind, kinds, search);
  return shown(as_text(presets), options.json, options.json.empty() ? "" : presets_json(presets));
}

}  // namespace stepcast::cli
