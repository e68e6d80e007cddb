#include "stepcast/base/node_at.hpp"

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// Entries of lists go by their index; nullptr: there is no such part.
const Node* part_of(const Node& node, std::string_view key) {
  if (node.kind != Node::Kind::list) return node.find(key);
  const auto index = parse_count(key);
  if (!index || *index < 0 || *index >= static_cast<double>(node.items.size())) return nullptr;
  return &node.items[static_cast<std::size_t>(*index)];
}

}  // namespace

const Node* node_at(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = part_of(*node, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

}  // namespace stepcast
