#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"

/// Keys of published rows that do not follow from the script of their run: docs/accuracy.md, Keys
/// that differ from the script.
namespace stepcast {

/// Contradicts: the script says another value. Chosen: it leaves the key open, and the value is not
/// that of its framework or preset.
enum class DifferenceKind { contradicts, chosen };
std::string_view name(DifferenceKind kind);

/// Stands for a key that is not written.
inline constexpr std::string_view unset_word = "unset";

/// One key on which a row and its script differ, or that the script says and no key can.
struct DifferingKey {
  std::string key;      ///< path in the scenario
  std::string ledger;   ///< YAML: what the rows have, or `unset`
  std::string script;   ///< YAML: what the script says, or `unset`
  std::string lacking;  ///< instead of `script`: what it says and the format has no word for
};

/// Keys of some rows that differ for one reason.
struct Difference {
  std::vector<std::string> rows;  ///< files relative to the folder; `*` is any text of a name
  DifferenceKind kind = DifferenceKind::contradicts;
  std::vector<DifferingKey> keys;
  std::string reason;              ///< why the rows have these values
  std::string source;              ///< where the script says what
  std::vector<std::string> files;  ///< that `rows` name, sorted; the reader finds them

  /// Says whether the format has no word for what the script of these rows says.
  bool lacks_words() const;
};

/// The keys of such a file.
void describe(Visitor& visitor, std::vector<Difference>& differences);
/// Reads such a file and holds it to the rows beside it. Throws InputError, all at once: rows
/// that are not there or expect no step, keys that no scenario has or that stand twice for a row, a
/// value of the ledger that a row does not have, or one that is what the script says.
std::vector<Difference> read_differences(const std::string& path, const SearchPath& search);
/// `differs.yaml` of a folder; nothing differs without it. Throws InputError.
std::vector<Difference> differences_of(const std::string& folder, const SearchPath& search);

/// The document of the scenario `file`, relative to `folder`, with every key of `all` that
/// names it as its script says. Throws InputError.
Node document_by_script(const std::string& folder, const std::string& file,
                        const std::vector<Difference>& all, const SearchPath& search);

}  // namespace stepcast
