#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>

#include "commands.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/presets_called.hpp"
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
    for (const fs::path& file : files_in(directory / kind.folder, ".yaml"))
      files.try_emplace((fs::path(kind.folder) / file.filename()).string(), file);
  }
  return files;
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

/// Presets of a kind (empty: of all) whose name, what they are called elsewhere, or vendor holds
/// each word.
std::vector<ListedPreset> listed(const std::string& kind, std::span<const std::string> words,
                                 const SearchPath& search) {
  std::vector<ListedPreset> found;
  // `nvidia` is no part of a name, but presets are of a vendor.
  std::vector<std::vector<std::string>> called(words.size());
  for (std::size_t i = 0; i < words.size(); ++i)
    called[i] = presets_called(words[i], "clusters", search);
  for (const ListedKind& one : listed_kinds) {
    if (!kind.empty() && kind != one.name) continue;
    const bool cluster = std::string_view(one.name) == "clusters";
    for (const auto& [name, path] : files_of(one, search)) {
      const std::string content = read_document_text(path.string(), search);
      const std::string aliases = aliases_of(content);
      const std::string names = lower_case(path.stem().string() + "\n" + aliases);
      const std::string stem = path.stem().string();
      const auto is_meant = [&](std::size_t i) {
        return names.find(lower_case(words[i])) != std::string::npos ||
               (cluster && std::ranges::find(called[i], stem) != called[i].end());
      };
      bool meant = true;
      for (std::size_t i = 0; i < words.size(); ++i) meant = meant && is_meant(i);
      if (!meant) continue;
      found.push_back({one.name, name, question_of(content),
                       cluster ? facts_of(path.string(), aliases, search) : aliases});
    }
  }
  return found;
}

std::string as_text(const std::vector<ListedPreset>& presets) {
  std::string text;
  std::size_t width = 0;
  for (std::size_t i = 0; i < presets.size(); ++i) {
    const ListedPreset& preset = presets[i];
    // Columns are as wide as the longest name of their kind.
    if (i == 0 || presets[i - 1].kind != preset.kind) {
      width = 0;
      for (std::size_t j = i; j < presets.size() && presets[j].kind == preset.kind; ++j)
        width = std::max(width, presets[j].name.size());
      text += fmt::format("{}\n", preset.kind);
    }
    text += fmt::format("  {:<{}}  {}\n", preset.name, width, preset.question);
    if (!preset.facts.empty()) text += fmt::format("  {:<{}}  {}\n", "", width, preset.facts);
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
  std::span<const std::string> words(options.words);
  // The first word may be a kind; the rest are words to find.
  const bool is_kind = !words.empty() && std::ranges::find(kinds, words.front()) != kinds.end();
  const std::string kind = is_kind ? words.front() : "";
  if (is_kind) words = words.subspan(1);
  const std::vector<ListedPreset> presets = listed(kind, words, search);
  if (presets.empty() && !words.empty()) {
    // Names the word that alone finds nothing, since the others may be right.
    const auto lost = std::ranges::find_if(words, [&](const std::string& word) {
      return listed(kind, {&word, 1}, search).empty();
    });
    no_preset(lost == words.end() ? words.front() : *lost, kinds, search);
  }
  return shown(as_text(presets), options.json, options.json.empty() ? "" : presets_json(presets));
}

}  // namespace stepcast::cli
