#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// What this process may read, and what it finds there. Whatever reads, looks for, lists or
/// suggests files of users asks here (`scripts/check_layers`): what may not be read does not exist.
namespace stepcast {

/// From now on this process knows only what lies below these folders, links resolved, and writes no
/// files. It cannot be taken back. For processes that answer strangers.
void read_files_only_from(const std::vector<std::filesystem::path>& folders);

/// Whether only some files may be read.
bool is_confined();

/// Whether a file or folder may be read: all others are answered as if they were not there.
bool may_read(const std::filesystem::path& path);

/// What is there. `failure` says why nothing is known, never of what may not be read.
std::filesystem::file_status status_of(const std::filesystem::path& path, std::error_code& failure);

/// Whether anything is there, a file, a folder; links are followed.
bool is_there(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

/// The bytes of a file; 0 where there is none.
std::uintmax_t size_of(const std::filesystem::path& file);

/// The whole of a file; nothing where there is none or it cannot be opened.
std::optional<std::string> bytes_of(const std::filesystem::path& file);

/// What stands in a folder, in the order of names, links followed; nothing where there is none.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// Files with this ending (`.yaml`) in a folder, in the order of names.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                            const std::string& ending);

/// Files with this ending in a folder and in those below it, links to folders left out, in the
/// order of their paths.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               const std::string& ending);

}  // namespace stepcast
