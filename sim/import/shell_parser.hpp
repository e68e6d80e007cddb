#pragma once
#include "shell_syntax.hpp"

namespace stepcast::shell {

/// Recursive descent over one text: shell_parse.cpp has commands, shell_compound.cpp what holds
/// others.
class Parser {
 public:
  Parser(const Traced& source, const Sources& sources, std::deque<HereDocument>& documents)
      : source_{source}, sources_{sources}, documents_{documents} {}
  List list();
  /// Nothing may be left.
  void finish() const;

 private:
  const std::string& text() const { return source_.text; }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text().size() ? text()[at_ + ahead] : '\0';
  }
  [[noreturn]] void fail(const std::string& message) const;
  void skip_blanks();
  void skip_lines();
  void newline();
  Word word();
  std::string_view next_word() const;
  bool take(std::string_view keyword);
  void need(std::string_view keyword);
  bool at_end_of_list() const;
  Pipeline pipeline(Pipeline::Joint joint);
  Command command();
  Command simple();
  bool assignment(Command& made);
  /// The end of `[index]` at `at`; `at` where none stands there.
  std::size_t index_end(std::size_t at) const;
  std::vector<Word> elements();
  bool redirect(Command& made);
  void here(Command& made);
  Command condition();
  Command selection();
  Command each();
  Command counter();
  Command loop();
  Command test();
  Command arithmetic();
  Command braces(char close, Command::Kind kind);
  Command function(Command made);

  const Traced& source_;
  const Sources& sources_;
  std::deque<HereDocument>& documents_;
  void background(List& all, std::size_t first);

  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<HereDocument*> waiting_;
};

}  // namespace stepcast::shell
