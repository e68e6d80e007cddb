#pragma once
#include "structured.hpp"

/// The Trainer of Transformers under the names of those that run it.
namespace stepcast::launch {

std::optional<std::int64_t> import_trainer(const std::string& path, const std::string& text,
                                           const ImportOptions& options, Draft& draft);
std::optional<std::int64_t> import_llama_factory(const std::string& path, const std::string& text,
                                                 const ImportOptions& options, Draft& draft);
std::optional<std::int64_t> import_axolotl(const std::string& path, const std::string& text,
                                           const ImportOptions& options, Draft& draft);
std::optional<std::int64_t> import_ms_swift(const std::string& path, const std::string& text,
                                            const ImportOptions& options, Draft& draft);

/// The form of a YAML file of LLaMA-Factory or axolotl; empty: it is none.
std::string_view trainer_yaml_form(const std::string& text);
/// That of a script; empty: it launches no Trainer. Throws InputError: it names another file that
/// says everything.
std::string_view trainer_shell_form(const std::string& path, const std::string& text);

}  // namespace stepcast::launch
