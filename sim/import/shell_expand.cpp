#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "shell_fields.hpp"
#include "stepcast/base/text.hpp"

// What becomes of a word: quotes, variables, arrays, arithmetic.
namespace stepcast::shell {
namespace {

/// Expansion of more than this is an attack or a mistake.
constexpr std::size_t most_expanded = 1 << 20;

/// What `${A##pattern}` is followed for; longer values take too long to compare.
constexpr std::size_t longest_cut = 4096;

bool is_name(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A parameter is a number, a name, or one character such as `@`.
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
  std::optional<std::size_t> best;
  for (std::size_t length = 0; length <= size; ++length) {
    const std::string part = value.text.substr(front ? 0 : size - length, length);
    // The matcher is the one that shells use; lengths are tried from the shortest on.
    if (fnmatch(pattern.c_str(), part.c_str(), 0) != 0) continue;
    best = length;
    if (!longest) break;
  }
  if (!best) return value;
  return front ? value.part(*best, size) : value.part(0, size - *best);
}

/// `{a,b}` and `{1..4}` outside of quotes, which become several words.
bool has_braces(std::string_view raw) {
  for (std::size_t i = 0; i < raw.size(); ++i) {
    // Quoted braces and those of `${A}` make no words: both are passed over.
    if (raw[i] == '\\') {
      ++i;
    } else if (raw[i] == '\'' || raw[i] == '"' || raw[i] == '`') {
      const char quote = raw[i];
      for (++i; i < raw.size() && raw[i] != quote; ++i)
        if (raw[i] == '\\' && quote != '\'') ++i;
    } else if (raw[i] == '$' && i + 1 < raw.size() && (raw[i + 1] == '{' || raw[i + 1] == '(')) {
      int open = 0;
      for (++i; i < raw.size(); ++i) {
        open += raw[i] == '{' || raw[i] == '(' ? 1 : raw[i] == '}' || raw[i] == ')' ? -1 : 0;
        if (open == 0) break;
      }
    } else if (raw[i] == '{') {
      const std::size_t close = raw.find('}', i);
      if (close == std::string_view::npos) return false;
      const std::string_view inside = raw.substr(i + 1, close - i - 1);
      if (inside.find(',') != std::string_view::npos || inside.find("..") != std::string_view::npos)
        return true;
    }
  }
  return false;
}

/// A quoted text that is no word at all where there are none.
bool names_all(std::string_view inside) {
  if (inside == "$@" || inside == "${@}") return true;
  return inside.starts_with("${") && inside.ends_with("[@]}");
}

std::string ends_without(const std::string& name) {
  const bool digit = name[0] >= '0' && name[0] <= '9';
  return (digit ? "$" : "") + name + " is not set, and the script ends without it";
}

/// `"$*"`: one word.
Traced joined_text(const std::vector<Traced>& values, std::uint32_t origin) {
  Traced text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text.add(' ', origin);
    text.add(values[i]);
  }
  return text;
}

}  // namespace

bool is_of_the_machine(std::string_view name) {
  constexpr std::array<std::string_view, 16> names{
      "HOME",    "PWD",     "OLDPWD", "USER", "HOSTNAME", "PATH",   "RANDOM",       "BASH_SOURCE",
      "SECONDS", "BASHPID", "EUID",   "UID",  "PPID",     "LINENO", "EPOCHSECONDS", "SRANDOM"};
  return std::ranges::find(names, name) != names.end();
}

void Shell::spend(std::size_t bytes, std::uint32_t origin) {
  spent_ += bytes;
  if (spent_ > most_expanded)
    // `A=$A$A` doubles with every line: thirty of them would take a gigabyte.
    refuse(sources_, origin, "expands to too much, allowed: 1 MiB in all of the script");
}

std::vector<Traced> Shell::fields(const Word& word) {
  if (has_braces(word.raw()))
    refuse(sources_, word.origin(), "has braces that make several words, allowed: the words");
  Fields out{Form::words};
  expand(*word.source, word.begin, word.end, out, false);
  return out.take();
}

Traced Shell::single(const Word& word) {
  if (word.source == nullptr) return {};
  Fields out{Form::text};
  expand(*word.source, word.begin, word.end, out, false);
  return out.take_single();
}

Traced Shell::pattern(const Word& word) {
  Fields out{Form::pattern};
  expand(*word.source, word.begin, word.end, out, false);
  return out.take_single();
}

Traced Shell::document(const HereDocument& document) {
  // Behind `<<'EOF'` nothing is expanded.
  if (!document.expand) return document.body;
  Fields out{Form::text};
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
      // A backslash at the end of a line joins the two.
      if (text[i] == '\n') continue;
      const bool plain =
          // Between double quotes a backslash stays before all but these four.
          quoted && std::string_view("$`\"\\").find(text[i]) == std::string_view::npos;
      if (plain) out.plain('\\', source.from[i - 1]);
      out.plain(text[i], source.from[i]);
    } else if (c == '\'' && !quoted) {
      const std::size_t close = std::min(text.find('\'', i + 1), end);
      out.start();
      for (++i; i < close; ++i) out.plain(text[i], source.from[i]);
    } else if (c == '"' && !quoted) {
      const std::size_t close = group_end(source, i, sources_) - 1;
      // `""` is an empty word; `"$@"` of no arguments is none.
      if (!names_all(std::string_view(text).substr(i + 1, close - i - 1))) out.start();
      expand(source, i + 1, std::min(close, end), out, true);
      i = close;
    } else if (c == '$' || c == '`') {
      i = expand_dollar(source, i, end, out, quoted) - 1;
    } else if (quoted) {
      out.plain(c, source.from[i]);
    } else {
      out.literal(c, source.from[i]);
    }
  }
}

/// `expr 16 / $NPROC`, the one command whose answer is arithmetic: of numbers in digits and signs.
std::optional<std::int64_t> Shell::expr_result(const Traced& source, std::size_t begin,
                                               std::size_t end) {
  const std::string_view raw = std::string_view(source.text).substr(begin, end - begin);
  if (!trimmed(raw).starts_with("expr ")) return {};
  for (std::size_t i = 0; i < raw.size(); ++i)
    // More than one command, or a name that the folder would complete: nobody runs that here.
    if (std::string_view(";|&<>`\n?[").find(raw[i]) != std::string_view::npos ||
        (raw[i] == '*' && (i == 0 || raw[i - 1] != '\\')))
      return {};
  Fields inner{Form::text};
  expand(source, begin, end, inner, false);
  const Traced command = inner.take_single();
  if (!command.known()) return {};
  const std::size_t behind = command.text.find("expr ") + 5;
  std::istringstream words(command.text.substr(behind));
  bool number_next = true;
  for (std::string word; words >> word; number_next = !number_next) {
    const bool digits = word.size() < 10 &&
                        word.find_first_not_of("0123456789") == std::string::npos &&
                        (word == "0" || word[0] != '0');
    const bool sign = word == "+" || word == "-" || word == "*" || word == "/" || word == "%";
    if (!(number_next ? digits : sign)) return {};
  }
  if (number_next) return {};
  return evaluate(command.part(behind, command.text.size()), source.from[begin]);
}

/// What begins with `$` or a backtick; the place behind it.
std::size_t Shell::expand_dollar(const Traced& source, std::size_t at, std::size_t end, Fields& out,
                                 bool quoted) {
  const std::string& text = source.text;
  const char next = at + 1 < end ? text[at + 1] : '\0';
  if (text[at] == '`' || next == '(') {
    const std::size_t close = std::min(group_end(source, at, sources_), end);
    // `$((` is arithmetic, `$(` a command, whose answer is not known without running it.
    const bool sum = next == '(' && at + 2 < end && text[at + 2] == '(' && text[close - 2] == ')';
    Traced value = unknown(source.from[at]);
    if (sum) {
      Fields expression{Form::text};
      expand(source, at + 3, close - 2, expression, true);
      const auto result = evaluate(expression.take_single(), source.from[at]);
      if (result) value = number(*result, source.from[at]);
    } else if (const auto result = expr_result(source, at + (next == '(' ? 2 : 1), close - 1)) {
      value = number(*result, source.from[at]);
    }
    quoted ? out.quoted(value) : out.value(value);
    return close;
  }
  if (next == '{') {
    const std::size_t close = std::min(group_end(source, at, sources_), end);
    expand_parameter(source, at + 2, close - 1, out, quoted);
    return close;
  }
  if (!quoted && next == '"') return at + 1;  // a text to translate
  if (!quoted && next == '\'') {
    const std::size_t close = std::min(text.find('\'', at + 2), end);
    if (text.substr(at, close - at).find('\\') != std::string::npos)
      refuse(sources_, source.from[at], "has escapes in $' ', allowed: ' ' or the characters");
    return at + 1;
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
  if (name == "#" && !std::ranges::all_of(state_.positional, &Traced::known))
    return std::vector{unknown(origin)};
  if (name == "#")
    return std::vector{number(static_cast<std::int64_t>(state_.positional.size()), origin)};
  // What the machine and earlier commands decide.
  if (name == "0" || name == "?" || name == "$" || name == "!" || name == "-")
    return std::vector{unknown(origin)};
  if (name[0] >= '0' && name[0] <= '9') {
    const std::size_t which = name.size() > 6 ? 0 : std::stoul(name);
    if (which == 0 || which > state_.positional.size()) return {};
    return std::vector{state_.positional[which - 1]};
  }
  const auto found = state_.variables.find(name);
  if (found == state_.variables.end()) {
    if (is_of_the_machine(name)) return std::vector{unknown(origin)};
    return {};
  }
  const std::vector<Traced>& values = found->second.values;
  if (index == "@" || index == "*") return values;
  Traced text;
  text.add(index.empty() ? "0" : index, origin);
  const std::optional<std::int64_t> which = evaluate(text, origin);
  if (!which) return std::vector{unknown(origin)};
  const std::int64_t size = static_cast<std::int64_t>(values.size());
  // Bash counts negative places from the end.
  const std::int64_t place = *which < 0 ? size + *which : *which;
  if (place < 0 || place >= size) return {};
  return std::vector{values[static_cast<std::size_t>(place)]};
}

/// The inside of `${ }`.
void Shell::expand_parameter(const Traced& source, std::size_t begin, std::size_t end, Fields& out,
                             bool quoted) {
  const std::string& text = source.text;
  const std::uint32_t origin = source.from[std::min(begin, text.size() - 1)];
  // `${#A}` is a length, `${#}` the number of arguments.
  const bool length = begin + 1 < end && text[begin] == '#';
  if (length) ++begin;
  const std::size_t behind = name_end(text, begin, end);
  const std::string name = text.substr(begin, behind - begin);
  if (name.empty()) refuse(sources_, origin, "is no variable, allowed: ${NAME}, ${NAME:-default}");
  std::size_t at = behind;
  std::string index;
  if (at < end && text[at] == '[') {
    const std::size_t close = text.rfind(']', end - 1);
    if (close == std::string::npos || close <= at || close >= end)
      refuse(sources_, origin, "opens an index that has no end");
    Fields inner{Form::text};
    expand(source, at + 1, close, inner, true);
    index = inner.take_single().text;
    at = close + 1;
  }
  const bool all = index == "@" || index == "*" || name == "@" || name == "*";
  joins_ = index == "*" || name == "*";
  std::optional<std::vector<Traced>> values = look_up(name, index, origin);
  for (const Traced& value : values.value_or(std::vector<Traced>{}))
    spend(value.text.size() + 1, origin);
  // Under set -u a script that runs has the variable from its environment, but where it says what
  // counts without one; an unset variable is empty otherwise.
  const std::size_t kind = at < end && text[at] == ':' ? at + 1 : at;
  const bool says_without =
      kind < end && std::string_view("-=+?").find(text[kind]) != std::string_view::npos;
  const bool is_name = name[0] == '_' || std::isalpha(static_cast<unsigned char>(name[0]));
  if (!values && state_.unset_ends && is_name && !state_.variables.contains(name) && !says_without)
    values = std::vector{unknown(origin)};
  const bool known = !values || std::ranges::all_of(*values, &Traced::known);
  // Bash counts characters of the locale; in ASCII these are bytes.
  const bool counted = all || !values || values->front().is_ascii();
  if (length && !values && index.empty() && state_.unset_ends)
    refuse(sources_, origin, ends_without(name));
  if (length && !(known && counted)) {
    out.quoted(unknown(origin));
    return;
  }
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
  const bool joins = joins_;
  const auto put = [&](const std::vector<Traced>& list) {
    if (all && quoted && joins) return out.quoted(joined_text(list, origin));
    if (all) return out.elements(list, quoted);
    for (const Traced& value : list) quoted ? out.quoted(value) : out.value(value);
  };
  // Under set -u bash ends at what is not set. The environment may set a variable, but no element
  // of an array that the script made.
  const bool ends = !values && state_.unset_ends;
  if (ends && at >= end) refuse(sources_, origin, ends_without(name));
  if (at >= end) {
    if (!values || (!state_.variables.contains(name) && state_.unset_ends))
      // Kept for the message that names what the environment must say.
      if (!is_of_the_machine(name)) missing_.try_emplace(name, origin);
    return put(values.value_or(std::vector<Traced>{}));
  }
  const bool colon = text[at] == ':';
  const char kind = colon && at + 1 < end ? text[at + 1] : text[at];
  // With a colon an empty value counts as none.
  const bool missing = !values || (colon && all_empty(*values));
  const std::size_t word = at + (colon ? 2 : 1);
  if (kind == '-' || kind == '=') {
    if (!missing) return put(*values);
    Fields inner{Form::text};
    expand(source, word, end, inner, quoted);
    const Traced value = inner.take_single();
    if (kind == '=') variable(name, origin) = {false, {value}};
    return quoted ? out.quoted(value) : out.value(value);
  }
  const bool known = !values || std::ranges::all_of(*values, &Traced::known);
  if (kind == '+' && colon && !known) return put({unknown(origin)});
  if (kind == '+') {
    if (!missing) expand(source, word, end, out, quoted);
    return;
  }
  if (kind == '?') {
    if (missing) refuse(sources_, origin, ends_without(name));
    return put(*values);
  }
  if (ends) refuse(sources_, origin, ends_without(name));
  if (!colon && (kind == '%' || kind == '#') && !values) return put({});
  if (!colon && (kind == '%' || kind == '#')) {
    // `##` and `%%` take the longest match.
    const bool twice = at + 1 < end && text[at + 1] == kind;
    Fields pattern{Form::pattern};
    expand(source, at + (twice ? 2 : 1), end, pattern, false);
    const Traced shape = pattern.take_single();
    for (Traced& value : *values)
      value = value.known() && shape.known() && value.text.size() <= longest_cut &&
                      is_comparable(shape.text, value)
                  ? without(value, shape.text, kind == '#', twice)
                  : unknown(origin);
    return put(*values);
  }
  put({unknown(origin)});
}

}  // namespace stepcast::shell
