#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/document.hpp"
#include "stepcast/base/section.hpp"

/// A plan's document: a scenario in which some keys hold several values.
namespace stepcast {

/// The value at a dotted path of mappings; nullptr where there is none.
const Node* find_node(const Node& root, std::string_view path);
/// Puts `value` at a dotted path, making the mappings on the way.
void put_node(Node& root, std::string_view path, Node value);

/// One key with several values.
struct ListedKey {
  std::string path;
  std::vector<Node> values;  ///< scalars or mappings, each with its place
  bool searched = false;     ///< the word `search`: the values follow from the scenario
  Place place;
};

/// What `node` says of a key: its values, `search`, or one value (size 1). Reports empty lists,
/// values that are there twice, and values that are lists.
ListedKey listed_key(const std::string& path, const Node& node, Reading& reading);

/// How a value is written in YAML on one line.
std::string flow_text(const Node& node);

/// Words of a choice that are built and take no number, by the description of a scenario.
std::vector<std::string> built_words(const std::string& path);

}  // namespace stepcast
