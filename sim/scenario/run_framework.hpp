#pragma once
#include <memory>

#include "read_draft.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"
#include "stepcast/sim/scenario/framework.hpp"

/// Private to sim/scenario/: a document and its framework become the scenario that runs.
namespace stepcast {

/// A document that was read with the keys of its framework.
struct FramedDraft {
  Node root;  ///< with these keys, without `framework`
  ScenarioDraft draft;
  Reading reading;
  std::shared_ptr<const AppliedFramework> framework;
};

/// Takes `framework` out of the document.
void drop_framework(Node& root);
/// Writes a framework that is named by a word as a mapping, whose keys settings may give.
void open_framework(Node& root);

/// Reads and checks a document. Keys that it does not say come from its framework: what a rule
/// gives and nothing needs is passed over; what does not go with the rest is left out where the
/// framework is assumed, or the rule is of a recipe, and reported elsewhere.
FramedDraft read_framed(Node root, const SearchPath& search, const Reading& start);

}  // namespace stepcast
