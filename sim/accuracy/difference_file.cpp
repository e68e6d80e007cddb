#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "scenario_files.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/format_version.hpp"
#include "stepcast/base/node_at.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/accuracy/differences.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

constexpr const char* difference_file = "differs.yaml";

void describe(Visitor& v, DifferingKey& key) {
  v.field({"key", &key.key, "path of a key of these scenarios", any_number(), true});
  v.field({"ledger", &key.ledger, "what they have, in quotes unless one word; unset: nothing",
           any_number(), true});
  v.field({"script", &key.script, "what the script says; unset: nothing"});
  v.field({"lacking", &key.lacking, "instead: what it says and the format has no word for"});
}

void describe(Visitor& v, Difference& d) {
  v.field({"rows", &d.rows, "files relative to the folder, * is any text of a name", any_number(),
           true});
  v.field({"kind",
           choice(d.kind, {{name(DifferenceKind::contradicts)}, {name(DifferenceKind::chosen)}}),
           "whether the script says otherwise, or leaves open what was chosen"});
  v.list(
      "keys", "that differ for one reason", d.keys.size(),
      [&](std::size_t size) { d.keys.resize(size); },
      [&](Visitor& inner, std::size_t i) { describe(inner, d.keys[i]); });
  v.field({"reason", &d.reason, "why the rows have these values", any_number(), true});
  v.field({"source", &d.source, "where the script says what", any_number(), true});
}

/// The value of a number that is written `{value, source, note}`.
const Node& plain(const Node& node) {
  const Node* value = node.kind == Node::Kind::mapping ? node.find("value") : nullptr;
  return value != nullptr ? *value : node;
}

/// Whether two nodes mean the same; where they stand does not count.
bool same(const Node& left, const Node& right) {
  const Node &a = plain(left), &b = plain(right);
  if (a.kind != b.kind) return false;
  if (a.kind == Node::Kind::scalar) {
    // 1e3 and 1000 are the same number.
    const auto x = parse_number(a.text), y = parse_number(b.text);
    return x && y ? *x == *y : a.text == b.text;
  }
  if (a.kind == Node::Kind::list) return std::ranges::equal(a.items, b.items, same);
  return a.entries.size() == b.entries.size() &&
         std::ranges::all_of(a.entries, [&](const Node::Entry& entry) {
           const Node* other = b.find(entry.key);
           return other != nullptr && same(entry.value, *other);
         });
}

/// A row beside the list: what its file writes itself, and with all that it extends.
struct Row {
  Node own, merged;
};

/// Reports what is wrong with a file that is well formed.
class DifferenceCheck {
 public:
  DifferenceCheck(fs::path folder, const SearchPath& search, const Node& root, Reading& reading)
      : folder_{std::move(folder)}, search_{search}, root_{root}, reading_{reading} {
    for (const fs::path& file : scenario_files(folder_.string()))
      files_.push_back(file.lexically_relative(folder_).generic_string());
  }

  void check(Difference& d, const std::string& path) {
    find_rows(d, path + ".rows");
    for (std::size_t i = 0; i < d.keys.size(); ++i)
      check_key(d, d.keys[i], path + ".keys." + std::to_string(i));
  }

 private:
  void wrong(const std::string& path, const std::string& what) {
    if (!reading_.failed.contains(path)) reading_.report(place_of(root_, path), path, what);
  }

  void find_rows(Difference& d, const std::string& path) {
    if (d.rows.empty()) wrong(path, "names no row, allowed: files of this folder");
    for (const std::string& pattern : d.rows) {
      const std::size_t before = d.files.size();
      // A `*` ends with the name of a folder.
      for (const std::string& file : files_)
        if (fnmatch(pattern.c_str(), file.c_str(), FNM_PATHNAME) == 0) d.files.push_back(file);
      if (d.files.size() == before)
        wrong(path, "names '" + shortened(pattern) +
                        "', which is no scenario, allowed: files of this folder, * for any text");
    }
    std::ranges::sort(d.files);
    d.files.erase(std::unique(d.files.begin(), d.files.end()), d.files.end());
  }

  void check_key(const Difference& d, const DifferingKey& key, const std::string& path) {
    if (key.script.empty() == key.lacking.empty()) {
      wrong(path, "has " + std::string(key.script.empty() ? "neither" : "both") +
                      " script and lacking, allowed: one of them");
      return;
    }
    if (key.key.empty() || key.ledger.empty()) return;  // reported already
    const auto ledger = value(key.ledger, path + ".ledger"),
               script = value(key.script, path + ".script");
    if (!ledger || !script) return;
    if (!key.script.empty() && key.ledger == key.script) {
      wrong(path + ".script", "is what the ledger has, allowed: another value");
      return;
    }
    const std::string known = wrong_scenario_value(
        key.key, key.script.empty() || key.script == unset_word ? *ledger : *script);
    if (!known.empty() && !(key.ledger == unset_word && key.script.empty())) {
      wrong(path + ".key", known);
      return;
    }
    if (!key.script.empty() && key.script != unset_word && same(*ledger, *script))
      wrong(path + ".script", "is what the ledger has, allowed: another value");
    for (const std::string& file : d.files) check_row(file, key, *ledger, path);
  }

  /// What a text means as YAML; nothing where it means nothing.
  std::optional<Node> value(const std::string& text, const std::string& path) {
    try {
      return parse_document(text, path);
    } catch (const InputError& error) {
      wrong(path, error.diagnostics().front().message);
      return {};
    }
  }

  /// Once, however many keys of the row are listed.
  const Row& read(const std::string& file) {
    const auto known = rows_.find(file);
    if (known != rows_.end()) return known->second;
    const std::string path = (folder_ / file).string();
    return rows_
        .emplace(file, Row{parse_document(read_document_text(path, search_), file),
                           load_document(path, search_)})
        .first->second;
  }

  void check_row(const std::string& file, const DifferingKey& key, const Node& ledger,
                 const std::string& path) {
    if (!seen_.emplace(file, key.key).second)
      wrong(path + ".key", "is '" + key.key + "' of " + file + " again, allowed: once");
    const Row& row = read(file);
    if (node_at(row.merged, "expect.step_time") == nullptr)
      wrong(path + ".key", "is of " + file + ", which expects no step time, allowed: a row");
    const bool written = node_at(row.own, key.key) != nullptr;
    const Node* has = node_at(row.merged, key.key);
    if (key.ledger == unset_word ? written : has == nullptr || !same(*has, ledger))
      wrong(path + ".ledger", "is '" + shortened(key.ledger) + "', which " + file +
                                  " does not have, allowed: what the row has");
    if (key.script == unset_word && !written)
      wrong(path + ".script",
            "is unset, as in " + file + ", allowed: where the row writes " + key.key);
  }

  fs::path folder_;
  const SearchPath& search_;
  const Node& root_;
  Reading& reading_;
  std::vector<std::string> files_;
  std::map<std::string, Row> rows_;
  std::set<std::pair<std::string, std::string>> seen_;  ///< files and keys
};

}  // namespace

std::string_view name(DifferenceKind kind) {
  return kind == DifferenceKind::contradicts ? "contradicts" : "chosen";
}

bool Difference::lacks_words() const {
  return std::ranges::any_of(keys, [](const DifferingKey& key) { return !key.lacking.empty(); });
}

void describe(Visitor& visitor, std::vector<Difference>& differences) {
  describe_format_version(visitor, true);
  visitor.list(
      "differs", "keys of rows that differ from their scripts", differences.size(),
      [&](std::size_t size) { differences.resize(size); },
      [&](Visitor& v, std::size_t i) { describe(v, differences[i]); });
}

std::vector<Difference> read_differences(const std::string& path, const SearchPath& search) {
  Reading reading;
  const Node root =
      load_document_text(read_document_text(path, search), path, search, &reading.diagnostics);
  require_kind(file_kind(root), FileKind::differs, path);
  std::vector<Difference> differences;
  read_mapping(root, {}, reading, [&](Visitor& v) { describe(v, differences); });
  // Rows and keys are looked up in the folder: a pattern that fits no file is a typing error.
  DifferenceCheck check{fs::path(path).parent_path(), search, root, reading};
  for (std::size_t i = 0; i < differences.size(); ++i)
    check.check(differences[i], "differs." + std::to_string(i));
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  return differences;
}

std::vector<Difference> differences_of(const std::string& folder, const SearchPath& search) {
  const std::string path = (fs::path(folder) / difference_file).string();
  return is_there(path) ? read_differences(path, search) : std::vector<Difference>{};
}

}  // namespace stepcast
