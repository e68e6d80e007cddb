#pragma once
#include <functional>
#include <string>
#include <vector>

#include "stepcast/base/document.hpp"

namespace stepcast {

/// What is wrong with giving a key a value, taken alone; empty when nothing is.
using WrongValue = std::function<std::string(const std::string& path, const Node& value)>;

/// The text of a YAML document with keys set, `path.to.key=value` each, one after the
/// other: a value that stands in the text is replaced where it stands, a key that lacks is added to
/// its mapping, and everything else, comments and layout, stays. Files that the text extends are
/// not looked at; `name` stands in every place. The new text is read again and means what
/// apply_override would have made of the old one. Throws InputError, all at once: as
/// parse_document, no `=` or an empty path, and keys that cannot be written (a value of several
/// lines, a block list or mapping where a value is to be, a mapping for a mapping) or that
/// `wrong_value` refuses.
std::string edited_document(std::string text, const std::string& name,
                            const std::vector<std::string>& assignments,
                            const WrongValue& wrong_value = {});

}  // namespace stepcast
