#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepcast/base/errors.hpp"

namespace stepcast {

struct Extended;

/// A node is one value of a YAML document with the place it stands in. Nodes form a plain tree
/// without aliases.
struct Node {
  enum class Kind { null, scalar, list, mapping };

  Kind kind = Kind::null;
  Place place;
  std::string text;  ///< scalar only, as written
  bool quoted = false;
  std::vector<Node> items;  ///< list only
  struct Entry;
  std::vector<Entry> entries;                ///< mapping only, in the order of the file
  std::shared_ptr<const Extended> extended;  ///< the preset of a mapping; nullptr: it names none

  /// Whether it is this word, written without quotes.
  bool is_word(std::string_view word) const {
    return kind == Kind::scalar && !quoted && text == word;
  }
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);
};

/// One key of a mapping, in the order of the file.
struct Node::Entry {
  std::string key;
  Place place;
  Node value;
};

/// The preset that a mapping starts from.
struct Extended {
  std::string name;                     ///< as a file elsewhere can name it, too
  std::map<std::string, Place> beside;  ///< the keys written beside `extends`, and above
};

/// A search path says where files that `extends:` names are looked for, after the directory of the
/// extending file.
struct SearchPath {
  std::vector<std::filesystem::path> directories;
};

/// Parses one YAML document from memory; `name` stands in every place.
/// Throws InputError: syntax, repeated keys, anchors and aliases, several documents, binary
/// content. With `repeated`, repeated keys are added there instead, and the first of each counts.
Node parse_document(std::string_view text, const std::string& name,
                    std::vector<Diagnostic>* repeated = nullptr);

/// Throws InputError at the first byte of the file `name` that is no text: a control character but
/// for tabs and line ends, or what is no UTF-8. `path` is the key that the error names, `format`
/// what is allowed ("YAML").
void check_text(std::string_view text, const std::string& name, const std::string& path,
                const std::string& format);

/// Reads a file (`-` is standard input) and merges what its mappings extend, deeply: lists and
/// scalars replace, mappings merge, the extending side wins, and a mapping whose `kind` changes
/// replaces. A mapping that says `extends` starts from that preset, whatever lies below it: of that
/// stay devices and allocation of a cluster, and other keys beside an old `extends` are errors. A
/// dotted key that ends with `.extends` holds presets, as sweeps and plans list them. A relative
/// `extends` is looked up beside the file it stands in, then on the search path. The mapping
/// `framework` keeps its own `extends`. Throws InputError:
/// as parse_document; missing, unreadable or oversized files; cycles of `extends`.
Node load_document(const std::string& path, const SearchPath& search);

/// The text of the file that load_document reads. Throws InputError as load_document;
/// messages call what is allowed `format`.
std::string read_document_text(const std::string& path, const SearchPath& search,
                               std::string_view format = "a YAML file");

/// load_document of a text that is at hand; `path` names it and says where its neighbours
/// are. `repeated` works as in parse_document, for all files that are read.
Node load_document_text(std::string_view text, const std::string& path, const SearchPath& search,
                        std::vector<Diagnostic>* repeated = nullptr);

/// The file that `name` means, seen from `directory`; it is nothing when there is none.
std::optional<std::filesystem::path> find_file(const std::filesystem::path& name,
                                               const std::filesystem::path& directory,
                                               const SearchPath& search);

/// Merges `over` into `base` by the rules of load_document.
void merge(Node& base, Node over);

/// Merges `value` into what stands at `path` ("parallel.tp"), which is made if it is not there.
/// `path` is not empty and has no empty keys; a preset belongs to `cluster` at `cluster.extends`.
/// Throws InputError: keys beside an `extends` that `value` replaces.
void set_value(Node& root, std::string_view path, Node value);

/// Applies one `--set path.to.key=value`; the value is YAML (`--set training.sequence=4096`).
/// A mapping given here may extend a preset, and a key that is null beside `extends` is the
/// preset's; `cluster.extends=FILE` is `cluster={extends: FILE}`. Throws InputError: no `=`, an
/// empty path, bad YAML.
void apply_override(Node& root, const std::string& assignment, const SearchPath& search);

/// Applies several, those that name a preset before those that change its keys; every wrong one is
/// reported in `wrong`.
void apply_overrides(Node& root, const std::vector<std::string>& assignments,
                     const SearchPath& search, std::vector<Diagnostic>& wrong);

}  // namespace stepcast
