#include "plain_yaml.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace stepcast {
namespace {

constexpr std::size_t deepest_level = 60;  ///< below what parse_document() allows
constexpr std::size_t longest_key = 1000;  ///< a key that the library would take, too

/// What no plain word begins with.
constexpr std::string_view indicators = ",[]{}#&*!|>'\"%@`";
/// What a word within a flow may not have, to be read here.
constexpr std::string_view flow_breaks = ",[]{}?:#&*!|>'\"%`";

/// Thrown and caught here: the text is for the library.
struct NotPlain {};

/// What a line has but its indentation.
struct Line {
  std::size_t indent = 0;  ///< of `text` [bytes]
  int number = 0;
  std::string_view text;
};

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_item(std::string_view text) {
  return text.starts_with('-') && (text.size() == 1 || text[1] == ' ');
}

/// The lines that hold something.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos || line[indent] == '#') continue;
    // Marks of documents and directives.
    if (line.starts_with("---") || line.starts_with("...") || line.starts_with('%'))
      throw NotPlain{};
    lines.push_back({indent, number, without_blanks(line.substr(indent))});
  }
  return lines;
}

class PlainParser {
 public:
  PlainParser(std::string_view text, const std::string& name)
      : name_{name}, lines_{lines_of(text)} {}

  Node parse() {
    if (lines_.empty()) throw NotPlain{};
    Node root = block();
    if (next_ < lines_.size()) throw NotPlain{};
    return root;
  }

 private:
  Place place(const Line& line, std::size_t at) const {
    return {name_, line.number, static_cast<int>(line.indent + at) + 1};
  }

  /// A mapping or list that begins with the next line.
  Node block() {
    if (++depth_ > deepest_level) throw NotPlain{};
    Node node = is_item(lines_[next_].text) ? list() : mapping();
    --depth_;
    return node;
  }

  bool goes_on(std::size_t indent) const {
    return next_ < lines_.size() && lines_[next_].indent == indent;
  }
  /// After the last line of a value: what stands deeper would belong to it.
  void end_value(std::size_t indent) const {
    if (next_ < lines_.size() && lines_[next_].indent > indent) throw NotPlain{};
  }

  Node list() {
    const std::size_t indent = lines_[next_].indent;
    Node node{.kind = Node::Kind::list, .place = place(lines_[next_], 0)};
    while (goes_on(indent) && is_item(lines_[next_].text)) {
      Line& line = lines_[next_];
      const std::size_t at = line.text.find_first_not_of(' ', 1);
      if (at == std::string_view::npos || line.text[at] == '#') throw NotPlain{};
      // What stands behind the dash is as a line of its own, further in.
      const Line behind{indent + at, line.number, line.text.substr(at)};
      if (is_item(behind.text) || key_end(behind.text) != std::string_view::npos) {
        line = behind;
        node.items.push_back(block());
      } else {
        ++next_;
        node.items.push_back(value(behind, 0));
      }
      end_value(indent);
    }
    return node;
  }

  Node mapping() {
    const std::size_t indent = lines_[next_].indent;
    Node node{.kind = Node::Kind::mapping, .place = place(lines_[next_], 0)};
    while (goes_on(indent)) {
      const Line line = lines_[next_];
      const std::size_t colon = key_end(line.text);
      if (colon == std::string_view::npos) break;
      const std::string_view key = key_of(line.text, colon);
      const auto has = [&](const Node::Entry& entry) { return entry.key == key; };
      // Keys that are given twice are told apart by the library.
      if (std::ranges::any_of(node.entries, has)) throw NotPlain{};
      ++next_;
      node.entries.push_back({std::string(key), place(line, 0), {}});
      Node read = entry_value(line, colon + 1);
      node.entries.back().value = std::move(read);
    }
    if (node.entries.empty()) throw NotPlain{};
    end_value(indent);
    return node;
  }

  /// Behind the colon of a key, or on the lines below it.
  Node entry_value(const Line& line, std::size_t from) {
    const std::size_t at = line.text.find_first_not_of(' ', from);
    if (at != std::string_view::npos && line.text[at] != '#') {
      Node read = value(line, at);
      end_value(line.indent);
      return read;
    }
    if (next_ == lines_.size()) throw NotPlain{};
    const Line& below = lines_[next_];
    // A list may stand as far in as its key.
    const bool list_beside = below.indent == line.indent && is_item(below.text);
    if (below.indent <= line.indent && !list_beside) throw NotPlain{};
    if (!is_item(below.text) && key_end(below.text) == std::string_view::npos) throw NotPlain{};
    return block();
  }

  /// Where the colon of a plain or quoted key stands; npos: the text does not begin with one.
  static std::size_t key_end(std::string_view text) {
    if (text.empty() || is_item(text)) return std::string_view::npos;
    if (text.front() == '"' || text.front() == '\'') {
      const std::size_t end = text.find(text.front(), 1);
      if (end == std::string_view::npos || !text.substr(end + 1).starts_with(':') ||
          (end + 2 < text.size() && text[end + 2] != ' '))
        return std::string_view::npos;
      if (end > longest_key || text.substr(0, end).find('\\') != std::string_view::npos)
        throw NotPlain{};
      return end + 1;
    }
    if (indicators.find(text.front()) != std::string_view::npos) return std::string_view::npos;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '#' && i > 0 && text[i - 1] == ' ') return std::string_view::npos;
      if (text[i] != ':' || (i + 1 < text.size() && text[i + 1] != ' ')) continue;
      if (i > longest_key || i == 0 || text[i - 1] == ' ' || text.starts_with("? "))
        throw NotPlain{};
      return i;
    }
    return std::string_view::npos;
  }
  static std::string_view key_of(std::string_view text, std::size_t colon) {
    const bool quoted = text.front() == '"' || text.front() == '\'';
    const std::string_view key = quoted ? text.substr(1, colon - 2) : text.substr(0, colon);
    // Words for nothing, as yaml-cpp has them, are no keys.
    if (!quoted && is_null(key)) throw NotPlain{};
    return key;
  }
  static bool is_null(std::string_view word) {
    return word.empty() || word == "~" || word == "null" || word == "Null" || word == "NULL";
  }

  /// A value that ends with the line, or in brackets with one below it.
  Node value(Line line, std::size_t at) {
    const char first = line.text[at];
    if (first == '[' || first == '{' || first == '"' || first == '\'') {
      flow_indent_ = line.indent;
      Node read = first == '[' || first == '{' ? flow(line, at) : quoted(line, at);
      const std::size_t behind = line.text.find_first_not_of(' ', at);
      const bool ends =
          behind == std::string_view::npos || (line.text[behind] == '#' && behind > at);
      if (!ends) throw NotPlain{};
      return read;
    }
    if (indicators.find(first) != std::string_view::npos) throw NotPlain{};
    std::string_view word = line.text.substr(at);
    for (const std::string_view lead : {"-", "?", ":"})
      if (word.starts_with(lead) && (word.size() == 1 || word[1] == ' ')) throw NotPlain{};
    word = without_blanks(word.substr(0, word.find(" #")));
    if (word.ends_with(':') || word.find(": ") != std::string_view::npos) throw NotPlain{};
    return scalar(word, place(line, at));
  }

  static Node scalar(std::string_view word, Place place) {
    if (is_null(word)) return {.kind = Node::Kind::null, .place = std::move(place)};
    return {.kind = Node::Kind::scalar, .place = std::move(place), .text = std::string(word)};
  }

  /// Without escapes; `at` goes behind it.
  Node quoted(const Line& line, std::size_t& at) const {
    const char quote = line.text[at];
    const std::size_t end = line.text.find(quote, at + 1);
    if (end == std::string_view::npos) throw NotPlain{};
    const std::string_view inside = line.text.substr(at + 1, end - at - 1);
    const bool escapes = (quote == '"' && inside.find('\\') != std::string_view::npos) ||
                         line.text.substr(end + 1).starts_with(quote);
    if (escapes) throw NotPlain{};
    Node node{.kind = Node::Kind::scalar,
              .place = place(line, at),
              .text = std::string(inside),
              .quoted = true};
    at = end + 1;
    return node;
  }

  /// Within brackets, which go on in the lines below where these stand further in.
  void skip_blanks(Line& line, std::size_t& at) {
    at = line.text.find_first_not_of(' ', at);
    if (at == std::string_view::npos) {
      if (next_ == lines_.size() || lines_[next_].indent <= flow_indent_) throw NotPlain{};
      line = lines_[next_++];
      at = 0;
    }
    if (line.text[at] == '#') throw NotPlain{};
  }

  /// A list or mapping in brackets; `at` goes behind it.
  Node flow(Line& line, std::size_t& at) {
    if (++depth_ > deepest_level) throw NotPlain{};
    const bool is_list = line.text[at] == '[';
    const char close = is_list ? ']' : '}';
    Node node{.kind = is_list ? Node::Kind::list : Node::Kind::mapping, .place = place(line, at)};
    skip_blanks(line, ++at);
    while (line.text[at] != close) {
      const int number = line.number;
      Node read = flow_value(line, at);
      skip_blanks(line, at);
      if (!is_list && line.number != number) throw NotPlain{};  // a key has one line
      if (is_list)
        node.items.push_back(std::move(read));
      else
        flow_entry(node, std::move(read), line, at);
      if (line.text[at] == close) break;
      if (line.text[at] != ',') throw NotPlain{};
      skip_blanks(line, ++at);
      if (line.text[at] == close || line.text[at] == ',') throw NotPlain{};
    }
    ++at;
    --depth_;
    return node;
  }

  void flow_entry(Node& node, Node key, Line& line, std::size_t& at) {
    if (key.kind != Node::Kind::scalar || line.text[at] != ':' || line.text.size() == at + 1 ||
        line.text[at + 1] != ' ')
      throw NotPlain{};
    skip_blanks(line, ++at);
    const auto has = [&](const Node::Entry& entry) { return entry.key == key.text; };
    if (std::ranges::any_of(node.entries, has)) throw NotPlain{};
    Node read = flow_value(line, at);
    skip_blanks(line, at);
    node.entries.push_back({std::move(key.text), std::move(key.place), std::move(read)});
  }

  Node flow_value(Line& line, std::size_t& at) {
    const char first = line.text[at];
    if (first == '[' || first == '{') return flow(line, at);
    if (first == '"' || first == '\'') return quoted(line, at);
    if (first == '@') throw NotPlain{};  // reserved there, and a letter inside of a word
    const std::size_t end = std::min(line.text.find_first_of(flow_breaks, at), line.text.size());
    const std::string_view word = without_blanks(line.text.substr(at, end - at));
    if (word.empty() || word.size() > longest_key || word.starts_with("- ") || word == "-")
      throw NotPlain{};
    Node node = scalar(word, place(line, at));
    at = end;
    return node;
  }

  const std::string& name_;
  std::vector<Line> lines_;
  std::size_t next_ = 0;  ///< the line that is read next
  std::size_t depth_ = 0;
  std::size_t flow_indent_ = 0;  ///< of the line in which the outermost bracket opened
};

}  // namespace

std::optional<Node> parse_plain(std::string_view text, const std::string& name) {
  // Tabs and returns are blanks of other rules.
  if (text.find_first_of("\t\r") != std::string_view::npos) return {};
  try {
    return PlainParser(text, name).parse();
  } catch (const NotPlain&) {
    return {};
  }
}

}  // namespace stepcast
