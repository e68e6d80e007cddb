#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include "command_line.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast::cli {
namespace {

namespace fs = std::filesystem;

enum class Takes { file, file_or_stdout, store };

struct OutputOption {
  std::string_view name;
  Takes takes;
};

/// Every option of any command that names a place to write; no command uses one of these names for
/// anything else.
constexpr std::array<OutputOption, 15> outputs{{{"--json", Takes::file_or_stdout},
                                                {"--csv", Takes::file_or_stdout},
                                                {"--svg", Takes::file_or_stdout},
                                                {"--dot", Takes::file_or_stdout},
                                                {"--junit", Takes::file_or_stdout},
                                                {"--markdown", Takes::file_or_stdout},
                                                {"--operators-csv", Takes::file_or_stdout},
                                                {"--output", Takes::file_or_stdout},
                                                {"--trace", Takes::file},
                                                {"--graph", Takes::file},
                                                {"--step-trace", Takes::file},
                                                {"--kernel-details", Takes::file},
                                                {"--report", Takes::file},
                                                {"--write", Takes::file},
                                                {"--store", Takes::store}}};

std::string reason() { return std::string(": ") + std::strerror(errno); }

/// A superuser may write a file that nobody may: who made it read-only meant it.
bool read_only(const fs::file_status& status) {
  constexpr auto any = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  return (status.permissions() & any) == fs::perms::none;
}

/// Why the folder takes no new file; empty where it does.
std::string wrong_folder(const fs::path& folder) {
  std::error_code failure;
  if (!fs::is_directory(folder, failure))
    return "cannot be written, give a file in a folder that exists and is writable";
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return "cannot be written, give a file in a folder that is writable" + reason();
  return {};
}

/// What texts are called by their endings.
struct Ending {
  std::string_view option;
  std::vector<std::string_view> endings;
};
const std::vector<Ending>& known_endings() {
  // An option whose file has another ending was probably meant for another option.
  static const std::vector<Ending> all{{"--json", {".json"}},
                                       {"--csv", {".csv"}},
                                       {"--svg", {".svg"}},
                                       {"--dot", {".dot", ".gv"}},
                                       {"--junit", {".xml"}},
                                       {"--markdown", {".md", ".markdown"}},
                                       {"--operators-csv", {".csv"}},
                                       {"--trace", {".json", ".json.gz", ".gz"}},
                                       {"--step-trace", {".csv"}},
                                       {"--kernel-details", {".csv"}},
                                       {"--report", {".html", ".htm"}},
                                       {"--store", {".sqlite", ".sqlite3", ".db"}},
                                       {"--output", {".yaml", ".yml"}}};
  return all;
}

/// Why the ending of the path says another kind of text than the option writes; empty where it does
/// not. An ending that is no kind of text says nothing.
std::string wrong_ending(std::string_view option, const std::string& path) {
  const auto own = std::ranges::find(known_endings(), option, &Ending::option);
  if (own == known_endings().end()) return {};
  const auto ends = [&](const Ending& kind) {
    return std::ranges::any_of(kind.endings,
                               [&](std::string_view ending) { return path.ends_with(ending); });
  };
  constexpr std::array<std::string_view, 9> never{".yaml", ".yml", ".pdf",  ".png", ".jpg",
                                                  ".jpeg", ".gif", ".xlsx", ".docx"};
  const bool foreign =
      std::ranges::any_of(never, [&](std::string_view ending) { return path.ends_with(ending); });
  if (ends(*own) || (!foreign && std::ranges::none_of(known_endings(), ends))) return {};
  return "is '" + path + "', but writes " + std::string(own->endings.front()) +
         ", allowed: that ending, or none";
}

/// Why nothing can be written there; empty where it can.
std::string wrong_place(const std::string& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (fs::is_symlink(fs::symlink_status(path, failure)) && !fs::exists(status))
    return "is a link to " + fs::read_symlink(path, failure).string() +
           ", which does not exist, give a file";
  if (fs::is_directory(status)) return "is a directory, give a file";
  if (fs::is_socket(status) || fs::is_block_file(status)) return "is no file, give a file";
  if (fs::exists(status) && !fs::is_regular_file(status)) return {};  // a device or a pipe
  if (fs::exists(status) && (read_only(status) || access(path.c_str(), W_OK) != 0))
    return "is read-only, give a file that is writable";
  const fs::path target = fs::exists(status) ? fs::canonical(path, failure) : fs::path(path);
  const fs::path folder = target.parent_path();
  return wrong_folder(folder.empty() ? fs::path(".") : folder);
}

/// What two paths to one file have in common; empty for devices, which take several texts.
std::string identity(const std::string& path) {
  std::error_code failure;
  if (fs::is_other(fs::status(path, failure))) return {};
  const fs::path real = fs::weakly_canonical(fs::absolute(path, failure), failure);
  return failure ? path : real.string();
}

}  // namespace

void check_outputs(OutputForm form, std::vector<std::pair<std::string, std::string>> given) {
  // Of two for one place the other is named: every command has --json.
  std::stable_partition(given.begin(), given.end(),
                        [](const auto& one) { return one.first == "--json"; });
  std::vector<Diagnostic> wrong;
  std::map<std::string, std::string> owners;  // of each place
  for (const auto& [option, path] : given) {
    const auto* known = std::ranges::find(outputs, option, &OutputOption::name);
    if (known == outputs.end()) continue;
    const bool dash = path == "-";
    if (!dash && is_confined()) {
      wrong.push_back({{}, option, "names a file, and none is written here, allowed: no files"});
      continue;
    }
    if (dash && known->takes != Takes::file_or_stdout) {
      wrong.push_back({{}, option, "is -, allowed: the path of a file"});
      continue;
    }
    const std::string place = dash ? path : identity(path);
    const auto [owner, fresh] = owners.try_emplace(place, option);
    if (!fresh && !place.empty())
      wrong.push_back({{},
                       option,
                       "and " + owner->second + " are both " + path + ", allowed: one of them" +
                           (dash ? "" : " there")});
    const bool any_ending = dash || (form == OutputForm::any && option == "--output");
    if (const std::string why = any_ending ? "" : wrong_ending(option, path); !why.empty()) {
      wrong.push_back({{}, option, why});
      continue;
    }
    if (dash || known->takes == Takes::store) continue;  // a store says itself what is wrong
    if (const std::string why = wrong_place(path); !why.empty()) wrong.push_back({{path}, {}, why});
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

}  // namespace stepcast::cli
