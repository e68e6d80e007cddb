#include <fmt/format.h>

#include <algorithm>

#include "check_words.hpp"

namespace stepcast {
namespace {

/// A cell of a table in Markdown.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '<' || c == '*' || c == '_' || c == '[')
      out += '\\';
    if (c == '\n') {
      out += "<br>";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out;
}

/// What a workflow command takes for its message, or with `property` for one of its properties.
std::string command_text(const std::string& text, bool property) {
  std::string out;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += special ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return out;
}

std::string annotation(const CheckResult& r, int line, const std::string& message) {
  const std::string at = line > 0 ? fmt::format(",line={}", line) : "";
  return fmt::format("::error file={}{},title={}::{}\n", command_text(r.file, true), at,
                     command_text("stepcast check: " + r.name, true), command_text(message, false));
}

/// A row for each value that the file expects; the first one says why it failed.
std::string rows(const CheckResult& r) {
  const auto row = [&](bool holds, const std::string& key, const ValueWords& words,
                       const std::string& why) {
    const char* state = !r.error.empty() ? "**error**" : holds ? "ok" : "**failed**";
    return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", state, cell(r.name), cell(key),
                       words.found, words.expected, words.difference, cell(why));
  };
  if (r.values.empty()) return row(r.passed(), "", {}, failure_line(r));
  std::string text;
  for (const CheckedValue& v : r.values)
    text += row(v.holds(), v.key, words_of(v), text.empty() ? failure_line(r) : "");
  return text;
}

}  // namespace

std::string check_markdown(const std::vector<CheckResult>& results) {
  const auto failed = std::ranges::count_if(results, [](const auto& r) { return !r.passed(); });
  std::string text = fmt::format("**{} scenarios checked: {} ok, {} failed**\n\n", results.size(),
                                 results.size() - static_cast<std::size_t>(failed), failed);
  text +=
      "| | scenario | value | found | expected | change | why |\n|---|---|---|---|---|---|---|\n";
  for (const bool passed : {false, true})
    for (const CheckResult& r : results)
      if (r.passed() == passed) text += rows(r);
  return text;
}

std::string check_annotations(const std::vector<CheckResult>& results) {
  std::string text;
  for (const CheckResult& r : results) {
    if (!r.error.empty()) text += annotation(r, 0, r.error);
    for (const CheckedValue& v : r.values)
      if (r.error.empty() && !v.holds())
        text += annotation(r, v.line, value_line(v) + "\n" + failure_line(r));
  }
  return text;
}

}  // namespace stepcast
