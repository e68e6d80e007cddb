#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/scenario/framework.hpp"

/// Private to sim/scenario/: how conditions and rules compare.
namespace stepcast {

/// Whether rule `a` holds only where `b` does: it is a special case.
bool implies(const FrameworkRule& a, const FrameworkRule& b);
/// Whether no scenario can have both rules.
bool exclude_each_other(const FrameworkRule& a, const FrameworkRule& b);

/// Reports rules for one key that hold together although none is the special case.
void report_contradictions(const std::vector<FrameworkRule>& rules, const std::string& path,
                           Reading& reading);
/// Reports keys whose rules ask for each other, where `over` replaces, key by key, what `base`
/// says.
void report_circles(const std::vector<FrameworkRule>& base, const std::vector<FrameworkRule>& over,
                    const std::string& path, Reading& reading);
/// Replaces, key by key, what `base` says.
void replace_rules(std::vector<FrameworkRule>& base, std::vector<FrameworkRule> over);

/// One rule as a file has it.
struct WrittenRule {
  const Node* set = nullptr;   ///< a mapping of keys; null: it is missing
  const Node* when = nullptr;  ///< a mapping of conditions; null: it always holds
  std::string source;
  std::string path;    ///< `framework.rules.0`
  std::string recipe;  ///< which has it
};

/// The rules, one for each key that they set. What is wrong goes to `reading`.
std::vector<FrameworkRule> rules_of(const std::vector<WrittenRule>& written, Reading& reading);

}  // namespace stepcast
