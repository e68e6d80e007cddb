#include "python_calls.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/base/text.hpp"

namespace stepcast::launch::python {
namespace {

using Variables = std::map<std::string, Value>;

struct Token {
  enum class Kind { name, number, text, sign, end } kind = Kind::end;
  std::string text;
  Place place;
};

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// One logical line: brackets may go over lines; comments are left out.
struct Statement {
  std::size_t indent = 0;
  std::vector<Token> tokens;
};

class Lexer {
 public:
  Lexer(const std::string& path, std::string_view text) : path_{path}, text_{text} {}

  std::vector<Statement> statements() {
    std::vector<Statement> all;
    while (at_ < text_.size()) {
      Statement statement{indent(), {}};
      read_line(statement.tokens);
      if (!statement.tokens.empty()) all.push_back(std::move(statement));
    }
    return all;
  }

 private:
  Place place() const { return {path_, line_, static_cast<int>(at_ - begin_) + 1}; }
  void next_line() {
    ++line_;
    begin_ = at_;
  }
  std::size_t indent() {
    const std::size_t from = at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ - from;
  }
  void read_line(std::vector<Token>& tokens) {
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++at_;
        next_line();
        if (depth <= 0) return;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '\\' && text_.substr(at_ + 1, 1) == "\n") {
        at_ += 2;
        next_line();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        read_token(tokens, depth);
      }
    }
  }
  void read_token(std::vector<Token>& tokens, int& depth) {
    Token token{Token::Kind::sign, {}, place()};
    const std::size_t from = at_;
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
      token.kind = Token::Kind::text;
      token.text = read_text();
    } else if (begins_name(c)) {
      while (at_ < text_.size() && (begins_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
      token.kind = Token::Kind::name;
      token.text = text_.substr(from, at_ - from);
    } else if (is_digit(c)) {
      while (at_ < text_.size() &&
             (begins_name(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.' ||
              ((text_[at_] == '-' || text_[at_] == '+') &&
               (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
        ++at_;
      token.kind = Token::Kind::number;
      token.text = text_.substr(from, at_ - from);
      std::erase(token.text, '_');
    } else {
      const bool two = text_.substr(at_, 2) == "//" || text_.substr(at_, 2) == "==" ||
                       text_.substr(at_, 2) == "->" || text_.substr(at_, 2) == "**";
      at_ += two ? 2 : 1;
      token.text = text_.substr(from, at_ - from);
      depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    }
    tokens.push_back(std::move(token));
  }
  std::string read_text() {
    const char quote = text_[at_];
    const std::string three(3, quote);
    const std::string end = text_.substr(at_, 3) == three ? three : std::string(1, quote);
    at_ += end.size();
    std::string value;
    while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value += text_[at_];
      if (text_[at_++] == '\n') next_line();
    }
    at_ = std::min(at_ + end.size(), text_.size());
    return value;
  }

  std::string path_;
  std::string_view text_;
  std::size_t at_ = 0, begin_ = 0;
  int line_ = 1;
};

/// A whole number or a fraction as text; whole where it is whole.
std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < 9e15
             ? std::to_string(static_cast<std::int64_t>(value))
             : shortest(value);
}

std::optional<double> number_of(const Value& value) {
  return value.kind == Value::Kind::scalar ? parse_number(value.text) : std::nullopt;
}

class Expressions {
 public:
  Expressions(const std::vector<Token>& tokens, std::size_t from, const Variables& variables)
      : tokens_{tokens}, at_{from}, variables_{variables} {}

  Value value() {
    Value left = sum();
    // What compares or joins truths is not followed.
    while (is_name("and") || is_name("or") || is_name("in") || is_name("if") || is_name("is") ||
           is_name("not") || is_name("else") || is_sign("==") || is_sign("<") || is_sign(">")) {
      ++at_;
      (void)sum();
      left.kind = Value::Kind::unknown;
    }
    return left;
  }
  bool at_end() const { return at_ >= tokens_.size(); }
  std::size_t at() const { return at_; }
  bool is_sign(std::string_view text) const {
    return !at_end() && tokens_[at_].kind == Token::Kind::sign && tokens_[at_].text == text;
  }

 private:
  bool is_name(std::string_view text) const {
    return !at_end() && tokens_[at_].kind == Token::Kind::name && tokens_[at_].text == text;
  }
  Value sum() {
    Value left = product();
    while (is_sign("+") || is_sign("-")) {
      const std::string sign = tokens_[at_++].text;
      left = joined_by(left, sign, product());
    }
    return left;
  }
  Value product() {
    Value left = factor();
    while (is_sign("*") || is_sign("/") || is_sign("//")) {
      const std::string sign = tokens_[at_++].text;
      left = joined_by(left, sign, factor());
    }
    return left;
  }
  static Value joined_by(Value left, const std::string& sign, const Value& right) {
    const auto a = number_of(left), b = number_of(right);
    if (!a || !b || ((sign == "/" || sign == "//") && *b == 0)) {
      left.kind = Value::Kind::unknown;
      return left;
    }
    left.text = number_text(sign == "+"   ? *a + *b
                            : sign == "-" ? *a - *b
                            : sign == "*" ? *a * *b
                            : sign == "/" ? *a / *b
                                          : std::floor(*a / *b));
    return left;
  }
  Value factor() {
    constexpr int deepest = 64;
    Value unknown;
    if (at_end() || ++depth_ > deepest) {
      at_ = tokens_.size();
      return unknown;
    }
    Value value = primary();
    --depth_;
    return value;
  }
  Value primary() {
    const Token& token = tokens_[at_];
    Value value{Value::Kind::scalar, token.place, token.text};
    switch (token.kind) {
      case Token::Kind::number:
        ++at_;
        return value;
      case Token::Kind::text:
        for (++at_; !at_end() && tokens_[at_].kind == Token::Kind::text; ++at_)
          value.text += tokens_[at_].text;
        return value;
      case Token::Kind::name:
        return named();
      case Token::Kind::sign:
      case Token::Kind::end:
        break;
    }
    return bracketed();
  }
  Value bracketed() {
    const Token& token = tokens_[at_++];
    Value value{Value::Kind::unknown, token.place};
    if (token.text == "-") {
      Value number = factor();
      if (const auto n = number_of(number)) number.text = number_text(-*n);
      return number;
    }
    const std::string end = token.text == "(" ? ")" : token.text == "[" ? "]" : "}";
    if (token.text != "(" && token.text != "[" && token.text != "{") return value;
    bool comma = false;
    while (!at_end() && !is_sign(end)) {
      const std::size_t before = at_;
      value.items.push_back(this->value());
      comma = is_sign(",");
      if (comma || at_ == before || !is_sign(end)) ++at_;
    }
    ++at_;
    if (token.text == "(" && !comma && value.items.size() == 1) return value.items.front();
    if (token.text != "{") value.kind = Value::Kind::list;
    return value;
  }
  /// `Trainer.Config(..)`, `compile_config.enable`, `True`.
  Value named() {
    const Token first = tokens_[at_++];
    std::string name = first.text;
    Value value{Value::Kind::unknown, first.place};
    if (name == "not") {
      (void)factor();
      return value;
    }
    const auto known = variables_.find(name);
    if (known != variables_.end()) value = known->second;
    if (name == "True" || name == "False" || name == "None")
      value = {Value::Kind::scalar, first.place, name};
    while (!at_end()) {
      if (is_sign(".") && at_ + 1 < tokens_.size()) {
        const std::string part = tokens_[at_ + 1].text;
        at_ += 2;
        name += "." + part;
        const Value* field = value.find(part);
        value = field == nullptr ? Value{Value::Kind::unknown, first.place} : *field;
      } else if (is_sign("(")) {
        value = call(name, first.place);
      } else if (is_sign("[")) {
        (void)bracketed();
        value = {Value::Kind::unknown, first.place};
      } else {
        break;
      }
    }
    return value;
  }
  Value call(const std::string& name, const Place& place) {
    Value made{Value::Kind::call, place, {}, name};
    ++at_;
    while (!at_end() && !is_sign(")")) {
      const std::size_t before = at_;
      const bool keyword = at_ + 1 < tokens_.size() && tokens_[at_].kind == Token::Kind::name &&
                           tokens_[at_ + 1].text == "=";
      if (keyword) {
        const std::string key = tokens_[at_].text;
        const Place where = tokens_[at_].place;
        at_ += 2;
        Value argument = value();
        argument.place = where;
        made.keywords.push_back({key, std::move(argument)});
      } else {
        made.items.push_back(value());
      }
      if (is_sign(",") || at_ == before || !is_sign(")")) ++at_;
    }
    ++at_;
    return made;
  }

  const std::vector<Token>& tokens_;
  std::size_t at_;
  const Variables& variables_;
  int depth_ = 0;
};

class Functions {
 public:
  Functions(const std::string& path, const std::string& text)
      : path_{path}, statements_{Lexer{path, text}.statements()} {}

  Value returned(const std::string& function, int depth = 0) {
    constexpr int deepest = 8;
    const std::size_t def = find(function);
    if (def == statements_.size() || depth > deepest)
      refuse_input({path_}, {}, "has no configuration " + function);
    Variables variables;
    const std::size_t body = def + 1 < statements_.size() ? statements_[def + 1].indent : 0;
    for (std::size_t i = def + 1; i < statements_.size() && statements_[i].indent > 0; ++i) {
      const Statement& statement = statements_[i];
      if (statement.indent > body) continue;  // of a function inside this one
      if (statement.tokens.front().text == "return") {
        Value value = Expressions{statement.tokens, 1, variables}.value();
        return followed(std::move(value), depth);
      }
      run(statement, variables, depth);
    }
    refuse_input({path_}, {}, function + " returns nothing, allowed: a configuration");
  }

 private:
  std::size_t find(const std::string& function) const {
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      const auto& tokens = statements_[i].tokens;
      if (statements_[i].indent == 0 && tokens.size() > 1 && tokens[0].text == "def" &&
          tokens[1].text == function)
        return i;
    }
    return statements_.size();
  }
  /// A call of another function of the file.
  Value followed(Value value, int depth) {
    if (value.kind == Value::Kind::call && find(value.callee) != statements_.size())
      return returned(value.callee, depth + 1);
    return value;
  }
  /// `name = value`, `config.training.steps = 10`; what says nothing of the configuration is
  /// passed over.
  void run(const Statement& statement, Variables& variables, int depth) {
    const auto& tokens = statement.tokens;
    const std::string& first = tokens.front().text;
    if (tokens.front().kind == Token::Kind::text || first == "assert" || first == "from" ||
        first == "import" || first == "pass" || first == "def")
      return;
    std::vector<std::string> target;
    std::size_t at = 0;
    for (; at < tokens.size() && tokens[at].kind == Token::Kind::name; at += 2) {
      target.push_back(tokens[at].text);
      if (at + 1 >= tokens.size() || tokens[at + 1].text != ".") break;
    }
    const bool assigns = !target.empty() && at + 1 < tokens.size() && tokens[at + 1].text == "=";
    const bool followed_name = !target.empty() && variables.contains(target.front()) &&
                               variables.at(target.front()).kind == Value::Kind::call;
    if (!assigns) {
      const bool touches = std::ranges::any_of(tokens, [&](const Token& token) {
        return token.kind == Token::Kind::name && variables.contains(token.text) &&
               variables.at(token.text).callee.ends_with("Trainer.Config");
      });
      if (touches || first == "if" || first == "for" || first == "while" || first == "with")
        refuse_input(tokens.front().place, {},
                     "is a statement that is not followed, allowed: assignments");
      return;
    }
    Value value = followed(Expressions{tokens, at + 2, variables}.value(), depth);
    value.place = tokens.front().place;
    if (target.size() == 1) {
      variables[target.front()] = std::move(value);
      return;
    }
    if (!followed_name) return;
    Value* field = &variables.at(target.front());
    for (std::size_t i = 1; i < target.size(); ++i) field = &field->at(target[i]);
    *field = std::move(value);
  }
  std::string path_;
  std::vector<Statement> statements_;
};

}  // namespace

const Value* Value::find(std::string_view keyword) const {
  for (const auto& [name, value] : keywords)
    if (name == keyword) return &value;
  return nullptr;
}

Value& Value::at(const std::string& keyword) {
  for (auto& [name, value] : keywords)
    if (name == keyword) return value;
  kind = Kind::call;
  keywords.push_back({keyword, {}});
  return keywords.back().value;
}

std::vector<std::string> configurations(const std::string& text) {
  std::vector<std::string> names;
  const std::string mark = "-> Trainer.Config";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    // The nearest `def` before the mark, if its head ends before it and it stands at the start of a
    // line.
    const std::size_t def = text.rfind("def ", at);
    const std::size_t end = def == std::string::npos ? def : text.find('(', def);
    if (end == std::string::npos || end > at || (def > 0 && text[def - 1] != '\n')) continue;
    names.push_back(text.substr(def + 4, end - def - 4));
  }
  return names;
}

Value configuration(const std::string& path, const std::string& text, const std::string& function) {
  return Functions{path, text}.returned(function);
}

}  // namespace stepcast::launch::python
