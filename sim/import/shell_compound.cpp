#include <array>

#include "shell_parser.hpp"

namespace stepcast::shell {

void Parser::finish() const {
  if (at_ < text().size()) fail("closes what nothing has opened");
}

Command Parser::command() {
  skip_blanks();
  if (at_ >= text().size()) fail("ends where a command must come");
  const std::uint32_t origin = source_.from[at_];
  const std::string_view first = next_word();
  Command made;
  // Reserved words count only where a command may begin, so that `echo if` stays a word.
  if (first == "if") {
    made = condition();
  } else if (first == "case") {
    made = selection();
  } else if (first == "for") {
    made = each();
  } else if (first == "while" || first == "until") {
    made = loop();
  } else if (first == "select" || first == "coproc") {
    fail("begins with '" + std::string(first) + "', which is not followed");
  } else if (first == "function") {
    at_ += first.size();
    skip_blanks();
    made.words.push_back(word());
    skip_blanks();
    made = function(std::move(made));
  } else if (peek() == '(' && peek(1) == '(') {
    made = arithmetic();
  } else if (peek() == '[' && peek(1) == '[') {
    made = test();
  } else if (peek() == '(') {
    made = braces(')', Command::Kind::subshell);
  } else if (peek() == '{' && (peek(1) == ' ' || peek(1) == '\n' || peek(1) == '\t')) {
    made = braces('}', Command::Kind::group);
  } else {
    return simple();
  }
  made.origin = origin;
  // Redirections may follow a whole compound command.
  for (skip_blanks(); redirect(made); skip_blanks()) {
  }
  return made;
}

Command Parser::condition() {
  Command made;
  made.kind = Command::Kind::condition;
  need("if");
  do {
    Branch branch;
    branch.condition = list();
    need("then");
    branch.body = list();
    made.branches.push_back(std::move(branch));
  } while (take("elif"));
  // An else is a branch without a condition.
  if (take("else")) {
    Branch branch;
    branch.body = list();
    made.branches.push_back(std::move(branch));
  }
  need("fi");
  return made;
}

Command Parser::selection() {
  Command made;
  made.kind = Command::Kind::selection;
  need("case");
  skip_blanks();
  made.words.push_back(word());
  need("in");
  while (!take("esac")) {
    if (at_ >= text().size()) fail("ends inside a case");
    Branch branch;
    // The parenthesis before a pattern is optional.
    if (peek() == '(') ++at_;
    for (;;) {
      skip_blanks();
      const std::size_t before = at_;
      branch.patterns.push_back(word());
      if (at_ == before) fail("is no pattern of a case");
      skip_blanks();
      if (peek() != '|') break;
      ++at_;
    }
    if (peek() != ')') fail("stands where ')' ends the patterns of a case");
    ++at_;
    branch.body = list();
    // `;&` runs the next body, `;;&` tests the next patterns.
    if (peek() == ';' && peek(1) == '&') {
      branch.behind = Branch::Behind::body;
      at_ += 2;
    } else if (peek() == ';' && peek(1) == ';') {
      at_ += 2;
      if (peek() == '&') branch.behind = Branch::Behind::patterns, ++at_;
    }
    made.branches.push_back(std::move(branch));
  }
  return made;
}

Command Parser::each() {
  Command made;
  made.kind = Command::Kind::each;
  need("for");
  skip_blanks();
  if (peek() == '(' && peek(1) == '(') return counter();
  made.name = std::string(word().raw());
  // Without `in` a loop goes over the arguments of the script.
  made.positional = !take("in");
  if (!made.positional) {
    for (skip_blanks(); at_ < text().size() && peek() != '\n' && peek() != ';'; skip_blanks()) {
      const std::size_t before = at_;
      made.words.push_back(word());
      if (at_ == before) fail("is no word of a loop");
    }
  }
  need("do");
  Branch branch;
  branch.body = list();
  made.branches.push_back(std::move(branch));
  need("done");
  return made;
}

Command Parser::loop() {
  Command made;
  made.kind = Command::Kind::loop;
  made.until = next_word() == "until";
  need(made.until ? "until" : "while");
  Branch branch;
  branch.condition = list();
  need("do");
  branch.body = list();
  need("done");
  made.branches.push_back(std::move(branch));
  return made;
}

/// `for (( begin; condition; step ))`, as a loop: what begins it and its step are a second branch.
Command Parser::counter() {
  Command made = arithmetic();
  made.kind = Command::Kind::loop;
  const Word whole = made.words.front();
  made.words.clear();
  std::array<List, 3> parts;
  std::size_t begin = whole.begin;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    const std::size_t end = last ? whole.end : text().find(';', begin);
    if (end > whole.end)
      fail("is a loop with a counter, allowed: for (( begin; condition; step ))");
    if (text().find_first_not_of(" \t\n", begin) < end) {
      Command sum;
      sum.kind = Command::Kind::arithmetic;
      sum.origin = source_.from[begin];
      sum.words.push_back({&source_, begin, end});
      parts[i].push_back({Pipeline::Joint::sequence, false, {std::move(sum)}});
    }
    begin = end + 1;
  }
  need("do");
  Branch rounds, around;
  rounds.condition = std::move(parts[1]);
  rounds.body = list();
  around.condition = std::move(parts[0]);
  around.body = std::move(parts[2]);
  made.branches.push_back(std::move(rounds));
  made.branches.push_back(std::move(around));
  need("done");
  return made;
}

/// `[[ ]]`: operators are words here, too.
Command Parser::test() {
  Command made;
  made.kind = Command::Kind::test;
  at_ += 2;
  for (;;) {
    skip_blanks();
    if (peek() == '\n') {
      ++at_;
      continue;
    }
    if (at_ >= text().size()) fail("ends inside [[, which ]] closes");
    const std::size_t before = at_;
    Word part = word();
    if (at_ == before) {
      const bool twice = peek() == peek(1) && (peek() == '&' || peek() == '|');
      at_ += twice ? 2 : 1;
      part = {&source_, before, at_};
    }
    if (part.raw() == "]]") return made;
    made.words.push_back(part);
  }
}

/// `(( ))`: what stands inside is one word.
Command Parser::arithmetic() {
  Command made;
  made.kind = Command::Kind::arithmetic;
  const std::size_t begin = at_ + 2;
  std::size_t end = begin;
  for (int open = 0; end < text().size(); ++end) {
    if (open == 0 && text().compare(end, 2, "))") == 0) break;
    if (text()[end] == '(') ++open;
    if (text()[end] == ')') --open;
  }
  if (end >= text().size()) fail("opens ((, which has no end");
  made.words.push_back({&source_, begin, end});
  at_ = end + 2;
  return made;
}

Command Parser::braces(char close, Command::Kind kind) {
  Command made;
  made.kind = kind;
  ++at_;
  Branch branch;
  branch.body = list();
  skip_lines();
  if (peek() != close) fail(std::string("stands where '") + close + "' must come");
  ++at_;
  made.branches.push_back(std::move(branch));
  return made;
}

/// Behind `NAME`, at `()` or at the body.
Command Parser::function(Command made) {
  made.kind = Command::Kind::function;
  made.name = std::string(made.words.front().raw());
  if (peek() == '(') {
    if (peek(1) != ')') fail("opens a list where none can stand");
    at_ += 2;
  }
  skip_lines();
  if (peek() != '{') fail("stands where the body of a function must come");
  Command body = braces('}', Command::Kind::group);
  made.words.clear();
  made.branches = std::move(body.branches);
  return made;
}

}  // namespace stepcast::shell
