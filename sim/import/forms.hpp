#pragma once
#include "draft.hpp"
#include "stepcast/sim/import/import.hpp"

namespace stepcast::launch {

/// Sets the keys of a launch file; what is wrong goes to the draft. The answer is the size of the
/// job where the file or --devices says it.
using ImportForm = std::optional<std::int64_t>(const std::string& path, const std::string& text,
                                               const ImportOptions& options, Draft& draft);

/// One form of launch file: what tells it, and how it becomes keys.
struct LaunchForm {
  std::string_view name;   ///< as --from has it
  std::string_view title;  ///< as people call it
  ImportForm* import;
};
std::span<const LaunchForm> launch_forms();

// Scripts of Megatron-LM and MindSpeed-LLM, and the arguments that their runs print.
ImportForm import_megatron_shell, import_mindspeed_shell, import_megatron_yaml, import_arguments;
// YAML whose leaves are the arguments of Megatron-LM: as its --yaml-cfg has them, FlagScale's
// training files, and Primus, whose experiments extend files of its own repository.
ImportForm import_megatron_arguments, import_flagscale, import_primus;
// DeepSpeed's JSON, by itself and beside a script of Megatron-DeepSpeed; a Hugging Face model.
ImportForm import_deepspeed, import_megatron_deepspeed, import_hugging_face;
// The Trainer of Transformers under the names of those that run it.
ImportForm import_trainer, import_llama_factory, import_axolotl, import_ms_swift;
// Trees of keys, and a function of torchtitan's config_registry.py, of 2026.
ImportForm import_mindformers, import_torchtitan, import_torchtitan_python, import_nemo;
ImportForm import_mindspeed_fsdp2;
/// A task graph of run --graph, which is named and not unfolded.
ImportForm import_graph;

/// Whether a file is YAML: by its name, or by its text where it is standard input.
bool is_yaml(const std::string& path, const std::string& text);
/// The form of a file. Throws InputError: `from` is none, or the file does not tell.
const LaunchForm& form_of(const std::string& path, const std::string& from,
                          const SearchPath& search);

/// Refused and unknown settings of a launch, all of them, and words about small ones. `program` is
/// what is launched, where a file says it.
void check_settings(Framework framework, const std::vector<Setting>& settings, bool ignore_unknown,
                    Draft& draft, const std::string& program = {});
/// --devices, or what the launcher says.
std::optional<std::int64_t> devices_of(const Launch& launch, const ImportOptions& options,
                                       Draft& draft);

/// Arguments and variables that the options give to a script. Throws InputError.
ShellInputs inputs_of(const ImportOptions& options);

/// Checks the settings of Megatron-LM or MindSpeed-LLM and makes keys of them.
std::optional<std::int64_t> import_flags(Framework framework, Launch launch,
                                         const ImportOptions& options, Draft& draft);

/// Names the framework of the draft: the preset that runs the file, without a recipe. `chosen` is
/// what --framework names, empty: nothing.
void set_framework(Draft& draft, const std::string& chosen);
/// Leaves keys out that nothing needs: defaults, and flags that may have nothing to do. False:
/// there are none among the errors.
bool leave_out_idle(const InputError& error, Node& root, Draft& draft);
/// Takes keys out of the draft and of `root`, its document, that the framework gives by itself:
/// defaults that a rule says, and flags that ask for what it does anyway.
void leave_to_framework(Node& root, const SearchPath& search, Draft& draft);
/// Takes a key out of a document, with what is empty without it.
void take_out(Node& root, std::string_view path);

/// Whether a script is one of MindSpeed-LLM rather than of Megatron-LM.
bool is_mindspeed(const std::string& text);
/// The form of a YAML file of arguments of Megatron-LM; empty: it is none.
std::string_view argument_tree_form(const std::string& text);
/// That of a YAML file of LLaMA-Factory or axolotl.
std::string_view trainer_yaml_form(const std::string& text);
/// That of a script; empty: it launches no Trainer. Throws InputError: it names another file that
/// says everything.
std::string_view trainer_shell_form(const std::string& path, const std::string& text);

}  // namespace stepcast::launch
