#include "shell.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>

// `[ ]`, `test` and `[[ ]]`.
namespace stepcast::shell {
namespace {

Truth truth(bool value) { return value ? Truth::yes : Truth::no; }
Truth negated(Truth value) { return value == Truth::unknown ? value : truth(value == Truth::no); }
Truth both(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  return a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::unknown;
}

/// Patterns with more take too long to compare.
constexpr int most_pattern_stars = 4;

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// Recursive descent: or, and, not, comparison.
struct Condition {
  const std::vector<Traced>& words;
  bool patterns;
  std::size_t at = 0;
  int depth = 0;

  bool more() const { return at < words.size(); }
  bool is(std::string_view text) const { return more() && words[at].text == text; }
  bool take(std::string_view text) {
    const bool there = is(text);
    at += there ? 1 : 0;
    return there;
  }
  Truth either() {
    Truth value = all();
    while (take("||") || take("-o")) value = negated(both(negated(value), negated(all())));
    return value;
  }
  Truth all() {
    Truth value = one();
    while (take("&&") || take("-a")) value = both(value, one());
    return value;
  }
  Truth one() {
    if (++depth > 64 || !more()) return Truth::unknown;
    if (is("!") && at + 1 < words.size()) {
      ++at;
      return negated(one());
    }
    if (patterns && take("(")) {
      const Truth value = either();
      take(")");
      return value;
    }
    return comparison();
  }
  Truth comparison() {
    const bool binary = at + 2 < words.size() && is_operator(words[at + 1].text);
    if (binary) {
      const Traced &left = words[at], &right = words[at + 2];
      const std::string op = words[at + 1].text;
      at += 3;
      return left.known() && right.known() ? compare(left.text, op, right.text) : Truth::unknown;
    }
    const std::string& first = words[at].text;
    if (first.size() == 2 && first[0] == '-' && at + 1 < words.size()) {
      const Traced& operand = words[at + 1];
      at += 2;
      if (!operand.known() || (first != "-n" && first != "-z")) return Truth::unknown;
      return truth(operand.text.empty() == (first == "-z"));
    }
    ++at;
    return words[at - 1].known() ? truth(!first.empty()) : Truth::unknown;
  }
  static bool is_operator(const std::string& text) {
    static constexpr std::string_view all[] = {"=",   "==",  "!=",  "-eq", "-ne", "-gt",
                                               "-ge", "-lt", "-le", "<",   ">",   "=~"};
    return std::ranges::find(all, text) != std::end(all);
  }
  Truth compare(const std::string& left, const std::string& op, const std::string& right) const {
    if (op == "=" || op == "==" || op == "!=") {
      if (patterns && std::ranges::count(right, '*') > most_pattern_stars) return Truth::unknown;
      const bool same = patterns ? fnmatch(right.c_str(), left.c_str(), 0) == 0 : left == right;
      return truth(same == (op != "!="));
    }
    if (op == "=~") return Truth::unknown;
    if (op == "<" || op == ">") return truth(op == "<" ? left < right : left > right);
    const auto a = whole_number(left), b = whole_number(right);
    if (!a || !b) return left.empty() || right.empty() ? Truth::no : Truth::unknown;
    if (op == "-eq") return truth(*a == *b);
    if (op == "-ne") return truth(*a != *b);
    if (op == "-gt") return truth(*a > *b);
    if (op == "-ge") return truth(*a >= *b);
    return truth(op == "-lt" ? *a < *b : *a <= *b);
  }
};

}  // namespace

Truth Shell::test(const std::vector<Traced>& words, bool patterns) {
  if (words.empty()) return Truth::no;
  Condition condition{words, patterns};
  const Truth value = condition.either();
  return condition.more() ? Truth::unknown : value;
}

}  // namespace stepcast::shell
