#include <algorithm>

#include "shell_syntax.hpp"

// Where a word ends, and where its characters were written.
namespace stepcast::shell {
namespace {

/// Scripts that nest deeper are no scripts of anybody.
constexpr int deepest = 64;
constexpr std::string_view breaks = " \t\r\n;&|<>()";

std::size_t closing(const Traced& source, std::size_t at, std::size_t body, char open, char close,
                    const Sources& sources, int depth) {
  const std::string& text = source.text;
  int open_ones = 1;
  for (std::size_t i = body; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (c == '\'' || c == '"' || c == '`' ||
               (c == '$' && i + 1 < text.size() && (text[i + 1] == '(' || text[i + 1] == '{'))) {
      i = group_end(source, i, sources, depth + 1) - 1;
    } else if (c == open) {
      ++open_ones;
    } else if (c == close && --open_ones == 0) {
      return i + 1;
    }
  }
  refuse(sources, source.from[at],
         std::string("opens '") + text.substr(at, body - at) + "', which has no end");
}

std::size_t quoted_end(const Traced& source, std::size_t at, const Sources& sources, int depth) {
  const std::string& text = source.text;
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == quote) return i + 1;
    // Nothing is special inside single quotes.
    if (quote == '\'') continue;
    if (text[i] == '\\') {
      ++i;
      // A substitution has quotes of its own.
    } else if (quote == '"' && (text[i] == '`' || (text[i] == '$' && i + 1 < text.size() &&
                                                   (text[i + 1] == '(' || text[i + 1] == '{')))) {
      i = group_end(source, i, sources, depth + 1) - 1;
    }
  }
  refuse(sources, source.from[at], "opens a text with a quote that has no end");
}

}  // namespace

void refuse(const Sources& sources, std::uint32_t origin, const std::string& message) {
  refuse_input(sources.place(origin), {}, message);
}

std::size_t group_end(const Traced& source, std::size_t at, const Sources& sources, int depth) {
  if (depth > deepest) refuse(sources, source.from[at], "is nested too deeply, allowed: 64 levels");
  const std::string& text = source.text;
  if (text[at] != '$') return quoted_end(source, at, sources, depth);
  if (text[at + 1] == '{') return closing(source, at, at + 2, '{', '}', sources, depth);
  return closing(source, at, at + 2, '(', ')', sources, depth);
}

std::size_t word_end(const Traced& source, std::size_t at, const Sources& sources) {
  const std::string& text = source.text;
  std::size_t i = at;
  while (i < text.size() && breaks.find(text[i]) == std::string_view::npos) {
    const char c = text[i];
    const bool substitution =
        c == '$' && i + 1 < text.size() && (text[i + 1] == '(' || text[i + 1] == '{');
    // A backslash takes one character along, whatever it is.
    if (c == '\\') {
      i = std::min(i + 2, text.size());
    } else if (c == '\'' || c == '"' || c == '`' || substitution) {
      i = group_end(source, i, sources);
    } else {
      ++i;
    }
  }
  return i;
}

Traced Traced::part(std::size_t begin, std::size_t end) const {
  return {text.substr(begin, end - begin),
          {from.begin() + static_cast<std::ptrdiff_t>(begin),
           from.begin() + static_cast<std::ptrdiff_t>(end)}};
}

bool Traced::is_ascii() const {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_comparable(const std::string& pattern, const Traced& text) {
  constexpr int most_stars = 4;  // each takes the time times the length
  return std::ranges::count(pattern, '*') <= most_stars &&
         (text.is_ascii() || pattern.find_first_of("?[") == std::string::npos);
}

Traced Sources::add(const std::string& name, std::string text) {
  // One place more for each file, so that its end is not the beginning of the next.
  const std::uint32_t begin = files_.empty() ? 0 : files_.back().begin + files_.back().size + 1;
  File file{name, begin, static_cast<std::uint32_t>(text.size()), {0}};
  Traced traced;
  traced.from.reserve(text.size());
  for (std::uint32_t i = 0; i < file.size; ++i) {
    traced.from.push_back(begin + i);
    if (text[i] == '\n') file.lines.push_back(i + 1);
  }
  traced.text = std::move(text);
  files_.push_back(std::move(file));
  return traced;
}

Place Sources::place(std::uint32_t origin) const {
  // Origins count characters over all files one after the other: the file that begins last before
  // one has it.
  const auto behind =
      std::ranges::upper_bound(files_, origin, {}, [](const File& f) { return f.begin; });
  if (behind == files_.begin()) return {};
  const File& file = *std::prev(behind);
  const std::uint32_t at = std::min(origin - file.begin, file.size);
  const auto line = std::prev(std::ranges::upper_bound(file.lines, at));
  return {file.name, 1 + static_cast<int>(line - file.lines.begin()),
          1 + static_cast<int>(at - *line)};
}

}  // namespace stepcast::shell
