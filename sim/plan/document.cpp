#include "document.hpp"

#include <algorithm>

#include "stepcast/base/value_visitor.hpp"
#include "stepcast/base/written_document.hpp"
#include "stepcast/sim/scenario/draft.hpp"

namespace stepcast {
namespace {

/// Splits the first key off a dotted path.
std::string_view first_key(std::string_view& path) {
  // The whole path when no dot is left.
  const std::size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  return key;
}

/// Finds the words of one choice in a description.
class WordFinder : public ValueVisitor {
 public:
  WordFinder(const std::string& wanted, std::vector<std::string>& words)
      : wanted_{wanted}, words_{words} {}

  void field(const Field& field) override {
    const auto* found = std::get_if<Choice>(&field.target);
    if (found == nullptr || child(field.key) != wanted_) return;
    // A word that takes a number would need one.
    for (const Option& option : found->words())
      if (option.built && !option.takes_number) words_.emplace_back(option.name);
  }

 private:
  const std::string& wanted_;
  std::vector<std::string>& words_;
};

}  // namespace

const Node* find_node(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (node != nullptr && !path.empty())
    node = node->kind == Node::Kind::mapping ? node->find(first_key(path)) : nullptr;
  return node;
}

/// What is not there yet is made, because a plan may search a key that its file leaves at the
/// default.
void put_node(Node& root, std::string_view path, Node value) {
  // A value that extends a preset replaces more than one key.
  if (value.extended) return set_value(root, path, std::move(value));
  Node* node = &root;
  while (!path.empty()) {
    const std::string_view key = first_key(path);
    // A scalar on the way gives place to the mapping that the path needs.
    if (node->kind != Node::Kind::mapping)
      *node = Node{.kind = Node::Kind::mapping, .place = value.place};
    if (node->find(key) == nullptr)
      node->entries.push_back({std::string(key), value.place, Node{.place = value.place}});
    node = node->find(key);
  }
  *node = std::move(value);
}

/// A value that stands twice would be counted as two points.
ListedKey listed_key(const std::string& path, const Node& node, Reading& reading) {
  ListedKey key{path, {}, false, node.place};
  // A quoted 'search' is a word of the user's own.
  key.searched = node.kind == Node::Kind::scalar && node.text == "search" && !node.quoted;
  if (key.searched) return key;
  // One value is a list of one.
  if (node.kind != Node::Kind::list) {
    key.values.push_back(node);
    return key;
  }
  if (node.items.empty())
    reading.report(node.place, path, "is an empty list, allowed: at least one value, search");
  std::vector<std::string> seen;
  // Doubles are compared as text: 1 and 1.0 are two values of the user's.
  for (const Node& item : node.items) {
    const std::string text = flow_text(item);
    if (item.kind == Node::Kind::list) {
      reading.report(item.place, path, "holds a list in a list, allowed: single values");
    } else if (std::ranges::find(seen, text) != seen.end()) {
      reading.report(item.place, path, "holds " + text + " twice, allowed: each value once");
    } else {
      key.values.push_back(item);
    }
    seen.push_back(text);
  }
  return key;
}

/// Values are written as a user would write them, because they become settings and file text.
std::string flow_text(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "null";
    case Node::Kind::scalar:
      return node.quoted ? in_single_quotes(node.text) : node.text;
    case Node::Kind::list: {
      std::string text = "[";
      for (const Node& item : node.items) text += (text.size() > 1 ? ", " : "") + flow_text(item);
      return text + "]";
    }
    case Node::Kind::mapping:
      break;
  }
  // A preset by itself is its name, with keys beside it a mapping.
  if (node.extended && !node.text.empty()) return node.extended->name;
  std::string text = "{";
  if (node.extended) text += "extends: " + node.extended->name;
  for (const Node::Entry& entry : node.entries)
    if (!node.extended || node.extended->beside.contains(entry.key))
      text += (text.size() > 1 ? ", " : "") + entry.key + ": " + flow_text(entry.value);
  return text + "}";
}

/// The words come from the description, so that a new one is searched without a change here.
std::vector<std::string> built_words(const std::string& path) {
  ScenarioDraft draft;
  std::vector<std::string> words;
  WordFinder finder(path, words);
  describe(finder, draft);
  return words;
}

}  // namespace stepcast
