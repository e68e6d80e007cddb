#include "refuse_key.hpp"

#include "stepcast/base/errors.hpp"
#include "stepcast/base/node_at.hpp"

namespace stepcast {

void refuse_key(const Scenario& scenario, const std::string& path, const std::string& message) {
  // The place of the nearest key that the document has; the file where it has none.
  const Node* root = scenario.document.get();
  const Node* node = root ? node_at(*root, path) : nullptr;
  const Place place = node ? node->place : Place{root ? root->place.file : ""};
  refuse_input(place, path, message);
}

}  // namespace stepcast
