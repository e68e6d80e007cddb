#include "stepcast/base/confined_files.hpp"

#include <algorithm>
#include <fstream>

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// Nothing: every file may be read.
std::optional<std::vector<fs::path>>& allowed() {
  static std::optional<std::vector<fs::path>> folders;
  return folders;
}

}  // namespace

void read_files_only_from(const std::vector<fs::path>& folders) {
  std::vector<fs::path> real;
  for (const fs::path& folder : folders) {
    std::error_code failure;
    const fs::path path = fs::canonical(folder, failure);
    // A folder that is not there allows nothing.
    if (!failure) real.push_back(path);
  }
  allowed() = std::move(real);
}

bool is_confined() { return allowed().has_value(); }

bool may_read(const fs::path& path) {
  if (!allowed()) return true;
  std::error_code failure;
  // The real path, so that a link inside an allowed folder cannot lead out of it.
  const fs::path real = fs::canonical(path, failure);
  if (failure) return false;
  const fs::file_status status = fs::status(real, failure);
  // Devices and pipes could block or never end.
  if (!fs::is_regular_file(status) && !fs::is_directory(status)) return false;
  return std::ranges::any_of(*allowed(), [&](const fs::path& folder) {
    // Component by component: /presets-of-others does not lie in /presets.
    return std::ranges::mismatch(folder, real).in1 == folder.end();
  });
}

fs::file_status status_of(const fs::path& path, std::error_code& failure) {
  failure.clear();
  if (!may_read(path)) return fs::file_status{fs::file_type::not_found};
  return fs::status(path, failure);
}

bool is_there(const fs::path& path) {
  std::error_code failure;
  return fs::exists(status_of(path, failure));
}

bool is_file(const fs::path& path) {
  std::error_code failure;
  return fs::is_regular_file(status_of(path, failure));
}

bool is_folder(const fs::path& path) {
  std::error_code failure;
  return fs::is_directory(status_of(path, failure));
}

std::uintmax_t size_of(const fs::path& file) {
  std::error_code failure;
  const std::uintmax_t size = is_file(file) ? fs::file_size(file, failure) : 0;
  return failure ? 0 : size;
}

std::optional<std::string> bytes_of(const fs::path& file) {
  if (!is_file(file)) return {};
  std::ifstream stream{file, std::ios::binary};
  // A directory opens as a stream on some systems and fails only when it is read.
  if (!stream) return {};
  std::string text, block(1U << 16U, '\0');
  while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) ||
         stream.gcount() > 0)
    text.append(block, 0, static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) return {};
  return text;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  const fs::path place = folder.empty() ? "." : folder;
  if (!is_folder(place)) return entries;
  std::error_code failure;
  for (fs::directory_iterator entry(place, failure), end; !failure && entry != end;
       entry.increment(failure))
    if (may_read(entry->path())) entries.push_back(entry->path());
  // Folders have no order, and results may not depend on one.
  std::ranges::sort(entries);
  return entries;
}

std::vector<fs::path> files_in(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> files = entries_of(folder);
  std::erase_if(files, [&](const fs::path& file) { return file.extension() != ending; });
  return files;
}

std::vector<fs::path> files_below(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> files;
  std::error_code failure;
  if (!is_folder(folder)) return files;
  for (fs::recursive_directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure))
    if (entry->path().extension() == ending && is_file(entry->path()))
      files.push_back(entry->path());
  std::ranges::sort(files);
  return files;
}

}  // namespace stepcast
