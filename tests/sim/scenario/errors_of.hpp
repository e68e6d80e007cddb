#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/forecast/prepare.hpp"
#include "temporary_files.hpp"

namespace stepcast::test {

/// What reading says, with the directory of the files left out.
inline std::string errors_of(const TemporaryFiles& files, const std::string& path,
                             const std::vector<std::string>& overrides = {}) {
  std::string text = "no error";
  try {
    prepare_scenario(path, overrides, {});
  } catch (const InputError& error) {
    text = error.what();
  }
  const std::string directory = files.path("");
  for (std::size_t at = text.find(directory); at != std::string::npos; at = text.find(directory)) {
    text.erase(at, directory.size());
  }
  return text;
}

}  // namespace stepcast::test
