#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace stepcast::test {

/// A directory of its own that goes when the test ends.
class TemporaryFiles {
 public:
  TemporaryFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stepcast-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~TemporaryFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, std::string_view text) const {
    const std::filesystem::path file = directory_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream stream{file, std::ios::binary};
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    return file.string();
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace stepcast::test
