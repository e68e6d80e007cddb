#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/sim/scenario/framework.hpp"

namespace stepcast {

/// What a framework says of documents that differ in some keys: the points of a plan.
class FramedDocument {
 public:
  /// Reads the framework of `root`. What is wrong with it goes to `reading`.
  FramedDocument(const Node& root, const SearchPath& search, Reading& reading);

  /// Whether there is one.
  bool framed() const { return framework_.has_value(); }
  /// Rules that may hold: of the code and of every recipe, of keys that the document does not say.
  const std::vector<FrameworkRule>& rules() const { return rules_; }
  /// The document without `framework`.
  const Node& root() const { return root_; }
  /// The keys that the framework says of `root`, which differs from root() in values of some keys;
  /// none of `left_out`. Whether the scenario can run is not asked.
  std::vector<std::pair<std::string, Node>> keys_of(const Node& root,
                                                    const std::set<std::string>& left_out) const;

 private:
  Node root_;
  std::optional<Framework> framework_;
  std::vector<FrameworkRule> rules_;
  const SearchPath& search_;
};

}  // namespace stepcast
