#pragma once
#include <filesystem>
#include <vector>

namespace stepcast {

/// From now on this process reads files of documents only from below these folders, links resolved:
/// others are taken for files that do not exist. It cannot be taken back. For processes that answer
/// strangers.
void read_files_only_from(const std::vector<std::filesystem::path>& folders);

/// Whether a file may be read.
bool may_read(const std::filesystem::path& file);

}  // namespace stepcast
