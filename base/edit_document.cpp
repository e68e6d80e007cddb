#include "stepcast/base/edit_document.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "stepcast/base/document.hpp"

namespace stepcast {
namespace {

using Keys = std::span<const std::string>;

/// One `path.to.key=value`.
struct Assignment {
  std::string path;
  std::vector<std::string> keys;
  std::string value;  ///< as it is written
};

/// Where a place is in the text; its end where it is not there.
std::size_t offset_of(const std::string& text, const Place& place) {
  std::size_t begin = 0;
  // Places count lines and columns from 1.
  for (int line = 1; line < place.line; ++line) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return text.size();
    ++begin;
  }
  return std::min(text.size(), begin + static_cast<std::size_t>(std::max(place.column, 1)) - 1);
}

/// The end of the quoted text that begins at `begin`; npos where it does not end.
std::size_t end_of_quoted(const std::string& text, std::size_t begin) {
  const char quote = text[begin];
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      // Between single quotes two of them stand for one.
      if (quote == '"' || i + 1 == text.size() || text[i + 1] != quote) return i + 1;
      ++i;
    }
  }
  return std::string::npos;
}

/// The end of the `[...]` or `{...}` that begins at `begin`; npos where it holds a comment or does
/// not end.
std::size_t end_of_flow(const std::string& text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    // A comment inside would be lost with the value.
    if (c == '#') return std::string::npos;
    if (c == '"' || c == '\'') {
      i = end_of_quoted(text, i);
      if (i == std::string::npos) return i;
      --i;
    }
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return i + 1;
  }
  return std::string::npos;
}

/// How long the value is that stands at `begin`; npos where it is not one that can be replaced.
std::size_t length_of(const std::string& text, const Node& node, std::size_t begin) {
  if (begin >= text.size()) return std::string::npos;
  std::size_t end = std::string::npos;
  const bool flow = text[begin] == '[' || text[begin] == '{';
  if (node.kind == Node::Kind::scalar && node.quoted) {
    end = end_of_quoted(text, begin);
  } else if (node.kind == Node::Kind::scalar) {
    // A plain value that is folded over lines does not stand there as it reads.
    if (text.compare(begin, node.text.size(), node.text) == 0) end = begin + node.text.size();
  } else if (flow) {
    end = end_of_flow(text, begin);
  }
  return end == std::string::npos ? end : end - begin;
}

/// `a: {b: 1}`
std::string flow_entry(Keys keys, const std::string& value) {
  if (keys.size() == 1) return keys.front() + ": " + value;
  return keys.front() + ": {" + flow_entry(keys.subspan(1), value) + "}";
}

/// The same on lines of their own.
std::string block_entry(Keys keys, const std::string& value, std::size_t indent) {
  std::string text;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i)
    text += keys[i] + ":\n" + std::string(indent + 2 * (i + 1), ' ');
  return text + keys.back() + ": " + value + "\n";
}

/// Adds what lacks below `mapping`; false where it is no mapping.
bool add(std::string& text, const Node& mapping, bool whole, Keys keys, const std::string& value) {
  const std::size_t begin = offset_of(text, mapping.place);
  const bool flow = begin < text.size() && text[begin] == '{';
  // On the outermost level a new key goes to the end of the file.
  if (whole && !flow && (mapping.entries.empty() || mapping.place.column == 1)) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += block_entry(keys, value, 0);
    return mapping.kind == Node::Kind::mapping || mapping.kind == Node::Kind::null;
  }
  if (mapping.kind != Node::Kind::mapping || begin >= text.size()) return false;
  // In front of the first entry, whose place is known; where a mapping ends is not.
  if (flow) {
    const bool empty = mapping.entries.empty();
    text.insert(empty ? begin + 1 : offset_of(text, mapping.entries.front().place),
                flow_entry(keys, value) + (empty ? "" : ", "));
    return true;
  }
  if (mapping.entries.empty()) return false;
  const Place& first = mapping.entries.front().place;
  const auto indent = static_cast<std::size_t>(first.column - 1);
  text.insert(offset_of(text, first), block_entry(keys, value, indent) + std::string(indent, ' '));
  return true;
}

/// Whether two documents say the same, whatever the order of their keys.
bool same(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.text != b.text || a.quoted != b.quoted) return false;
  const auto entry = [&](const Node::Entry& e) {
    const Node* other = b.find(e.key);
    return other != nullptr && same(e.value, *other);
  };
  return a.entries.size() == b.entries.size() && std::ranges::all_of(a.entries, entry) &&
         std::ranges::equal(a.items, b.items, same);
}

/// Sets one key; the place where it cannot be written, when it cannot.
std::optional<Place> set(std::string& text, const std::string& name, const Assignment& a) {
  // Parsed anew for each key, since the one before moved all places behind it.
  const Node root = parse_document(text, name);
  const Node* node = &root;
  std::size_t depth = 0;
  for (; depth < a.keys.size(); ++depth) {
    const Node* next = node->kind == Node::Kind::mapping ? node->find(a.keys[depth]) : nullptr;
    if (next == nullptr) break;
    node = next;
  }
  const Place place = node->place;
  std::string edited = text;
  if (depth == a.keys.size()) {
    const std::size_t begin = offset_of(text, place), length = length_of(text, *node, begin);
    if (length == std::string::npos) return place;
    edited.replace(begin, length, a.value);
  } else if (!add(edited, *node, depth == 0, Keys{a.keys}.subspan(depth), a.value)) {
    return place;
  }
  // The text has to mean what the override would, or else it stays as it was.
  Node wanted = root;
  set_value(wanted, a.path, parse_document(a.value, name));
  try {
    if (!same(parse_document(edited, name), wanted)) return place;
  } catch (const InputError&) {
    return place;
  }
  text = std::move(edited);
  return {};
}

Assignment read(const std::string& text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  Assignment a{.path = text.substr(0, equals), .keys = {}, .value = {}};
  // Empty parts are found below: `a..b` and `.a` are no paths.
  for (std::size_t begin = 0; begin <= a.path.size();) {
    const std::size_t end = std::min(a.path.find('.', begin), a.path.size());
    a.keys.push_back(a.path.substr(begin, end - begin));
    begin = end + 1;
  }
  if (equals == text.size() || std::ranges::count(a.keys, std::string{}) > 0)
    refuse_input({"--set " + text}, {}, "has no path and value, allowed: --set path.to.key=value");
  a.value = text.substr(equals + 1);
  return a;
}

}  // namespace

std::string edited_document(std::string text, const std::string& name,
                            const std::vector<std::string>& assignments,
                            const WrongValue& wrong_value) {
  std::vector<Diagnostic> wrong;
  for (const std::string& given : assignments) {
    const Assignment a = read(given);
    if (a.value.find('\n') != std::string::npos) {
      wrong.push_back({{"--set " + given}, a.path, "has several lines, allowed: one"});
      continue;
    }
    std::string refused =
        wrong_value ? wrong_value(a.path, parse_document(a.value, "--set " + given)) : "";
    if (!refused.empty()) {
      wrong.push_back({{"--set " + given}, a.path, std::move(refused)});
    } else if (const std::optional<Place> place = set(text, name, a)) {
      wrong.push_back({*place, a.path,
                       "cannot be written where it belongs, allowed: a value on one line in place "
                       "of another, or a new key of a mapping"});
    }
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
  return text;
}

}  // namespace stepcast
