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
/// Reports keys whose rules ask for each other, of the code or with a recipe.
void report_circles(const Framework& framework, Reading& reading);
/// What `over` replaces, key by key, of `base`: the rest of that, and `over`.
std::vector<const FrameworkRule*> rules_under(const std::vector<FrameworkRule>& base,
                                              const std::vector<FrameworkRule>& over);
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

/// The rules of several files, one for each key that they set; all keys are judged in one walk over
/// the description. What is wrong goes to `reading`.
std::vector<std::vector<FrameworkRule>> rules_of(const std::vector<std::vector<WrittenRule>>& files,
                                                 Reading& reading);

}  // namespace stepcast
