#pragma once
#include <string>

#include "stepcast/base/section.hpp"

namespace stepcast::test {

/// What is wrong with a text of which `body` describes the mapping, a line each.
template <class Describe>
std::string errors_of(std::string_view text, const Describe& body, Reading& reading) {
  const Node root = parse_document(text, "f");
  Section section{root, {}, reading};
  body(section);
  section.finish();
  std::string all;
  for (const Diagnostic& d : reading.diagnostics) all += (all.empty() ? "" : "\n") + d.text();
  return all;
}

}  // namespace stepcast::test
