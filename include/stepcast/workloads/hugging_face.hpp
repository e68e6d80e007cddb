#pragma once
#include <filesystem>
#include <string>

namespace stepcast {

/// What a Hugging Face config.json holds beside the text model that read_hugging_face takes, in
/// words; empty: nothing. Throws InputError: missing file, bad JSON.
std::string left_out_of_hugging_face(const std::filesystem::path& path);

}  // namespace stepcast
