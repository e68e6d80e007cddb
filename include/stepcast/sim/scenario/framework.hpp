#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/section.hpp"

/// Frameworks are presets beside clusters and models: rules that say which keys the code of a
/// training framework sets, whatever a scenario says (docs/formats/framework.md).
namespace stepcast {

/// The values of one key with which a rule holds.
struct FrameworkCondition {
  std::string key;                 ///< of a scenario, `nodes` or `micro_batches`
  std::vector<std::string> texts;  ///< as canonical_text() has them
  bool others = false;             ///< all values but these
};

/// A default with a condition, for one key.
struct FrameworkRule {
  std::string key;
  Node value;        ///< with the place where the rule stands
  std::string text;  ///< the value as canonical_text() has it
  std::vector<FrameworkCondition> when;
  std::string source;
  std::string recipe;  ///< which has it; empty: the code itself
};

/// Flags of published scripts.
struct FrameworkRecipe {
  std::string name;
  std::vector<std::string> models;  ///< files of the models that they are for
  std::vector<FrameworkRule> rules;
};

/// A framework with all that it extends.
struct Framework {
  std::string id;      ///< `megatron-core-0.14`, the name of its file
  std::string file;    ///< where it was found; empty: it stands in the scenario alone
  std::string name;    ///< `Megatron-Core`
  std::string vendor;  ///< of the devices that it runs on; empty: any
  std::string from, before;
  std::string version;  ///< which a scenario asks for; empty: the first
  std::string recipe;   ///< which a scenario asks for; empty: that of its model, or `default`
  Place place;          ///< where the scenario names it
  bool assumed = false;
  std::vector<FrameworkRule> rules;
  std::vector<FrameworkRecipe> recipes;

  /// `Megatron-Core 0.14`: its name with the version that is asked for, else that of its file.
  std::string label() const;
};

/// Name, range of versions, rules and recipes: a framework file.
void describe_framework_file(Visitor& visitor);

/// Reads a framework file with what it extends, and checks its rules. Throws InputError.
Framework read_framework(const std::string& path, const SearchPath& search);
/// read_framework(), and that no other file of its folder is for the same versions. Throws
/// InputError.
void check_framework_file(const std::string& path, const SearchPath& search);
/// The framework that the value of `framework:` names, or the one of the cluster's device; none:
/// there is none. What is wrong goes to `reading`.
std::optional<Framework> framework_of(const Node& root, const SearchPath& search, Reading& reading);
/// Names of files in the folders `frameworks`, in order.
std::vector<std::string> framework_names(const SearchPath& search);
/// The name of the file for a version of a framework (`MindSpeed`, `2.3`); nothing: none is.
std::optional<std::string> framework_for(const std::string& name, const std::string& version,
                                         const SearchPath& search);
/// Whether version `a` is before `b`, part by part (0.9 is before 0.10).
bool is_earlier(const std::string& a, const std::string& b);

/// Texts of the keys of a scenario, as canonical_text() has them.
using KeyTexts = std::map<std::string, std::string, std::less<>>;

/// Whether a condition holds of the text of its key.
bool holds(const FrameworkCondition& condition, std::string_view text);

/// Which rule sets which key: those that hold of what `texts` says, but for keys that are `given`
/// or `left_out`. A key that conditions ask for counts as other rules set it.
std::vector<const FrameworkRule*> rules_that_hold(
    const std::vector<const FrameworkRule*>& rules, const KeyTexts& texts,
    const std::function<bool(const std::string&)>& given);

}  // namespace stepcast
