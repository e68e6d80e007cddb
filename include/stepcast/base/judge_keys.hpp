#pragma once
#include <string>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"

namespace stepcast {

/// What a description says of one key with one value, taken alone.
struct KeyVerdict {
  std::string path;   ///< `parallel.tp`
  const Node* value;  ///< must outlive the verdict
  enum class Kind {
    unknown,
    section,  ///< a mapping of keys
    field     ///< one value, written as a word, a list or a mapping
  } kind = Kind::unknown;
  std::string wrong;  ///< what is wrong with the value; empty: nothing
  std::string text;   ///< the value as canonical_text() has it, if nothing is wrong
};

/// Judges many keys in one walk over the description. Where several alternatives know a key, one
/// that takes the value is enough. Entries of lists are not known.
void judge_keys(const Visitor::Body& body, std::vector<KeyVerdict>& keys);

}  // namespace stepcast
