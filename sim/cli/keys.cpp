#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "file_kinds.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/scenario/inputs.hpp"

namespace stepcast::cli {
namespace {

/// One key of the scenario format.
struct FormatKey {
  std::string path, allowed, preset, meaning;
};

std::string text_at(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  if (found == nullptr) return {};
  if (found->kind == Node::Kind::scalar) return found->text;
  std::string list;
  for (const Node& item : found->items) list += (list.empty() ? "" : ", ") + item.text;
  return found->kind == Node::Kind::list ? "[" + list + "]" : std::string();
}

/// The mapping below a key: its own, that of a choice, or that of the entries of a list.
const Node* mapping_below(const Node& value) {
  if (value.find("properties") != nullptr) return &value;
  if (const Node* items = value.find("items")) return mapping_below(*items);
  if (const Node* forms = value.find("anyOf"))
    for (const Node& form : forms->items)
      if (const Node* found = mapping_below(form)) return found;
  return nullptr;
}

void add_keys(const Node& mapping, const std::string& prefix, std::vector<FormatKey>& all) {
  for (const Node::Entry& entry : mapping.find("properties")->entries) {
    if (entry.key == "extends") continue;
    const Node& value = entry.value;
    // A value may be a number or a mapping with its source; only mappings of keys are gone into.
    const Node* inner = value.find("$comment") != nullptr ? nullptr : mapping_below(value);
    std::string meaning = text_at(value, "description");
    // The schema carries it in the description, as editors show it.
    constexpr std::string_view mark = " (required)";
    const bool required = meaning.find(mark) != std::string::npos;
    if (required) meaning.erase(meaning.find(mark), mark.size());
    const std::string path = prefix + entry.key;
    all.push_back({path, inner != nullptr ? "a mapping" : text_at(value, "$comment"),
                   required ? "required" : text_at(value, "default"), meaning});
    if (inner != nullptr) add_keys(*inner, path + ".", all);
  }
}

/// Whether a word of `text` begins with `word`, or a longer `word` is a part of one: `tp` is meant
/// neither in `output` nor in `http`.
bool begins_word(const std::string& text, const std::string& word) {
  constexpr std::size_t telling = 4;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    const bool letter = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z');
    if (!letter || word.size() >= telling) return true;
  }
  return false;
}

/// How near a key is to a word, 0 the nearest; nothing where it is not meant.
std::optional<int> distance_of(const FormatKey& key, const std::string& word) {
  const std::string last = key.path.substr(key.path.rfind('.') + 1);
  if (key.path == word || last == word) return 0;
  if (last.starts_with(word)) return 1;
  if (("." + key.path + ".").find("." + word + ".") != std::string::npos) return 2;
  if (begins_word(key.path, word)) return 3;
  if (begins_word(lower_case(key.allowed), word)) return 4;
  if (begins_word(lower_case(key.meaning), word)) return 5;
  return {};
}

struct FoundKey {
  int distance;
  const FormatKey* key;
};

std::vector<FoundKey> found_keys(const std::vector<FormatKey>& all,
                                 const std::vector<std::string>& words) {
  std::vector<FoundKey> found;
  for (const FormatKey& key : all) {
    std::optional<int> sum = 0;
    for (const std::string& word : words) {
      const auto distance = distance_of(key, lower_case(word));
      sum = sum && distance ? std::optional(*sum + *distance) : std::nullopt;
    }
    if (sum) found.push_back({*sum, &key});
  }
  std::ranges::stable_sort(found, {}, &FoundKey::distance);
  return found;
}

[[noreturn]] void refuse_words(const std::vector<FormatKey>& all,
                               const std::vector<std::string>& words) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const FormatKey& key : all) names.push_back(key.path.substr(key.path.rfind('.') + 1));
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto lost = std::ranges::find_if(
      words, [&](const std::string& word) { return found_keys(all, {word}).empty(); });
  if (lost == words.end())
    bad_option("WORD", "'" + joined(words) + "' are in no key together, allowed: fewer words");
  const std::string near = did_you_mean(*lost, names);
  bad_option("WORD", "'" + *lost + "' is in no key" +
                         (near.empty() ? ", allowed: a part of a key, of its values or its meaning"
                                       : near));
}

}  // namespace

std::vector<std::string> keys_called(const std::string& option) {
  constexpr std::size_t most = 3;
  std::string word = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::ranges::replace(word, '-', '_');
  std::vector<FormatKey> all;
  for (const FileKind kind : {FileKind::scenario, FileKind::plan})
    add_keys(parse_document(schema_of(kind), "schema"), {}, all);
  std::erase_if(all, [](const FormatKey& key) { return key.allowed == "a mapping"; });
  std::vector<std::string> found;
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const FormatKey& key : all) names.push_back(key.path.substr(key.path.rfind('.') + 1));
  const std::vector<std::string> meant = called_elsewhere(word, names);
  // `--nodes` means the size of the job before any key of that name.
  for (const FormatKey& key : all)
    if (meant.empty() && found.size() < most && key.path.ends_with("." + word) &&
        std::ranges::find(found, key.path) == found.end())
      found.push_back(key.path);
  if (!found.empty()) return found;
  // `--batch-size`: what people call `training.global_batch`.
  std::ranges::stable_sort(all, {},
                           [](const FormatKey& key) { return std::ranges::count(key.path, '.'); });
  for (const std::string& name : meant)
    for (const FormatKey& key : all)
      if (key.path.ends_with("." + name)) {
        found.push_back(key.path);
        break;
      }
  return found;
}

Outcome keys(const KeysOptions& options) {
  std::vector<FormatKey> all;
  const Node schema = parse_document(schema_of(FileKind::scenario), "schema");
  add_keys(schema, {}, all);
  const std::vector<FoundKey> found = found_keys(all, options.words);
  if (found.empty()) refuse_words(all, options.words);
  std::vector<Input> inputs;
  std::vector<std::string> warnings;
  if (!options.scenario.empty())
    inputs = inputs_of(scenario_option(options.scenario, {}, options.launch,
                                       default_search_path(options.presets), warnings));
  // What more words would find is said instead of shown.
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(found.size(), most); ++i) {
    const FormatKey& key = *found[i].key;
    text += key.path;
    if (!key.preset.empty())
      text += key.preset == "required" ? ", required" : ", default " + key.preset;
    const auto input = std::ranges::find(inputs, key.path, &Input::path);
    if (input != inputs.end()) text += ", now " + input->value;
    text += fmt::format("\n    {}\n", key.meaning);
    if (!key.allowed.empty()) text += fmt::format("    allowed: {}\n", key.allowed);
  }
  if (found.size() > most)
    text += fmt::format("... and {} keys more; give another word, too\n", found.size() - most);
  return {std::move(text)};
}

}  // namespace stepcast::cli
