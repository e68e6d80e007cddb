#include "model_folder.hpp"

#include <algorithm>
#include <filesystem>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/workloads/hugging_face.hpp"

namespace stepcast::launch {

std::optional<std::string> file_beside(const std::string& launch_file, const std::string& named) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(launch_file).parent_path();
  for (const fs::path& file :
       {fs::path(named), folder / named, folder / fs::path(named).filename()})
    if (is_file(file)) return file.string();
  // `examples/deepspeed/ds_z3.json`, as from the root of a repository that the script stands in.
  if (!fs::path(named).has_parent_path() || fs::path(named).is_absolute()) return {};
  constexpr int highest = 8;
  fs::path here = fs::absolute(launch_file).lexically_normal().parent_path();
  for (int i = 0; i < highest && here.has_relative_path(); ++i) {
    here = here.parent_path();
    if (is_file(here / named)) return (here / named).string();
  }
  return {};
}

std::string set_model_folder(const Setting* named, const std::string& launch_file, Draft& draft) {
  namespace fs = std::filesystem;
  // `--set model.hf_config` names another file, which the caller reads for its kernels.
  if (draft.given("model")) {
    const auto& entries = draft.entries();
    const auto found = std::ranges::find(entries, "model.hf_config", &Entry::path);
    std::string path = found == entries.end() ? "" : found->value;
    std::erase_if(path, [](char c) { return c == '\'' || c == '"'; });
    if (named != nullptr) draft.set("model", std::string(), {named});  // which --set replaces
    return path;
  }
  const std::string name =
      named == nullptr || named->words.empty() ? std::string() : named->words.front();
  // Beside the launch file, since names of models are folders there or on a hub that is not asked.
  const auto file = name.empty()
                        ? std::nullopt
                        : file_beside(launch_file, (fs::path(name) / "config.json").string());
  if (!file) {
    draft.wrong(
        named == nullptr ? Place{launch_file} : named->place,
        named == nullptr ? "model.hf_config" : named->shown(),
        (name.empty() ? std::string("is not said") : "names " + name + ", which is not here") +
            "; give --set model.hf_config=config.json, that of the model");
    return {};
  }
  std::string path = path_of(*file);
  draft.set("model.hf_config", "'" + path + "'", {named});
  // Parts of a model beside its language model are named, not modelled.
  if (const std::string left_out = left_out_of_hugging_face(path);
      named != nullptr && !left_out.empty())
    draft.note({named->place, named->shown(), left_out});
  return path;
}

}  // namespace stepcast::launch
