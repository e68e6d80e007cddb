#pragma once
#include "forms.hpp"

/// Launch files that are trees of keys: YAML, TOML and JSON.
namespace stepcast::launch {

/// Every leaf as a setting under its dotted path. A list of values is one setting of several words;
/// a list of lists one word, as it is written.
std::vector<Setting> flattened(const Node& root);

/// A TOML document as a tree with places. Throws InputError.
Node parse_toml(const std::string& text, const std::string& name);

/// The launch of a tree: its settings checked against the table; those without effect dropped.
std::vector<Setting> checked_settings(Framework framework, const Node& root,
                                      const ImportOptions& options, Draft& draft);
/// The same of settings that were read already.
std::vector<Setting> checked(Framework framework, std::vector<Setting> settings,
                             const ImportOptions& options, Draft& draft);

/// As import_torchtitan() of keys of a TOML that were read already.
std::optional<std::int64_t> import_torchtitan_settings(const std::vector<Setting>& settings,
                                                       const ImportOptions& options, Draft& draft);
/// torchtitan's models that have a flavor of this name, with blanks between them.
std::string torchtitan_models_of(std::string_view flavor);

/// A file as a scenario elsewhere names it. Throws InputError for standard input, which has no
/// name.
std::string path_of(const std::string& file);

/// A gated feed-forward width of Llama: 2/3 of 4 x hidden, times a factor, up to a multiple.
std::int64_t llama_width(std::int64_t hidden, double factor, std::int64_t multiple);

}  // namespace stepcast::launch
