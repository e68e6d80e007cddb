#pragma once
#include "shell.hpp"

namespace stepcast::shell {

/// Words in the making: unquoted values split at blanks, everything else stays together.
class Shell::Fields {
 public:
  explicit Fields(bool split) : split_{split} {}
  void literal(char c, std::uint32_t origin) {
    current_.add(c, origin);
    started_ = true;
  }
  void quoted(const Traced& value) {
    current_.add(value);
    started_ = true;
  }
  void value(const Traced& value) {
    if (!split_) return quoted(value);
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
      if (i > 0) split_ ? next() : literal(' ', values[i].origin());
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
  bool split_, started_ = false;
  Traced current_;
  std::vector<Traced> done_;
};

}  // namespace stepcast::shell
