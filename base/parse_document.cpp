#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>

#include "plain_yaml.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/base/foreign_document.hpp"

// The only file that knows yaml-cpp.
namespace stepcast {
namespace {

constexpr std::size_t deepest = 64;
/// Values that aliases may expand to: they double with each level of a hostile file.
constexpr std::size_t most_values = 1 << 18;

/// Whose document it is: ours has plain values only.
enum class Dialect { own, foreign };

/// The place of byte `offset`; columns count bytes, as yaml-cpp does.
Place place_at(std::string_view text, std::size_t offset, const std::string& name) {
  Place place{name, 1, 1};
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++place.line;
      place.column = 1;
    } else {
      ++place.column;
    }
  }
  return place;
}

/// Bytes of the well-formed UTF-8 character that `text` begins with, 0 if it is none (Unicode 15,
/// table 3-7).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && second < 0xA0;
    const bool surrogate = lead == 0xED && second > 0x9F;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && second < 0x90;
    const bool too_large = lead == 0xF4 && second > 0x8F;
    return tail(1) && tail(2) && tail(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, std::string name, Dialect dialect)
      : text_{text}, name_{std::move(name)}, foreign_{dialect == Dialect::foreign} {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      refuse(mark, "is a second document, allowed: one document per file");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, "?", anchor);
    add({.kind = Node::Kind::null, .place = place(mark)}, mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (foreign_) return expand(mark, anchor);
    refuse(mark, "is an alias, allowed: plain values; extends shares settings between files");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    // yaml-cpp's tag of a quoted text.
    if (tag == "!") check_quotes(mark);
    Node node{
        .kind = Node::Kind::scalar, .place = place(mark), .text = value, .quoted = tag == "!"};
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    add(std::move(node), mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check(mark, tag, anchor);
    open({.kind = Node::Kind::list, .place = place(mark)}, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check(mark, tag, anchor);
    open({.kind = Node::Kind::mapping, .place = place(mark)}, mark, anchor);
  }
  void OnMapEnd() override { close(); }

  /// Repeated keys go to `repeated` when nothing else is wrong.
  Node take(std::vector<Diagnostic>* repeated) {
    if (wrong_.empty() && repeated != nullptr) {
      repeated->insert(repeated->end(), repeated_.begin(), repeated_.end());
      return std::move(root_);
    }
    wrong_.insert(wrong_.end(), repeated_.begin(), repeated_.end());
    if (!wrong_.empty()) throw InputError(std::move(wrong_));
    return std::move(root_);
  }

 private:
  struct Level {
    Node node;
    bool is_key = false;  ///< stands where a key must, which is reported
    bool has_key = false;
    bool again = false;  ///< the key was given before: its value is dropped
    Node::Entry entry;   ///< whose value comes next
    std::set<std::string> keys;
    YAML::anchor_t anchor = YAML::NullAnchor;
  };

  Place place(const YAML::Mark& mark) const {
    if (mark.line < 0) return {name_};
    return {name_, mark.line + 1, mark.column + 1};
  }

  std::string path() const {
    std::string text;
    for (const Level& level : levels_) {
      const bool list = level.node.kind == Node::Kind::list;
      if (!list && !level.has_key) continue;
      const std::string part = list ? std::to_string(level.node.items.size()) : level.entry.key;
      text += (text.empty() ? "" : ".") + part;
    }
    return text;
  }

  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& message) const {
    refuse_input(place(mark), path(), message);
  }

  /// Not thrown at once: yaml-cpp takes the list of an unclosed `[1` for a key, and says what is
  /// wrong later.
  void report(const YAML::Mark& mark, const std::string& message) {
    wrong_.push_back({place(mark), path(), message});
  }

  /// The value of the anchor once more, with the places of the first.
  void expand(const YAML::Mark& mark, YAML::anchor_t anchor) {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) refuse(mark, "is an alias of a value that stands around it");
    // Counted before it is copied: what aliases stand for may grow with each one.
    values_ += size_of(found->second);
    if (values_ > most_values)
      refuse(mark, "expands to too many values, allowed: " + std::to_string(most_values));
    add(Node(found->second), mark);
  }
  static std::size_t size_of(const Node& node) {
    std::size_t size = 1;
    for (const Node& item : node.items) size += size_of(item);
    for (const Node::Entry& entry : node.entries) size += size_of(entry.value);
    return size;
  }

  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (foreign_) return;
    if (anchor != YAML::NullAnchor) {
      refuse(mark, "has an anchor, allowed: plain values; extends shares settings between files");
    }
    if (!tag.empty() && tag != "?" && tag != "!") {
      refuse(mark, "has the tag " + tag + ", allowed: plain values without tags");
    }
  }

  /// yaml-cpp takes the end of the file for the end of a quoted text, so that a cut file would
  /// pass.
  void check_quotes(const YAML::Mark& mark) const {
    const auto from = static_cast<std::size_t>(mark.pos);
    const std::string_view text = text_.substr(std::min(from, text_.size()));
    if (!text.starts_with('"') && !text.starts_with('\'')) return;
    const char quote = text.front();
    for (std::size_t at = 1; at < text.size(); ++at) {
      const bool twice = quote == '\'' && text.substr(at, 2) == "''";
      if (text[at] == quote && !twice) return;
      if (twice || (quote == '"' && text[at] == '\\')) ++at;
    }
    refuse(mark, "is not YAML: the quoted text has no end");
  }

  void open(Node node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (levels_.size() >= deepest) {
      refuse(mark, "is nested too deeply, allowed: " + std::to_string(deepest) + " levels");
    }
    const bool key = expects_key();
    if (key) report(mark, "is a key that is a list or a mapping, allowed: a word");
    levels_.push_back({.node = std::move(node), .is_key = key});
    levels_.back().anchor = anchor;
  }

  void close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    // Aliases may name it from here on.
    if (level.anchor != YAML::NullAnchor) anchors_[level.anchor] = level.node;
    // What is no word as a key has been reported; its value is read all the same.
    if (level.is_key) {
      levels_.back().has_key = true;
      levels_.back().entry = {{}, level.node.place, {}};
    } else {
      put(std::move(level.node));
    }
  }

  bool expects_key() const {
    return !levels_.empty() && levels_.back().node.kind == Node::Kind::mapping &&
           !levels_.back().has_key;
  }

  void add(Node node, const YAML::Mark& mark) {
    if (!expects_key()) return put(std::move(node));
    if (node.kind == Node::Kind::null) report(mark, "is a key without a name, allowed: a word");
    Level& level = levels_.back();
    level.has_key = true;
    level.entry = {node.text, node.place, {}};
    level.again = !level.keys.insert(node.text).second;
    // Of a key that is given twice foreign documents mean the last.
    if (level.again && foreign_) {
      level.again = false;
      std::erase_if(level.node.entries, [&](const Node::Entry& e) { return e.key == node.text; });
    } else if (level.again) {
      const Place first =
          std::ranges::find(level.node.entries, node.text, &Node::Entry::key)->place;
      repeated_.push_back({node.place, path(),
                           "is given twice, first in line " + std::to_string(first.line) +
                               ", allowed: each key once"});
    }
  }

  void put(Node node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == Node::Kind::list) {
      level.node.items.push_back(std::move(node));
      return;
    }
    level.entry.value = std::move(node);
    if (!level.again) level.node.entries.push_back(std::move(level.entry));
    level.has_key = level.again = false;
  }

  std::string_view text_;
  std::string name_;
  bool foreign_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t values_ = 0;
  int documents_ = 0;
  Node root_;
  std::vector<Level> levels_;
  std::vector<Diagnostic> wrong_, repeated_;
};

/// Whether line `number` of `text`, counted from 1, is indented with a tab.
bool has_tab_before(std::string_view text, int number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return text.substr(0, std::min(text.find_first_not_of(" \t"), text.size())).find('\t') !=
         std::string_view::npos;
}

/// What the library says, and what to look for.
Diagnostic syntax_error(std::string_view text, const std::string& name,
                        const YAML::Exception& error) {
  const bool known = error.mark.line >= 0;
  const Place place{name, known ? error.mark.line + 1 : 0, known ? error.mark.column + 1 : 0};
  if (known)
    for (const int line : {place.line, place.line - 1})
      if (line > 0 && has_tab_before(text, line))
        return {{name, line, 1}, {}, "is indented with a tab, allowed: blanks"};
  const bool open = error.msg.ends_with("flow not found");
  const bool moved = error.msg == "illegal map value" || error.msg == "end of map not found";
  return {place,
          {},
          "is not YAML: " + error.msg +
              (open    ? ", allowed: a } or ] for each { or [ above"
               : moved ? ", allowed: keys of one mapping in one column"
                       : "")};
}

/// `read_plain`: what needs no library is read without it.
Node parse(std::string_view text, const std::string& name, Dialect dialect, bool read_plain,
           std::vector<Diagnostic>* repeated) {
  // A byte order mark is no part of the text.
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  check_text(text, name, {}, "YAML");  // yaml-cpp takes any bytes
  if (read_plain)
    if (std::optional<Node> root = parse_plain(text, name)) return std::move(*root);
  Builder builder{text, name, dialect};
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser{stream};
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw InputError({syntax_error(text, name, error)});
  }
  Node root = builder.take(repeated);
  // Parsers tell nothing of an empty file.
  if (root.place.file.empty()) root.place = {name, 1, 1};
  return root;
}

}  // namespace

Node parse_document(std::string_view text, const std::string& name,
                    std::vector<Diagnostic>* repeated) {
  return parse(text, name, Dialect::own, true, repeated);
}

Node parse_by_library(std::string_view text, const std::string& name) {
  return parse(text, name, Dialect::own, false, nullptr);
}

Node parse_foreign_document(std::string_view text, const std::string& name) {
  return parse(text, name, Dialect::foreign, false, nullptr);
}

void check_text(std::string_view text, const std::string& name, const std::string& path,
                const std::string& format) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte < 0x7F) {
      ++i;
      continue;
    }
    const bool control =
        (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7F;
    // Control characters are UTF-8, but no text.
    const std::size_t length = control ? 0 : utf8_length(text.substr(i));
    if (length == 0) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "0x%02x", static_cast<unsigned>(byte));
      refuse_input(
          place_at(text, i, name), path,
          std::string("holds the byte ") + hex + ", allowed: " + format + " text in UTF-8");
    }
    i += length;
  }
}

}  // namespace stepcast
