#pragma once
#include <string>
#include <vector>

namespace stepcast {

/// The text of a YAML document with keys set, `path.to.key=value` each, one after the
/// other: a value that stands in the text is replaced where it stands, a key that lacks is added to
/// its mapping, and everything else, comments and layout, stays. Files that the text extends are
/// not looked at; `name` stands in every place. The new text is read again and means what
/// apply_override would have made of the old one. Throws InputError, all at once: as
/// parse_document, no `=` or an empty path, and keys that cannot be written (a value of several
/// lines, a block list or mapping where a value is to be, a mapping for a mapping).
std::string edited_document(std::string text, const std::string& name,
                            const std::vector<std::string>& assignments);

}  // namespace stepcast
