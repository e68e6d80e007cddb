#include <fnmatch.h>

#include <algorithm>
#include <array>

#include "shell_fields.hpp"

// What becomes of a word: quotes, variables, arrays, arithmetic.
namespace stepcast::shell {
namespace {

/// Expansion of more than this is an attack or a mistake.
constexpr std::size_t most_expanded = 1 << 20;

/// What `${A##pattern}` is followed for; longer ones take too long to compare.
constexpr int most_stars = 4;
constexpr std::size_t longest_cut = 4096;

/// What the shell or the machine sets, and a file does not say.
constexpr std::array<std::string_view, 9> of_the_machine{
    "HOME", "PWD", "OLDPWD", "USER", "HOSTNAME", "PATH", "RANDOM", "BASH_SOURCE", "SECONDS"};

bool is_name(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::size_t name_end(const std::string& text, std::size_t at, std::size_t end) {
  if (at < end && text[at] >= '0' && text[at] <= '9') {
    while (at < end && text[at] >= '0' && text[at] <= '9') ++at;
    return at;
  }
  const std::size_t begin = at;
  while (at < end && is_name(text[at])) ++at;
  if (at == begin && at < end &&
      std::string_view("@*#?$!-").find(text[at]) != std::string_view::npos)
    ++at;
  return at;
}

Traced unknown(std::uint32_t origin) {
  Traced value;
  value.add(unknown_mark, origin);
  return value;
}

Traced number(std::int64_t value, std::uint32_t origin) {
  Traced text;
  text.add(std::to_string(value), origin);
  return text;
}

bool all_empty(const std::vector<Traced>& values) {
  return std::ranges::all_of(values, [](const Traced& v) { return v.text.empty(); });
}

/// `value` without the prefix (front) or suffix that matches, the shortest or the longest.
Traced without(const Traced& value, const std::string& pattern, bool front, bool longest) {
  const std::size_t size = value.text.size();
  if (std::ranges::count(pattern, '*') > most_stars || size > longest_cut) return value;
  std::optional<std::size_t> best;
  for (std::size_t length = 0; length <= size; ++length) {
    const std::string part = value.text.substr(front ? 0 : size - length, length);
    if (fnmatch(pattern.c_str(), part.c_str(), 0) != 0) continue;
    best = length;
    if (!longest) break;
  }
  if (!best) return value;
  return front ? value.part(*best, size) : value.part(0, size - *best);
}

}  // namespace

void Shell::spend(std::size_t bytes, std::uint32_t origin) {
  spent_ += bytes;
  if (spent_ > most_expanded)
    refuse(sources_, origin, "expands to too much, allowed: 1 MiB in all of the script");
}

std::vector<Traced> Shell::fields(const Word& word) {
  Fields out{true};
  expand(*word.source, word.begin, word.end, out, false);
  return out.take();
}

Traced Shell::single(const Word& word) {
  if (word.source == nullptr) return {};
  Fields out{false};
  expand(*word.source, word.begin, word.end, out, false);
  return out.take_single();
}

Traced Shell::document(const HereDocument& document) {
  if (!document.expand) return document.body;
  Fields out{false};
  const std::string& text = document.body.text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' || text[i] == '`') {
      i = expand_dollar(document.body, i, text.size(), out, true) - 1;
    } else if (text[i] == '\\' && i + 1 < text.size() &&
               std::string_view("$`\\\n").find(text[i + 1]) != std::string_view::npos) {
      ++i;
      if (text[i] != '\n') out.literal(text[i], document.body.from[i]);
    } else {
      out.literal(text[i], document.body.from[i]);
    }
  }
  spend(out.size(), document.body.origin());
  return out.take_single();
}

void Shell::expand(const Traced& source, std::size_t begin, std::size_t end, Fields& out,
                   bool quoted) {
  const std::string& text = source.text;
  if (end > begin) spend(end - begin, source.from[begin]);
  for (std::size_t i = begin; i < end; ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < end) {
      ++i;
      if (text[i] == '\n') continue;
      const bool plain =
          quoted && std::string_view("$`\"\\").find(text[i]) == std::string_view::npos;
      if (plain) out.literal('\\', source.from[i - 1]);
      out.literal(text[i], source.from[i]);
    } else if (c == '\'' && !quoted) {
      const std::size_t close = std::min(text.find('\'', i + 1), end);
      out.start();
      for (++i; i < close; ++i) out.literal(text[i], source.from[i]);
    } else if (c == '"' && !quoted) {
      const std::size_t close = group_end(source, i, sources_) - 1;
      out.start();
      expand(source, i + 1, std::min(close, end), out, true);
      i = close;
    } else if (c == '$' || c == '`') {
      i = expand_dollar(source, i, end, out, quoted) - 1;
    } else {
      out.literal(c, source.from[i]);
    }
  }
}

/// What begins with `$` or a backtick; the place behind it.
std::size_t Shell::expand_dollar(const Traced& source, std::size_t at, std::size_t end, Fields& out,
                                 bool quoted) {
  const std::string& text = source.text;
  const char next = at + 1 < end ? text[at + 1] : '\0';
  if (text[at] == '`' || next == '(') {
    const std::size_t close = std::min(group_end(source, at, sources_), end);
    const bool sum = next == '(' && at + 2 < end && text[at + 2] == '(' && text[close - 2] == ')';
    Traced value = unknown(source.from[at]);
    if (sum) {
      Fields expression{false};
      expand(source, at + 3, close - 2, expression, true);
      const auto result = evaluate(expression.take_single(), source.from[at]);
      if (result) value = number(*result, source.from[at]);
    }
    quoted ? out.quoted(value) : out.value(value);
    return close;
  }
  if (next == '{') {
    const std::size_t close = std::min(group_end(source, at, sources_), end);
    expand_parameter(source, at + 2, close - 1, out, quoted);
    return close;
  }
  const std::size_t behind = name_end(text, at + 1, end);
  if (behind == at + 1) {
    out.literal('$', source.from[at]);
    return at + 1;
  }
  // Without braces a number has one digit.
  const bool digit = next >= '0' && next <= '9';
  const std::size_t stop = digit ? at + 2 : behind;
  expand_parameter(source, at + 1, stop, out, quoted);
  return stop;
}

std::optional<std::vector<Traced>> Shell::look_up(const std::string& name, const std::string& index,
                                                  std::uint32_t origin) {
  if (name == "@" || name == "*") return state_.positional;
  if (name == "#")
    return std::vector{number(static_cast<std::int64_t>(state_.positional.size()), origin)};
  if (name == "0" || name == "?" || name == "$" || name == "!" || name == "-")
    return std::vector{unknown(origin)};
  if (name[0] >= '0' && name[0] <= '9') {
    const std::size_t which = name.size() > 6 ? 0 : std::stoul(name);
    if (which == 0 || which > state_.positional.size()) return {};
    return std::vector{state_.positional[which - 1]};
  }
  const auto found = state_.variables.find(name);
  if (found == state_.variables.end()) {
    if (std::ranges::find(of_the_machine, name) != of_the_machine.end())
      return std::vector{unknown(origin)};
    return {};
  }
  const std::vector<Traced>& values = found->second.values;
  if (index == "@" || index == "*") return values;
  Traced text;
  text.add(index.empty() ? "0" : index, origin);
  const std::optional<std::int64_t> which = evaluate(text, origin);
  if (!which) return std::vector{unknown(origin)};
  const std::int64_t size = static_cast<std::int64_t>(values.size());
  const std::int64_t place = *which < 0 ? size + *which : *which;
  if (place < 0 || place >= size) return {};
  return std::vector{values[static_cast<std::size_t>(place)]};
}

/// The inside of `${ }`.
void Shell::expand_parameter(const Traced& source, std::size_t begin, std::size_t end, Fields& out,
                             bool quoted) {
  const std::string& text = source.text;
  const std::uint32_t origin = source.from[std::min(begin, text.size() - 1)];
  const bool length = begin + 1 < end && text[begin] == '#';
  if (length) ++begin;
  const std::size_t behind = name_end(text, begin, end);
  const std::string name = text.substr(begin, behind - begin);
  if (name.empty()) refuse(sources_, origin, "is no variable, allowed: ${NAME}, ${NAME:-default}");
  std::size_t at = behind;
  std::string index;
  if (at < end && text[at] == '[') {
    const std::size_t close = text.find(']', at);
    if (close >= end) refuse(sources_, origin, "opens an index that has no end");
    index = text.substr(at + 1, close - at - 1);
    at = close + 1;
  }
  const bool all = index == "@" || index == "*" || name == "@" || name == "*";
  std::optional<std::vector<Traced>> values = look_up(name, index, origin);
  for (const Traced& value : values.value_or(std::vector<Traced>{}))
    spend(value.text.size(), origin);
  if (length) {
    const std::size_t size = !values ? 0 : all ? values->size() : values->front().text.size();
    out.quoted(number(static_cast<std::int64_t>(size), origin));
    return;
  }
  expand_operator(source, at, end, name, std::move(values), out, quoted, all);
}

void Shell::expand_operator(const Traced& source, std::size_t at, std::size_t end,
                            const std::string& name, std::optional<std::vector<Traced>> values,
                            Fields& out, bool quoted, bool all) {
  const std::string& text = source.text;
  const std::uint32_t origin = source.from[std::min(at, text.size() - 1)];
  const auto put = [&](const std::vector<Traced>& list) {
    if (all) return out.elements(list, quoted);
    for (const Traced& value : list) quoted ? out.quoted(value) : out.value(value);
  };
  if (at >= end) return put(values.value_or(std::vector<Traced>{}));
  const bool colon = text[at] == ':';
  const char kind = colon && at + 1 < end ? text[at + 1] : text[at];
  const bool missing = !values || (colon && all_empty(*values));
  const std::size_t word = at + (colon ? 2 : 1);
  if (kind == '-' || kind == '=') {
    if (!missing) return put(*values);
    Fields inner{false};
    expand(source, word, end, inner, quoted);
    const Traced value = inner.take_single();
    if (kind == '=') variable(name) = {false, {value}};
    return quoted ? out.quoted(value) : out.value(value);
  }
  if (kind == '+') {
    if (!missing) expand(source, word, end, out, quoted);
    return;
  }
  if (kind == '?') {
    if (missing) refuse(sources_, origin, name + " is not set, and the script ends without it");
    return put(*values);
  }
  if (!colon && (kind == '%' || kind == '#') && values) {
    const bool twice = at + 1 < end && text[at + 1] == kind;
    Fields pattern{false};
    expand(source, at + (twice ? 2 : 1), end, pattern, quoted);
    const Traced shape = pattern.take_single();
    for (Traced& value : *values)
      value = value.known() && shape.known() ? without(value, shape.text, kind == '#', twice)
                                             : unknown(origin);
    return put(*values);
  }
  put({unknown(origin)});
}

}  // namespace stepcast::shell
