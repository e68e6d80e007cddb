#include <fmt/format.h>

#include <algorithm>

#include "stepcast/sim/report/report.hpp"
#include "stepcast/sim/scenario/applied_framework.hpp"

namespace stepcast {
namespace {

std::string key_lines(const std::vector<AppliedFramework::Key>& keys) {
  // Columns as wide as their widest cell, but for long values, which stand over.
  std::size_t path = 0, value = 0;
  constexpr std::size_t widest_value = 32;
  for (const AppliedFramework::Key& key : keys) {
    path = std::max(path, key.path.size());
    value = std::max(value, std::min(key.value.size(), widest_value));
  }
  std::string text;
  for (const AppliedFramework::Key& key : keys) {
    text += fmt::format("  {:<{}}  {:<{}}  {}{}: {}\n", key.path, path, key.value, value, key.place,
                        key.recipe.empty() ? "" : " (recipe " + key.recipe + ")", key.source);
    if (!key.why.empty()) text += fmt::format("  {:<{}}  {}\n", "", path, key.why);
  }
  return text;
}

}  // namespace

std::string framework_line(const Scenario& scenario) {
  if (!scenario.framework) return {};
  const AppliedFramework& framework = *scenario.framework;
  std::string text = "  framework  " + framework.label;
  if (!framework.recipe.empty()) text += ", recipe " + framework.recipe;
  if (framework.assumed) text += ", assumed; --set framework=...";
  if (!framework.vendor.empty())
    text += fmt::format(", whose code runs on devices of {} alone: these are assumed to do as well",
                        framework.vendor);
  if (!framework.left_out.empty())
    text += fmt::format("; {} of its keys left out (--keys)", framework.left_out.size());
  return text + "\n";
}

std::string framework_keys_text(const Scenario& scenario) {
  if (!scenario.framework) return "\nNo framework: every key is the scenario's own.\n";
  const AppliedFramework& framework = *scenario.framework;
  std::string text = fmt::format("\nKeys that {} says:\n", framework.label);
  text += framework.keys.empty() ? "  none\n" : key_lines(framework.keys);
  if (!framework.left_out.empty())
    text += "\nKeys left out, which do not go with the scenario:\n" + key_lines(framework.left_out);
  return text;
}

}  // namespace stepcast
