#include <algorithm>
#include <cmath>

#include "read_value.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/base/text.hpp"

// How messages quote values and name what is allowed.
namespace stepcast {

std::string range_text(const Range& range, std::string_view unit) {
  const bool low = range.low > -std::numeric_limits<double>::infinity();
  const bool high = range.high < std::numeric_limits<double>::infinity();
  const auto number = [&](double v) {
    const bool plain = std::abs(v) < 1e15 && v == std::floor(v);  // 100000, not 1e+05
    return (plain ? std::to_string(static_cast<std::int64_t>(v)) : shortest(v)) + std::string(unit);
  };
  // A range of one value is said as that value.
  if (range.low == range.high) return number(range.low);
  if (low && high && !range.low_open) return number(range.low) + " to " + number(range.high);
  std::string text;
  if (low) text = (range.low_open ? "more than " : "at least ") + number(range.low);
  if (high) text += (low ? " and at most " : "at most ") + number(range.high);
  return text;
}

std::string table_text(const Table& table, const std::string& apart) {
  std::string text = "[";
  for (const auto& row : table) {
    text += (text.size() > 1 ? apart : "") + "[";
    for (std::size_t i = 0; i < row.size(); ++i)
      text += (i > 0 ? apart : "") + std::to_string(row[i]);
    text += "]";
  }
  return text + "]";
}

std::string word_set_text(const WordSet& set) {
  std::string words;
  for (std::size_t i = 0; i < set.words.size(); ++i)
    if ((*set.chosen >> i & 1U) != 0)
      words += (words.empty() ? "" : ", ") + std::string(set.words[i]);
  return "{" + std::string(set.key) + ": [" + words + "]}";
}

std::vector<Option> Choice::words() const {
  std::vector<Option> words;
  for (std::size_t i = 0; i < options.size(); ++i)
    if (!is_table(i) && !is_set(i)) words.push_back(options[i]);
  return words;
}

Choice choice_of_name(std::string& target, std::vector<Option> options) {
  const auto index = [&target, options] {
    const auto found = std::ranges::find(options, target, &Option::name);
    expects(found != options.end(), "a name of the table");
    return static_cast<std::size_t>(found - options.begin());
  };
  const auto take = [&target, options](std::size_t i) { target = options[i].name; };
  return {std::move(options), index, take};
}

std::string quoted(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "empty";
    case Node::Kind::list:
      return "a list";
    case Node::Kind::mapping:
      return "a mapping";
    case Node::Kind::scalar:
      break;
  }
  constexpr std::size_t longest = 60;
  std::string text;
  for (const char c : node.text) {
    // No character of UTF-8 is cut in two.
    if (text.size() >= longest && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U) break;
    text += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  if (text.size() < node.text.size()) text += "...";
  return (node.quoted ? "the quoted text '" : "'") + text + "'";
}

/// Numbers come from somewhere; words and lists are the user's choice.
bool may_state_source(const Target& target) {
  return std::holds_alternative<std::int64_t*>(target) || std::holds_alternative<PartsOf>(target) ||
         std::holds_alternative<Seconds*>(target) || std::holds_alternative<Bytes*>(target) ||
         std::holds_alternative<BytesPerSecond*>(target) ||
         std::holds_alternative<FlopsPerSecond*>(target) ||
         std::holds_alternative<double*>(target) ||
         std::holds_alternative<OptionalNumber>(target) ||
         std::holds_alternative<OptionalTime>(target);
}

std::string built_options(const std::vector<Option>& options) {
  std::vector<std::string> words;
  for (const Option& option : options) {
    if (option.built)
      words.push_back(std::string(option.name) + (option.takes_number ? "(n)" : ""));
  }
  return joined(words);
}

std::string wrong_option(const std::string& word, const std::string& shown,
                         const std::vector<Option>& options, const std::string& allowed) {
  const auto found = std::ranges::find(options, word, &Option::name);
  if (found != options.end() && !found->built)
    return "is " + shown + ", which is not built yet, allowed: " + allowed;
  std::vector<std::string> words;
  for (const Option& option : options) {
    if (option.built) words.emplace_back(option.name);
  }
  return "is " + shown + ", allowed: " + allowed +
         (words.size() > 1 ? did_you_mean(word, words) : std::string());
}

}  // namespace stepcast
