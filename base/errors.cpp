#include "stepcast/base/errors.hpp"

#include <algorithm>
#include <tuple>

namespace stepcast {
namespace {

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
  for (const Diagnostic& d : diagnostics) text += (text.empty() ? "" : "\n") + d.text();
  return text;
}

}  // namespace

std::string Diagnostic::text() const {
  std::string out = place.file;
  if (place.line > 0) out += ":" + std::to_string(place.line);
  if (place.line > 0 && place.column > 0) out += ":" + std::to_string(place.column);
  if (!out.empty()) out += ": ";
  if (!path.empty()) out += path + ": ";
  return out + message;
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(lines_of(in_reading_order(diagnostics))),
      diagnostics_(in_reading_order(std::move(diagnostics))) {}

InputError::InputError(const std::string& message) : InputError({Diagnostic{{}, {}, message}}) {}

void contract_broken(const char* what, const char* file, int line) {
  throw ContractError(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace stepcast
