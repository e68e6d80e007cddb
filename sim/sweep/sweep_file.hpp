#pragma once
#include <string>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"

namespace stepcast {

/// A sweep file as it stands: what its paths and values may be is not checked yet.
struct SweepFile {
  std::string name, base;
  bool weak = false;           ///< `keep: {tokens_per_device: constant}`
  const Node* grid = nullptr;  ///< nothing: left out
  const Node* zip = nullptr;
  const Node* baseline = nullptr;
};
void describe(Visitor& visitor, SweepFile& file);

}  // namespace stepcast
