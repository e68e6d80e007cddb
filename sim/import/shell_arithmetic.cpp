#include <charconv>
#include <utility>

#include "shell.hpp"

// `$(( ))`: whole numbers, names with and without `$`.
namespace stepcast::shell {
namespace {

constexpr int deepest_names = 16;

/// Precedence climbing over C's binary operators that scripts use.
struct Sum {
  std::string_view text;
  const std::map<std::string, Variable>& variables;
  int names = 0;
  std::size_t at = 0;
  int depth = 0;
  bool known = true, right_known = true;
  std::string wrong = {};

  void fail(const std::string& message) {
    if (wrong.empty()) wrong = message;
  }
  char peek() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n')) ++at;
    return at < text.size() ? text[at] : '\0';
  }
  bool take(std::string_view symbol) {
    peek();
    if (text.substr(at, symbol.size()) != symbol) return false;
    at += symbol.size();
    return true;
  }
  std::int64_t checked(std::int64_t a, std::int64_t b, char op) {
    std::int64_t result = 0;
    // Bash wraps around; a size that does so is a mistake of the script.
    const bool over = op == '+'   ? __builtin_add_overflow(a, b, &result)
                      : op == '-' ? __builtin_sub_overflow(a, b, &result)
                                  : __builtin_mul_overflow(a, b, &result);
    if (over) fail("is too large, allowed: whole numbers of 64 bits");
    return over ? 0 : result;
  }
  std::int64_t divided(std::int64_t a, std::int64_t b, char op) {
    // The least number over -1 has no result in 64 bits; a divisor that is not known counts as 0
    // here.
    if (b == 0 || b == -1) {
      if (b == 0 && right_known) fail("divides by 0");
      return b == 0 || op == '%' ? 0 : checked(0, a, '-');
    }
    return op == '/' ? a / b : a % b;
  }
  std::int64_t name_value(const std::string& name) {
    const auto found = variables.find(name);
    if (found == variables.end() || found->second.values.empty()) {
      if (is_of_the_machine(name))
        known = false;
      else
        fail("names " + name + ", which is not set; set it in the script");
      return 0;
    }
    const Traced& value = found->second.values.front();
    if (!value.known()) known = false;
    if (!value.known() || value.text.empty()) return 0;
    // `A=B`, `B=A`: bash ends there, too.
    if (names >= deepest_names) {
      fail("names variables that name each other");
      return 0;
    }
    // The text of a variable is an expression itself.
    Sum inner{value.text, variables, names + 1};
    const std::int64_t result = inner.whole();
    known = known && inner.known;
    if (!inner.wrong.empty()) fail(inner.wrong);
    return result;
  }
  /// `8`, `010` in base 8, `0x10` in base 16.
  std::int64_t literal() {
    const bool zero = text[at] == '0' && at + 1 < text.size();
    const bool sixteen = zero && (text[at + 1] == 'x' || text[at + 1] == 'X');
    const int base = sixteen ? 16 : zero ? 8 : 10;
    if (sixteen) at += 2;
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + at, text.data() + text.size(), value, base);
    if (error == std::errc::result_out_of_range)
      fail("is too large, allowed: whole numbers of 64 bits");
    at = static_cast<std::size_t>(end - text.data());
    if (error == std::errc::invalid_argument || (at < text.size() && is_word(text[at])))
      fail("has a number that is not of base " + std::to_string(base));
    return value;
  }
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '#';
  }
  std::int64_t primary() {
    if (++depth > 64) fail("is nested too deeply, allowed: 64 levels");
    if (!wrong.empty()) return 0;
    const char c = peek();
    std::int64_t value = 0;
    if (c == unknown_mark) {
      ++at;
      known = false;
    } else if (c == '(') {
      ++at;
      value = binary(0);
      if (!take(")")) fail("misses ')'");
    } else if (c == '-' || c == '+' || c == '!') {
      ++at;
      const std::int64_t operand = primary();
      value = c == '-' ? checked(0, operand, '-') : c == '+' ? operand : operand == 0;
    } else if (c >= '0' && c <= '9') {
      value = literal();
    } else {
      std::size_t end = at;
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
        ++end;
      if (end == at) {
        fail("is no whole number and no name");
        return 0;
      }
      value = name_value(std::string(text.substr(at, end - at)));
      at = end;
    }
    --depth;
    return value;
  }
  struct Operator {
    std::string_view symbol;
    int level;
  };
  const Operator* next_operator() {
    // Longer symbols come before those that they begin with.
    static constexpr Operator operators[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4},
                                             {">=", 4}, {"<", 4},  {">", 4},  {"+", 5},  {"-", 5},
                                             {"**", 7}, {"*", 6},  {"/", 6},  {"%", 6}};
    peek();
    for (const Operator& each : operators)
      if (text.substr(at, each.symbol.size()) == each.symbol) return &each;
    return nullptr;
  }
  std::int64_t power(std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    if (exponent < 0 || exponent > 64) fail("has a power outside 0 to 64");
    for (std::int64_t i = 0; i < exponent && wrong.empty(); ++i)
      result = checked(result, base, '*');
    return result;
  }
  std::int64_t apply(std::string_view op, std::int64_t a, std::int64_t b) {
    if (op == "||") return a != 0 || b != 0;
    if (op == "&&") return a != 0 && b != 0;
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<=") return a <= b;
    if (op == ">=") return a >= b;
    if (op == "<") return a < b;
    if (op == ">") return a > b;
    if (op == "**") return power(a, b);
    if (op == "/" || op == "%") return divided(a, b, op[0]);
    return checked(a, b, op[0]);
  }
  std::int64_t binary(int level) {
    std::int64_t left = primary();
    for (const Operator* op = next_operator(); op != nullptr && op->level > level && wrong.empty();
         op = next_operator()) {
      at += op->symbol.size();
      // Whether the right side alone is known decides if a division by 0 is an error.
      const bool left_known = std::exchange(known, true);
      // a ** b ** c is a ** (b ** c).
      const std::int64_t right = binary(op->symbol == "**" ? op->level - 1 : op->level);
      right_known = known;
      known = known && left_known;
      left = apply(op->symbol, left, right);
    }
    return left;
  }
  std::int64_t whole() {
    if (peek() == '\0') return 0;
    const std::int64_t value = binary(0);
    if (peek() != '\0')
      fail("holds '" + std::string(text.substr(at, 8)) +
           "', allowed: + - * / % ** ( ) and comparisons");
    return value;
  }
};

/// `NAME = rest`, `NAME += rest`, `NAME++`: what an arithmetic command sets.
struct Setting {
  std::string name, op;
  std::size_t rest = 0;
};

std::optional<Setting> setting_of(const std::string& text) {
  std::size_t at = 0;
  const auto blanks = [&] {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n')) ++at;
  };
  Setting made;
  blanks();
  const bool before = text.compare(at, 2, "++") == 0 || text.compare(at, 2, "--") == 0;
  if (before) {
    made.op = text.substr(at, 1);
    at += 2;
  }
  blanks();
  // A `#` is part of a number with a base there, and of no name.
  while (at < text.size() && Sum::is_word(text[at]) && text[at] != '#') made.name += text[at++];
  if (made.name.empty() || (made.name[0] >= '0' && made.name[0] <= '9')) return {};
  blanks();
  // One operator on one name; anything else is an expression without an effect.
  if (!before && (text.compare(at, 2, "++") == 0 || text.compare(at, 2, "--") == 0)) {
    made.op = text.substr(at, 1);
    at += 2;
    blanks();
    if (at != text.size()) return {};
  } else if (before) {
    if (at != text.size()) return {};
  } else if (at < text.size() && text[at] == '=' && text.compare(at, 2, "==") != 0) {
    made.rest = at + 1;
  } else if (at + 1 < text.size() && text[at + 1] == '=' &&
             std::string_view("+-*/%").find(text[at]) != std::string_view::npos) {
    made.op = text.substr(at, 1);
    made.rest = at + 2;
  } else {
    return {};
  }
  return made;
}

}  // namespace

/// `(( ))` and the words of `let`, which may set a variable.
Truth Shell::run_arithmetic(const Traced& expression, std::uint32_t origin) {
  const auto truth = [](const std::optional<std::int64_t>& value) {
    return !value ? Truth::unknown : *value != 0 ? Truth::yes : Truth::no;
  };
  const std::optional<Setting> setting = setting_of(expression.text);
  if (!setting) return truth(evaluate(expression, origin));
  Traced sum;
  if (!setting->op.empty()) sum.add(setting->name + " " + setting->op, origin);
  if (setting->rest == 0) {
    sum.add("1", origin);
  } else {
    sum.add(" (", origin);
    sum.add(expression.part(setting->rest, expression.text.size()));
    sum.add(")", origin);
  }
  // `i++` is worth what i was, `++i` what it is then.
  const bool behind = setting->rest == 0 &&
                      expression.text.find(setting->name) < expression.text.find_first_of("+-");
  Traced old;
  old.add(setting->name, origin);
  const auto before = behind ? evaluate(old, origin) : std::nullopt;
  const std::optional<std::int64_t> value = evaluate(sum, origin);
  Traced text;
  if (value)
    text.add(std::to_string(*value), origin);
  else
    text.add(unknown_mark, origin);
  Variable& target = variable(setting->name, origin);
  // The name of an array is that of its first element.
  if (target.array && !target.values.empty())
    target.values.front() = text;
  else
    target = {target.array, {text}};
  return truth(behind ? before : value);
}

std::optional<std::int64_t> Shell::evaluate(const Traced& expression, std::uint32_t origin) {
  Sum sum{expression.text, state_.variables};
  const std::int64_t value = sum.whole();
  // What is wrong whatever the values are ends the script.
  if (!sum.known && (sum.wrong.empty() || !expression.known())) return {};
  if (!sum.wrong.empty()) refuse(sources_, origin, "the arithmetic " + sum.wrong);
  return value;
}

}  // namespace stepcast::shell
