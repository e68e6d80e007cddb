#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "commands.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast::cli {
namespace {

namespace fs = std::filesystem;

bool written(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  return file.good();
}

[[noreturn]] void refuse(const std::string& path) {
  throw InputError({Diagnostic{
      {path}, {}, "cannot be written, give a file in a folder that exists and is writable"}});
}

}  // namespace

void write_file(const std::string& path, const std::string& text) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (fs::exists(status) && fs::is_other(status)) {  // a device or pipe: a rename would replace it
    if (!written(path, text)) refuse(path);
    return;
  }
  const fs::path target =
      fs::is_regular_file(status) ? fs::canonical(path, failure) : fs::path(path);
  const fs::path beside = target.string() + ".part" + std::to_string(getpid());
  if (!written(beside, text)) {
    fs::remove(beside, failure);
    refuse(path);
  }
  fs::rename(beside, target, failure);
  if (!failure) return;
  const std::string why = failure.message();
  fs::remove(beside, failure);
  throw InputError({Diagnostic{{path}, {}, "cannot be written: " + why}});
}

}  // namespace stepcast::cli
