#include <algorithm>
#include <array>
#include <utility>

#include "shell_parser.hpp"

namespace stepcast::shell {
namespace {

constexpr std::array<std::string_view, 7> closers{"then", "fi",   "do",  "done",
                                                  "esac", "else", "elif"};

bool begins_name(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool continues_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }

}  // namespace

void Parser::fail(const std::string& message) const {
  const std::size_t at = std::min(at_, text().empty() ? 0 : text().size() - 1);
  refuse(sources_, source_.from.empty() ? 0 : source_.from[at], message);
}

void Parser::skip_blanks() {
  for (;;) {
    if (peek() == ' ' || peek() == '\t' || peek() == '\r') {
      ++at_;
      // A backslash at the end of a line joins it with the next, with Windows' line ends too.
    } else if (peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ += peek(1) == '\n' ? 2 : 3;
    } else if (peek() == '#') {
      while (at_ < text().size() && peek() != '\n') ++at_;
    } else {
      return;
    }
  }
}

/// Behind the end of a line stand the documents that it opened.
void Parser::newline() {
  ++at_;
  for (HereDocument* document : std::exchange(waiting_, {})) {
    for (bool ended = false; !ended;) {
      if (at_ >= text().size()) fail("ends before the line " + document->end);
      const std::size_t end = std::min(text().find('\n', at_), text().size());
      std::size_t begin = at_;
      if (document->strip_tabs) begin = std::min(text().find_first_not_of('\t', at_), end);
      std::string line = text().substr(begin, end - begin);
      if (line.ends_with('\r')) line.pop_back();
      ended = line == document->end;
      const std::size_t behind = std::min(end + 1, text().size());
      if (!ended) document->body.add(source_.part(begin, behind));
      at_ = behind;
    }
  }
}

void Parser::skip_lines() {
  for (;;) {
    skip_blanks();
    if (peek() == '\n') {
      newline();
      // Two semicolons end a branch of a case and are left to it.
    } else if (peek() == ';' && peek(1) != ';' && peek(1) != '&') {
      ++at_;
    } else {
      return;
    }
  }
}

Word Parser::word() {
  const std::size_t end = word_end(source_, at_, sources_);
  const Word word{&source_, at_, end};
  at_ = end;
  return word;
}

std::string_view Parser::next_word() const {
  if (at_ >= text().size()) return {};
  std::size_t end = at_;
  while (end < text().size() && (continues_name(text()[end]) || text()[end] == '-')) ++end;
  // A word goes up to a blank or an operator; one with a quote or a $ is none of the reserved
  // words.
  const std::string_view behind = std::string_view(text()).substr(end, 1);
  if (!behind.empty() && std::string_view(" \t\r\n;&|()").find(behind[0]) == std::string_view::npos)
    return {};
  return std::string_view(text()).substr(at_, end - at_);
}

bool Parser::take(std::string_view keyword) {
  skip_lines();
  if (next_word() != keyword) return false;
  at_ += keyword.size();
  return true;
}

void Parser::need(std::string_view keyword) {
  if (!take(keyword)) fail("stands where '" + std::string(keyword) + "' must come");
}

bool Parser::at_end_of_list() const {
  if (at_ >= text().size() || peek() == ')' || peek() == '}') return true;
  if (peek() == ';' && (peek(1) == ';' || peek(1) == '&')) return true;
  return std::ranges::find(closers, next_word()) != closers.end();
}

List Parser::list() {
  // Each level is a level of the parser's own stack.
  if (++depth_ > 64) fail("is nested too deeply, allowed: 64 levels");
  List all;
  for (skip_lines(); !at_end_of_list(); skip_lines()) {
    const std::size_t first = all.size();
    all.push_back(pipeline(Pipeline::Joint::sequence));
    for (;;) {
      skip_blanks();
      // `&&` and `||` bind alike and to the left.
      const bool both = peek() == '&' && peek(1) == '&';
      if (!both && !(peek() == '|' && peek(1) == '|')) break;
      at_ += 2;
      skip_lines();
      all.push_back(pipeline(both ? Pipeline::Joint::on_success : Pipeline::Joint::on_failure));
    }
    if (peek() == '&') background(all, first);
  }
  --depth_;
  return all;
}

/// `a && b &` runs in a shell of its own, which nobody waits for.
void Parser::background(List& all, std::size_t first) {
  ++at_;
  Command made;
  made.kind = Command::Kind::subshell;
  made.background = true;
  made.origin = all[first].commands.front().origin;
  Branch branch;
  branch.body.assign(std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(first)),
                     std::make_move_iterator(all.end()));
  made.branches.push_back(std::move(branch));
  all.resize(first);
  all.push_back({Pipeline::Joint::sequence, false, {std::move(made)}});
}

Pipeline Parser::pipeline(Pipeline::Joint joint) {
  Pipeline made{joint, false, {}};
  skip_blanks();
  // Two negations cancel.
  while (peek() == '!' && (peek(1) == ' ' || peek(1) == '\t')) {
    made.negated = !made.negated;
    ++at_;
    skip_blanks();
  }
  // `time` changes no result.
  if (next_word() == "time") {
    at_ += 4;
    skip_blanks();
    if (next_word() == "-p") at_ += 2;
  }
  made.commands.push_back(command());
  for (skip_blanks(); peek() == '|' && peek(1) != '|'; skip_blanks()) {
    // `|&` sends errors along, which nothing here reads.
    at_ += peek(1) == '&' ? 2 : 1;
    skip_lines();
    made.commands.push_back(command());
  }
  return made;
}

std::size_t Parser::index_end(std::size_t at) const {
  if (at >= text().size() || text()[at] != '[') return at;
  for (std::size_t i = at + 1; i < text().size(); ++i) {
    const char c = text()[i];
    // A blank inside means that the bracket is a pattern and no index.
    if (c == ']') return i + 1;
    if (std::string_view(" \t\n;&|<>()").find(c) != std::string_view::npos) return at;
    if (c == '"' || c == '\'' ||
        (c == '$' && i + 1 < text().size() && (text()[i + 1] == '(' || text()[i + 1] == '{')))
      i = group_end(source_, i, sources_) - 1;
  }
  return at;
}

bool Parser::assignment(Command& made) {
  std::size_t end = at_;
  if (!begins_name(peek())) return false;
  while (end < text().size() && continues_name(text()[end])) ++end;
  const std::size_t behind = index_end(end);
  const bool append = text().compare(behind, 2, "+=") == 0;
  if (!append && text().compare(behind, 1, "=") != 0) return false;
  Assignment assigned{text().substr(at_, end - at_), append, false, {}, {}, {}};
  // The name may have an index; anything but = or += behind it is a command word.
  if (behind != end) assigned.index = {&source_, end + 1, behind - 1};
  at_ = behind + (append ? 2 : 1);
  if (peek() == '(' && behind != end) fail("assigns a list to one element, allowed: one value");
  if (peek() == '(') {
    assigned.array = true;
    assigned.value = {&source_, at_, at_ + 1};
    ++at_;
    assigned.elements = elements();
  } else {
    const std::size_t begin = at_;
    assigned.value = word();
    if (assigned.value.begin == assigned.value.end) assigned.value = {&source_, begin, begin};
  }
  made.assignments.push_back(std::move(assigned));
  return true;
}

std::vector<Word> Parser::elements() {
  std::vector<Word> all;
  for (;;) {
    skip_blanks();
    if (peek() == '\n') {
      newline();
    } else if (peek() == ')') {
      ++at_;
      return all;
    } else if (at_ >= text().size()) {
      fail("ends inside a list of words, which ')' closes");
    } else {
      const std::size_t before = at_;
      // Sparse arrays would have gaps that word lists have not.
      if (const std::size_t end = index_end(at_); end != at_ && text().compare(end, 1, "=") == 0)
        fail("gives an element its place in a list, allowed: NAME[index]=value");
      all.push_back(word());
      if (at_ == before) fail("is no word, allowed in this list: words and ')'");
    }
  }
}

/// `> file`, `2>&1`, `<<END`; false where none begins.
bool Parser::redirect(Command& made) {
  std::size_t at = at_;
  while (at < text().size() && text()[at] >= '0' && text()[at] <= '9') ++at;
  const bool both = text().compare(at, 2, "&>") == 0;
  if (both) ++at;
  if (at >= text().size() || (text()[at] != '<' && text()[at] != '>')) return false;
  if (at != at_ && !both && at_ > 0 && continues_name(text()[at_ - 1])) return false;
  at_ = at;
  if (text().compare(at_, 2, "<<") == 0 && text().compare(at_, 3, "<<<") != 0) {
    here(made);
    return true;
  }
  const bool writes = peek() == '>';
  while (peek() == '<' || peek() == '>' || peek() == '&' || peek() == '|') ++at_;
  skip_blanks();
  const Word file = word();
  if (writes) made.written.push_back(file);
  return true;
}

void Parser::here(Command& made) {
  at_ += 2;
  HereDocument& document = documents_.emplace_back();
  if (peek() == '-') {
    document.strip_tabs = true;
    ++at_;
  }
  skip_blanks();
  std::string end(word().raw());
  // A quoted end word keeps $ in the document as it is.
  document.expand = end.find_first_of("'\"\\") == std::string::npos;
  std::erase_if(end, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
  if (end.empty()) fail("opens a document without the word that ends it");
  document.end = end;
  // The body begins behind the line: newline() reads it.
  waiting_.push_back(&document);
  made.here.push_back(&document);
}

Command Parser::simple() {
  Command made;
  made.origin = source_.from[at_];
  for (;;) {
    skip_blanks();
    if (redirect(made)) continue;
    if (at_ >= text().size() || std::string_view("\n;&|)").find(peek()) != std::string_view::npos)
      break;
    if (made.words.empty() && assignment(made)) continue;
    if (peek() == '(') {
      if (made.words.size() == 1 && made.assignments.empty()) return function(std::move(made));
      fail("opens a list where none can stand");
    }
    const std::size_t before = at_;
    made.words.push_back(word());
    if (at_ == before) fail("is no word of a command");
    const std::string_view first = made.words.front().raw();
    // export, local, declare, readonly: assignments behind a word
    if (first == "export" || first == "local" || first == "declare" || first == "readonly" ||
        first == "typeset") {
      skip_blanks();
      while (assignment(made)) skip_blanks();
    }
  }
  return made;
}

List parse_script(const Traced& source, const Sources& sources,
                  std::deque<HereDocument>& documents) {
  Parser parser{source, sources, documents};
  List all = parser.list();
  parser.finish();
  return all;
}

}  // namespace stepcast::shell
