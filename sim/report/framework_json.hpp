#pragma once
#include <nlohmann/json.hpp>

#include "stepcast/sim/scenario/applied_framework.hpp"

namespace stepcast {

/// `framework` of a scenario: who it is, and each key with the rule that says it.
inline nlohmann::ordered_json framework_json(const AppliedFramework& framework) {
  using Json = nlohmann::ordered_json;
  const auto list = [](const std::vector<AppliedFramework::Key>& keys) {
    Json all = Json::object();
    for (const AppliedFramework::Key& key : keys) {
      Json& json = all[key.path];
      json = {{"value", key.value}, {"source", key.source}, {"rule", key.place}};
      if (!key.recipe.empty()) json["recipe"] = key.recipe;
      if (!key.why.empty()) json["why"] = key.why;
    }
    return all;
  };
  return {{"name", framework.id},
          {"label", framework.label},
          {"assumed", framework.assumed},
          {"recipe", framework.recipe.empty() ? Json(nullptr) : Json(framework.recipe)},
          {"keys", list(framework.keys)},
          {"left_out", list(framework.left_out)}};
}

}  // namespace stepcast
