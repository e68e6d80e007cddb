#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "stepcast/base/units.hpp"

/// There is one description per spec: each has one function `describe(Visitor&, Spec&)` that names
/// every key once, with its target, range, default (the value that the target holds) and meaning.
/// The reader, the JSON Schema, the content hash and the list of assumptions are visitors of that
/// one description.
namespace stepcast {

/// A range holds the numbers that are allowed, in SI units; `low_open` excludes `low` itself.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool contains(double v) const { return (low_open ? v > low : v >= low) && v <= high; }
};
constexpr Range any_number() { return {}; }
constexpr Range positive() { return {0, std::numeric_limits<double>::infinity(), true}; }
constexpr Range at_least(double low) {
  return {low, std::numeric_limits<double>::infinity(), false};
}
constexpr Range between(double low, double high) { return {low, high, false}; }
/// In (0, 1]; less than a millionth is no part of anything that is measured, and times would
/// overflow.
constexpr Range fraction() { return {1e-6, 1}; }

/// An option is one word that a choice accepts. A feature that is not built yet is known, so that
/// the error can say so.
struct Option {
  std::string_view name;
  bool built = true;
  bool takes_number = false;  ///< the call form, `chunks(4)`
};

using Table = std::vector<std::vector<std::int64_t>>;  ///< [chunk][stage]
/// A table as a file has it: `[[4, 4], [4, 3]]`.
std::string table_text(const Table& table, const std::string& apart = ", ");

/// A set of words is a mapping with one key, which holds a list of words, each at most once:
/// `{modules: [mlp, moe_act]}`.
struct WordSet {
  std::string_view key;
  std::vector<std::string_view> words;
  std::uint32_t* chosen = nullptr;  ///< bit i: words[i] is in the list
};
/// A set of words as a file has it, in the order of `words`.
std::string word_set_text(const WordSet& set);

/// A choice is a closed set of words. `get` and `set` map to the enum (or name) of the spec by
/// option index.
struct Choice {
  std::vector<Option> options;
  std::function<std::size_t()> get;
  std::function<void(std::size_t)> set;
  std::int64_t* number = nullptr;  ///< target of the call form's number
  Table* table = nullptr;  ///< a list of lists is accepted too and selects option `table_option`
  std::size_t table_option = 0;
  std::string* file = nullptr;  ///< `{table: FILE}` is accepted too; empty where a word is given
  WordSet set_of_words = {};  ///< with a target it is accepted too and selects option `set_option`
  std::size_t set_option = 0;

  bool is_table(std::size_t index) const { return table != nullptr && index == table_option; }
  bool is_set(std::size_t index) const {
    return set_of_words.chosen != nullptr && index == set_option;
  }
  /// The options that a file names by a word.
  std::vector<Option> words() const;
};

/// Makes a choice whose option i is the enumerator with value i.
template <class E>
Choice choice(E& target, std::vector<Option> options) {
  return {std::move(options), [&target] { return static_cast<std::size_t>(target); },
          [&target](std::size_t i) { target = static_cast<E>(i); }};
}

/// Makes a choice among the names of a table, of which the spec keeps the chosen one.
Choice choice_of_name(std::string& target, std::vector<Option> options);

/// Makes a choice of which only the first option is built, so that it has no target.
inline Choice only_first(std::vector<Option> options) {
  return {std::move(options), [] { return std::size_t{0}; }, [](std::size_t) {}};
}

/// A count that may also be one word (`auto`, `none`), which stands for nothing.
struct OptionalCount {
  std::optional<std::int64_t>* target;
  std::string_view word;
};
struct OptionalNumber {
  std::optional<double>* target;
  std::string_view word;
};

struct OptionalTime {
  Seconds* target;
  bool* given;
  std::string_view word;
};

/// A count, the list of its parts, or a word with the count such as `balanced(4)`, which
/// asks for parts.
struct PartsOf {
  std::int64_t* count;               ///< in the range of the field
  std::vector<std::int64_t>* parts;  ///< empty unless a list is given
  std::string_view word;
  bool* called;  ///< whether the word is given
  Range part;    ///< of each part
};

/// A tolerance says how far a value may be off: `1%` of it, or an amount in the value's own unit
/// (`50ms`, `0.002`).
struct Tolerance {
  enum class Of { number, time, size };
  double* target;  ///< a fraction, or the amount in SI units
  bool* relative;
  Of of;
};

struct Identifier {
  std::string* target;  ///< a name of lower-case letters, digits and `. _ -`
};

/// The value types that a key can hold; the set is closed.
using Target =
    std::variant<Seconds*, Bytes*, BytesPerSecond*, FlopsPerSecond*, double*, std::int64_t*, bool*,
                 std::string*, Identifier, Choice, OptionalCount, OptionalNumber, OptionalTime,
                 PartsOf, Tolerance, std::vector<std::string>*, std::vector<std::int64_t>*>;

/// Says whether a key may also hold a list of its values, or the word `search` for all that
/// suit it.
enum class Several { no, listed, listed_or_searched };

struct Field {
  std::string_view key;
  Target target;
  std::string_view doc;
  Range range = any_number();
  bool required = false;
  Several several = Several::no;  ///< for schemas: who reads such keys takes the lists out before
  bool or_mapping = false;        ///< for schemas: as `several`, of mappings
};

struct Node;
class Visitor;

/// A map of paths leads from paths of keys (`parallel.tp`) to what each takes.
struct PathMap {
  std::string_view of;                      ///< what the keys are keys of, one word: `scenario`
  std::function<void(Visitor&)> described;  ///< names those keys
  bool lists;                               ///< each path holds a list of values, not one value
  const Node** found;                       ///< the reader's answer: the mapping, if there is one
  bool open = false;  ///< any key and any value may stand there: who asked for it says which
};

class Visitor {
 public:
  using Body = std::function<void(Visitor&)>;
  using Resize = std::function<void(std::size_t)>;           ///< takes the entries of a list
  using Entry = std::function<void(Visitor&, std::size_t)>;  ///< the body of one
  struct Alternative {
    std::string_view name;
    Body body;
    bool built = true;
    bool with_others = false;  ///< keys of the others may stand beside its own (one_of)
  };

  virtual ~Visitor() = default;
  virtual void field(const Field& field) = 0;
  /// Describes a nested mapping. A missing one is visited all the same, so that its defaults
  /// and its required keys count.
  virtual void section(std::string_view key, std::string_view doc, const Body& body) = 0;
  /// Describes a nested mapping that may be left out or be `word`; `present` says whether it is
  /// there.
  virtual void section_or(std::string_view key, std::string_view doc, std::string_view word,
                          bool& present, const Body& body) = 0;
  /// The same with the word `none`.
  void optional_section(std::string_view key, std::string_view doc, bool& present,
                        const Body& body) {
    section_or(key, doc, "none", present, body);
  }
  /// The mapping's keys depend on the word under `key` (`kind`); `current` is the index of the
  /// alternative and is set before its body runs.
  virtual void alternatives(std::string_view key, std::string_view doc, std::size_t& current,
                            const std::vector<Alternative>& bodies) = 0;
  /// The mapping's keys depend on which of the alternatives' names stands in it as a key: exactly
  /// one must. Each body describes that key itself and whatever may stand beside it.
  virtual void one_of(std::size_t& current, const std::vector<Alternative>& bodies) = 0;
  /// Describes a list of mappings; `resize` is called with the number of entries before
  /// `body(i)` describes each.
  virtual void list(std::string_view key, std::string_view doc, std::size_t size,
                    const Resize& resize, const Entry& body) = 0;
  /// Describes a list of mappings that may be left out, be empty or be the word `none`.
  virtual void optional_list(std::string_view key, std::string_view doc, std::size_t size,
                             const Resize& resize, const Entry& body) {
    list(key, doc, size, resize, body);
  }
  /// Describes a mapping whose keys are paths, which may be left out. The reader gives it as
  /// it stands: what its paths and values may be is checked by who asked for it.
  virtual void paths(std::string_view, std::string_view, const PathMap&) {}
};

/// Describes an optional mapping, which is there when the file gives it; `body` takes the visitor
/// and the part, which begins as `fresh`. The other word than a mapping is `word`.
template <class Part, class Body>
void optional_part(Visitor& visitor, std::string_view key, std::string_view doc,
                   std::optional<Part>& part, const Body& body, std::string_view word = "none",
                   const Part& fresh = Part{}) {
  bool present = part.has_value();
  visitor.section_or(key, doc, word, present, [&](Visitor& v) {
    if (!part) part = fresh;
    body(v, *part);
  });
  // Schemas and key lists pass through the body of a part that is absent and must leave it so.
  if (!present) part.reset();
}

}  // namespace stepcast
