#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "commands.hpp"
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
    std::error_code failure;
    for (fs::directory_iterator file(directory / kind.folder, failure), end;
         !failure && file != end; file.increment(failure)) {
      if (file->path().extension() == ".yaml")
        files.try_emplace((fs::path(kind.folder) / file->path().filename()).string(), file->path());
    }
  }
  return files;
}

/// What a file is called elsewhere: its comment `# also: 910C, A3`.
std::string aliases_of(const std::string& text) {
  constexpr std::string_view mark = "# also: ";
  std::size_t at = text.find(mark);
  while (at != std::string::npos && at > 0 && text[at - 1] != '\n') at = text.find(mark, at + 1);
  if (at == std::string::npos) return {};
  at += mark.size();
  return text.substr(at, text.find('\n', at) - at);
}

/// `910C, A3; 354 TFLOPS, 64.0 GiB at 1.60 TB/s, NIC 25.0 GB/s, 16 a node` of a cluster.
std::string facts_of(const std::string& file, const std::string& aliases,
                     const SearchPath& search) {
  std::string text;
  try {
    const ClusterSpec cluster = read_cluster(file, {}, search);
    text =
        fmt::format("{} BF16, {} at {}", human(cluster.device.matmul_peak),
                    human(cluster.device.memory_capacity), human(cluster.device.memory_bandwidth));
    const NicSpec& nic = cluster.network.nic;
    if (!cluster.network.platform)
      text += fmt::format(", NIC {} a {}", human(nic.link.bandwidth),
                          nic.per == NicSpec::Per::node ? "node" : "device");
    text += fmt::format(", {} a node", cluster.node_devices);
  } catch (const InputError&) {  // `validate` says what is wrong with it
    return aliases;
  }
  return aliases.empty() ? text : aliases + "; " + text;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string lines_of(const ListedKind& kind, const std::map<std::string, fs::path>& files,
                     const SearchPath& search) {
  if (files.empty()) return {};
  std::size_t width = 0;
  for (const auto& [name, path] : files) width = std::max(width, name.size());
  std::string text = fmt::format("{}\n", kind.name);
  for (const auto& [name, path] : files) {
    const std::string content = read_document_text(path.string(), search);
    text += fmt::format("  {:<{}}  {}\n", name, width, question_of(content));
    const std::string facts = std::string_view(kind.name) == "clusters"
                                  ? facts_of(path.string(), aliases_of(content), search)
                                  : aliases_of(content);
    if (!facts.empty()) text += fmt::format("  {:<{}}  {}\n", "", width, facts);
  }
  return text;
}

/// Presets of any kind whose name, or what they are called elsewhere, holds the word.
std::string matching(const std::string& word, const SearchPath& search) {
  std::string text;
  for (const ListedKind& kind : listed_kinds) {
    std::map<std::string, fs::path> files = files_of(kind, search);
    std::erase_if(files, [&](const auto& file) {
      const auto holds = [&](const std::string& where) {
        return lower(where).find(lower(word)) != std::string::npos;
      };
      return !holds(file.second.stem().string()) &&
             !holds(aliases_of(read_document_text(file.second.string(), search)));
    });
    text += lines_of(kind, files, search);
  }
  return text;
}

}  // namespace

std::vector<std::string> clusters_called(const std::string& word, const SearchPath& search) {
  std::vector<std::string> names;
  for (const auto& [name, path] : files_of(listed_kinds.front(), search)) {
    const std::string aliases = ", " + lower(aliases_of(read_document_text(path.string(), search)));
    if ((aliases + ",").find(", " + lower(word) + ",") != std::string::npos)
      names.push_back(path.stem().string());
  }
  return names;
}

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
