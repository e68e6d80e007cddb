#pragma once
#include "structured.hpp"

/// Launches whose model is a folder of Hugging Face.
namespace stepcast::launch {

/// Makes the folder or name of a model the scenario's, where it is beside the launch file or where
/// it says; else asks for --set model.hf_config, unless --set says the model. The answer is the
/// file of its configuration, empty: it is not known.
std::string set_model_folder(const Setting* named, const std::string& launch_file, Draft& draft);

/// The kernels of a layer that Transformers writes out: a layer norm is one call of PyTorch, and
/// only positions that rotate have statements. `config` may be empty.
std::vector<const char*> written_out(const std::string& config);
/// The width of a model; nothing where its configuration is not known.
std::optional<std::int64_t> hidden_of(const std::string& config);

/// A document that a launch names, where it says or beside the launch file; nothing: not there.
std::optional<std::string> file_beside(const std::string& launch_file, const std::string& named);

}  // namespace stepcast::launch
