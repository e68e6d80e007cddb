#include "stepcast/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <tuple>

namespace stepcast {
namespace {

constexpr std::size_t most_shown = 50;  ///< errors; who has more mends these first

std::vector<Diagnostic> in_reading_order(std::vector<Diagnostic> diagnostics) {
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     return std::tie(a.place.file, a.place.line, a.place.column) <
                            std::tie(b.place.file, b.place.line, b.place.column);
                   });
  return diagnostics;
}

std::string lines_of(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& d : std::span(diagnostics).first(std::min(diagnostics.size(), most_shown)))
    text += (text.empty() ? "" : "\n") + d.text();
  if (diagnostics.size() > most_shown)
    text += "\nand " + std::to_string(diagnostics.size() - most_shown) + " more errors";
  return text;
}

/// Bytes of the control character that `text` begins with: C0 but for line ends, DEL, and C1 in
/// UTF-8. A terminal would obey it.
std::size_t control_length(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if ((byte < 0x20 && byte != '\n') || byte == 0x7F) return 1;
  const bool second = byte == 0xC2 && text.size() > 1;
  return second && static_cast<unsigned char>(text[1]) < 0xA0 ? 2 : 0;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = control_length(text);
    // Only control characters are shown as numbers; letters of any language stay.
    if (length == 0) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    std::array<char, 8> hex{};
    std::snprintf(hex.data(), hex.size(), "\\x%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(text[length - 1])));
    out += hex.data();
    text.remove_prefix(length);
  }
  return out;
}

std::string shortened(std::string_view text) {
  constexpr std::size_t longest = 200;
  if (text.size() <= longest) return std::string(text);
  std::size_t end = longest;
  while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // whole characters
  return std::string(text.substr(0, end)) + "...";
}

std::string Diagnostic::text() const {
  // The file of a setting is the setting.
  std::string out = place.file.starts_with("--set ") ? shortened(place.file) : place.file;
  if (place.line > 0) out += ":" + std::to_string(place.line);
  if (place.line > 0 && place.column > 0) out += ":" + std::to_string(place.column);
  if (!out.empty()) out += ": ";
  if (!path.empty()) out += shortened(path) + ": ";
  return visible(out + message);
}

void refuse_input(Place place, std::string path, std::string message) {
  throw InputError({Diagnostic{std::move(place), std::move(path), std::move(message)}});
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(lines_of(in_reading_order(diagnostics))),
      diagnostics_(in_reading_order(std::move(diagnostics))) {}

InputError::InputError(const std::string& message) : InputError({Diagnostic{{}, {}, message}}) {}

void contract_broken(const char* what, const char* file, int line) {
  throw ContractError(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace stepcast
