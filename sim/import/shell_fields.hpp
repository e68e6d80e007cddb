#pragma once
#include "shell.hpp"

namespace stepcast::shell {

/// What becomes of the parts of a word: words split at blanks, one text, or a pattern, in which
/// quoted characters stand for themselves.
enum class Form { words, text, pattern };

/// Words in the making.
class Shell::Fields {
 public:
  explicit Fields(Form form) : form_{form}, split_{form == Form::words} {}
  void literal(char c, std::uint32_t origin) {
    current_.add(c, origin);
    started_ = true;
  }
  /// A character that is no sign of a pattern.
  void plain(char c, std::uint32_t origin) {
    if (form_ == Form::pattern && std::string_view("*?[]\\!^-").find(c) != std::string_view::npos)
      current_.add('\\', origin);
    literal(c, origin);
  }
  void quoted(const Traced& value) {
    for (std::size_t i = 0; i < value.text.size(); ++i) plain(value.text[i], value.from[i]);
    started_ = true;
  }
  void value(const Traced& value) {
    if (!split_) {
      current_.add(value);
      started_ = true;
      return;
    }
    for (std::size_t i = 0; i < value.text.size(); ++i) {
      const char c = value.text[i];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        next();
      } else {
        literal(c, value.from[i]);
      }
    }
  }
  /// `"${A[@]}"` and `${A[@]}`.
  void elements(const std::vector<Traced>& values, bool keep) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) split_ ? next() : plain(' ', values[i].origin());
      keep ? quoted(values[i]) : value(values[i]);
    }
  }
  void start() { started_ = true; }
  void next() {
    if (started_) done_.push_back(std::move(current_));
    current_ = {};
    started_ = false;
  }
  std::vector<Traced> take() {
    next();
    return std::move(done_);
  }
  Traced take_single() { return std::move(current_); }
  std::size_t size() const { return current_.text.size(); }

 private:
  Form form_;
  bool split_, started_ = false;
  Traced current_;
  std::vector<Traced> done_;
};

}  // namespace stepcast::shell
