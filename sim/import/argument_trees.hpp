#pragma once
#include "structured.hpp"

/// YAML whose leaves are the arguments of Megatron-LM: as its --yaml-cfg has them, FlagScale's
/// training files, and Primus, whose experiments extend files of its own repository.
namespace stepcast::launch {

/// The form of a YAML file of arguments; empty: it is none.
std::string_view argument_tree_form(const std::string& text);

std::optional<std::int64_t> import_megatron_arguments(const std::string& path,
                                                      const std::string& text,
                                                      const ImportOptions& options, Draft& draft);
std::optional<std::int64_t> import_flagscale(const std::string& path, const std::string& text,
                                             const ImportOptions& options, Draft& draft);
std::optional<std::int64_t> import_primus(const std::string& path, const std::string& text,
                                          const ImportOptions& options, Draft& draft);

}  // namespace stepcast::launch
