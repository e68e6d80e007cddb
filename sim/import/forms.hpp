#pragma once
#include "draft.hpp"
#include "stepcast/sim/import/import.hpp"

namespace stepcast::launch {

/// One form of launch file: what tells it, and how it becomes keys.
struct LaunchForm {
  std::string_view name;   ///< as --from has it
  std::string_view title;  ///< as people call it
  /// Sets the keys; what is wrong goes to the draft. The answer is the size of the job where the
  /// file or --devices says it.
  std::optional<std::int64_t> (*import)(const std::string& path, const std::string& text,
                                        const ImportOptions& options, Draft& draft);
};
std::span<const LaunchForm> launch_forms();

/// The form of a file. Throws InputError: `from` is none, or the file does not tell.
const LaunchForm& form_of(const std::string& path, const std::string& from,
                          const SearchPath& search);

/// Refused and unknown settings of a launch, all of them, and words about small ones.
void check_settings(Framework framework, const std::vector<Setting>& settings, bool ignore_unknown,
                    Draft& draft);
/// --devices, or what the launcher says.
std::optional<std::int64_t> devices_of(const Launch& launch, const ImportOptions& options,
                                       Draft& draft);

/// Checks the settings of Megatron-LM or MindSpeed-LLM and makes keys of them.
std::optional<std::int64_t> import_flags(Framework framework, Launch launch,
                                         const ImportOptions& options, Draft& draft);

std::optional<std::int64_t> import_megatron_shell(const std::string& path, const std::string& text,
                                                  const ImportOptions& options, Draft& draft);
std::optional<std::int64_t> import_mindspeed_shell(const std::string& path, const std::string& text,
                                                   const ImportOptions& options, Draft& draft);
std::optional<std::int64_t> import_megatron_yaml(const std::string& path, const std::string& text,
                                                 const ImportOptions& options, Draft& draft);
/// Whether a script is one of MindSpeed-LLM rather than of Megatron-LM.
bool is_mindspeed(const std::string& text);

}  // namespace stepcast::launch
