#pragma once
#include <string>

#include "stepcast/base/describe.hpp"

namespace stepcast {

/// A text with one line `path=value` per key, in the order of the description, with numbers in
/// shortest round-trip form. Two scenarios that mean the same have the same text, however they are
/// written.
std::string canonical_text(const Visitor::Body& body);

/// Whether a key is wanted, or one at or below a mapping, by its path.
using WantedKeys = std::function<bool(const std::string&)>;
/// The lines of the wanted keys alone, which costs less.
std::string canonical_text(const Visitor::Body& body, const WantedKeys& wanted);

/// The value in such a line.
std::string value_text(const Target& target);

/// Two lower-case digits a byte.
std::string hexadecimal(std::string_view bytes);
/// The SHA-256 of `text` in lower-case hexadecimal.
std::string sha256(const std::string& text);

}  // namespace stepcast
