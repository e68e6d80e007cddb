#include "shell.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>

// `[ ]`, `test` and `[[ ]]`.
namespace stepcast::shell {
namespace {

Truth truth(bool value) { return value ? Truth::yes : Truth::no; }
Truth negated(Truth value) { return value == Truth::unknown ? value : truth(value == Truth::no); }
Truth both_true(Truth a, Truth b) {
  if (a == Truth::no || b == Truth::no) return Truth::no;
  return a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::unknown;
}
Truth either_true(Truth a, Truth b) { return negated(both_true(negated(a), negated(b))); }

/// A number as `[ ]` reads it: decimal, blanks around it.
std::optional<std::int64_t> whole_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

bool is_comparison(const std::string& text) {
  static constexpr std::string_view all[] = {"=",   "==", "!=", "-eq", "-ne", "-gt", "-ge", "-lt",
                                             "-le", "<",  ">",  "=~",  "-nt", "-ot", "-ef"};
  return std::ranges::find(all, text) != std::end(all);
}

bool is_unary(const std::string& text) {
  return text.size() == 2 && text[0] == '-' &&
         std::string_view("abcdefghknoprstuvwxzGLNORS").find(text[1]) != std::string_view::npos;
}

Truth numbers(const std::string& op, std::int64_t a, std::int64_t b) {
  if (op == "-eq") return truth(a == b);
  if (op == "-ne") return truth(a != b);
  if (op == "-gt") return truth(a > b);
  if (op == "-ge") return truth(a >= b);
  return truth(op == "-lt" ? a < b : a <= b);
}

}  // namespace

/// Recursive descent: or, and, not, comparison. Within `[[ ]]` operators are bare words; within
/// `[ ]` any word may be one, and where there are few their number says which.
struct Condition {
  Shell& shell;
  const std::vector<TestWord>& words;
  bool brackets;
  std::uint32_t origin;
  std::size_t at = 0;
  int depth = 0;

  bool more() const { return at < words.size(); }
  const std::string& text(std::size_t i) const { return words[i].value.text; }
  bool is(std::string_view word) const { return more() && words[at].bare && text(at) == word; }
  bool take(std::string_view word) {
    const bool there = is(word);
    at += there ? 1 : 0;
    return there;
  }
  Truth either() {
    Truth value = all();
    while (take(brackets ? "||" : "-o")) value = either_true(value, all());
    return value;
  }
  Truth all() {
    Truth value = one();
    while (take(brackets ? "&&" : "-a")) value = both_true(value, one());
    return value;
  }
  Truth one() {
    if (++depth > 64 || !more()) return Truth::unknown;
    if (is("!") && at + 1 < words.size()) {
      ++at;
      return negated(one());
    }
    if (at + 2 < words.size() && words[at + 1].bare && is_comparison(text(at + 1))) {
      at += 3;
      return shell.compare(words[at - 3], text(at - 2), words[at - 1], brackets, origin);
    }
    if (take("(")) {
      const Truth value = either();
      if (!take(")")) at = words.size() + 1;
      return value;
    }
    if (words[at].bare && is_unary(text(at)) && at + 1 < words.size()) {
      at += 2;
      return unary(text(at - 2), words[at - 1].value);
    }
    return lone(words[at++].value);
  }
  static Truth lone(const Traced& word) {
    return word.known() ? truth(!word.text.empty()) : Truth::unknown;
  }
  static Truth unary(const std::string& op, const Traced& word) {
    if (!word.known() || (op != "-n" && op != "-z")) return Truth::unknown;
    return truth(word.text.empty() == (op == "-z"));
  }
  /// POSIX: up to four words are told apart by how many there are.
  Truth few(std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    if (count == 0) return Truth::no;
    if (count == 1) return lone(words[begin].value);
    if (count == 2) {
      if (text(begin) == "!") return negated(lone(words[begin + 1].value));
      return is_unary(text(begin)) ? unary(text(begin), words[begin + 1].value) : Truth::no;
    }
    if (count == 3) {
      const std::string& middle = text(begin + 1);
      if (is_comparison(middle))
        return shell.compare(words[begin], middle, words[begin + 2], false, origin);
      if (middle == "-a") return both_true(few(begin, begin + 1), few(begin + 2, end));
      if (middle == "-o") return either_true(few(begin, begin + 1), few(begin + 2, end));
      if (text(begin) == "!") return negated(few(begin + 1, end));
      if (text(begin) == "(" && text(begin + 2) == ")") return few(begin + 1, begin + 2);
      return Truth::no;
    }
    if (text(begin) == "!") return negated(few(begin + 1, end));
    if (text(begin) == "(" && text(end - 1) == ")") return few(begin + 1, end - 1);
    return Truth::unknown;
  }
};

Truth Shell::compare(const TestWord& left, const std::string& op, const TestWord& right,
                     bool brackets, std::uint32_t origin) {
  if (!left.value.known() || !right.value.known() || !right.pattern.known()) return Truth::unknown;
  const std::string &a = left.value.text, &b = right.value.text;
  if (op == "=" || op == "==" || op == "!=") {
    const std::string& shape = right.pattern.text;
    if (brackets && !is_comparable(shape, left.value)) return Truth::unknown;
    const bool same = brackets ? fnmatch(shape.c_str(), a.c_str(), 0) == 0 : a == b;
    return truth(same == (op != "!="));
  }
  if (!op.starts_with('-') || op == "-nt" || op == "-ot" || op == "-ef") return Truth::unknown;
  if (brackets) {
    const auto x = evaluate(left.value, origin), y = evaluate(right.value, origin);
    return x && y ? numbers(op, *x, *y) : Truth::unknown;
  }
  const auto x = whole_number(a), y = whole_number(b);
  return x && y ? numbers(op, *x, *y) : Truth::no;  // it complains, and that is no
}

Truth Shell::test(const std::vector<Traced>& words, std::uint32_t origin) {
  std::vector<TestWord> all;
  for (const Traced& word : words) {
    // What a command prints may be several words.
    if (!word.known() && words.size() != 2 && words.size() != 3) return Truth::unknown;
    all.push_back({word, {}, true});
  }
  Condition condition{*this, all, false, origin};
  constexpr std::size_t few = 4;
  if (all.size() < few ||
      (all.size() == few && (all[0].value.text == "!" || all[0].value.text == "(")))
    return condition.few(0, all.size());
  const Truth value = condition.either();
  return condition.at == all.size() ? value : Truth::unknown;
}

Truth Shell::run_test(const Command& command) {
  std::vector<TestWord> all;
  for (const Word& word : command.words) {
    // Only bare words are operators: a quoted `-f` is a text.
    const bool bare = word.raw().find_first_of("\"'$`\\") == std::string_view::npos;
    all.push_back({single(word), pattern(word), bare});
  }
  if (all.empty()) return Truth::no;
  Condition condition{*this, all, true, command.origin};
  const Truth value = condition.either();
  // Words left over mean that this test is of a form that is not known here.
  return condition.at == all.size() ? value : Truth::unknown;
}

}  // namespace stepcast::shell
