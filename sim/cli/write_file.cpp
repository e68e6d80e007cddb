#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "commands.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast::cli {

void write_file(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  const std::string beside = path + ".part" + std::to_string(getpid());
  std::error_code failure;
  {
    std::ofstream file(beside, std::ios::binary);
    file << text << std::flush;
    if (!file) {
      fs::remove(beside, failure);
      throw InputError({Diagnostic{
          {path}, {}, "cannot be written, give a file in a folder that exists and is writable"}});
    }
  }
  fs::rename(beside, path, failure);
  if (!failure) return;
  const std::string why = failure.message();
  fs::remove(beside, failure);
  throw InputError({Diagnostic{{path}, {}, "cannot be written: " + why}});
}

}  // namespace stepcast::cli
