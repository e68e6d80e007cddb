#pragma once
#include <algorithm>

#include "structured.hpp"

namespace stepcast::launch {

inline constexpr std::string_view model_prefix = "model.model_config.";

/// Field values that the class of a model has where a file gives none.
struct ModelClass {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::int64_t>> counts;
};

/// A file of MindFormers on its way into a scenario.
struct Recipe {
  Arguments& args;
  Draft& draft;
  const std::vector<Setting>& settings;
  bool legacy = true, gpt2 = false;
  std::int64_t dp = 1, tp = 1, pp = 1, cp = 1, ep = 1, vpp = 1;
  std::int64_t layers = 0, mtp = 0;
  std::int64_t pieces = 1;  ///< micro-batches of a step
  const ModelClass* known = nullptr;

  const Setting* field(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names)
      if (const Setting* found = args.find(std::string(model_prefix) + std::string(name)))
        return found;
    return nullptr;
  }
  std::optional<std::int64_t> count(std::initializer_list<std::string_view> names) const {
    if (const Setting* found = field(names)) return args.count(found->name);
    if (known != nullptr)
      for (const auto& [name, value] : known->counts)
        if (std::ranges::find(names, name) != names.end()) return value;
    return {};
  }
  std::int64_t needed(std::initializer_list<std::string_view> names) const {
    const auto value = count(names);
    if (!value && field(names) == nullptr)
      args.fail(std::string(model_prefix) + std::string(*names.begin()),
                "is missing, and its class is not known");
    const std::int64_t given = value.value_or(1);
    if (given >= 1 && given <= most_counted) return given;
    args.fail(*field(names),
              "is " + std::to_string(given) + ", allowed: 1 to " + std::to_string(most_counted));
    return 1;
  }
  void set(const char* key, std::int64_t value,
           std::initializer_list<std::string_view> names) const {
    draft.set(key, value, {field(names)}, field(names) == nullptr ? "of its class" : "");
  }
};

/// The model and its experts: mindformers_model.cpp. Sets layers and mtp.
void import_model(Recipe& recipe);

}  // namespace stepcast::launch
