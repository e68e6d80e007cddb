#include "framework_files.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "read_draft.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/node_at.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

constexpr const char* frameworks_folder = "frameworks";

/// Changes with the file.
std::string stamp_of(const std::string& file) {
  std::error_code failure;
  const auto time = fs::last_write_time(file, failure).time_since_epoch().count();
  return std::to_string(time) + " " + std::to_string(fs::file_size(file, failure));
}

/// A framework that was read, with the files of which it is made.
struct KeptFramework {
  Framework framework;
  std::vector<std::pair<std::string, std::string>> stamps;
};

/// Every point of a sweep asks for the same files.
class FrameworkStore {
 public:
  std::optional<Framework> find(const std::string& key) {
    const std::lock_guard lock{mutex_};
    const auto found = kept_.find(key);
    if (found == kept_.end()) return {};
    for (const auto& [file, stamp] : found->second.stamps)
      // A worker lives long; a framework that was edited since is read again.
      if (stamp_of(file) != stamp) return {};
    return found->second.framework;
  }
  void keep(const std::string& key, const Framework& framework,
            const std::vector<std::string>& files) {
    KeptFramework kept{framework, {}};
    for (const std::string& file : files) kept.stamps.emplace_back(file, stamp_of(file));
    const std::lock_guard lock{mutex_};
    kept_.insert_or_assign(key, std::move(kept));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, KeptFramework> kept_;
};

/// Reads what stands in files alone, once.
std::optional<Framework> kept_framework(const std::string& name, const Place& place,
                                        const std::string& path, const SearchPath& search,
                                        Reading& reading) {
  static auto& store = *new FrameworkStore;  // the end of a process need not take it apart
  std::error_code failure;
  // Requests of one process may come from several folders.
  std::string key =
      name + "\n" + fs::current_path(failure).string() + "\n" + directory_of(place).string();
  for (const fs::path& directory : search.directories) key += "\n" + directory.string();
  if (auto known = store.find(key)) return known;
  const std::size_t before = reading.diagnostics.size();
  std::vector<std::string> files;
  auto framework = read_named_framework(name, place, path, search, reading, files);
  if (framework && reading.diagnostics.size() == before) store.keep(key, *framework, files);
  return framework;
}

/// `0.10` is `0` and `10`: numbers by their value, words by their letters.
std::vector<std::pair<double, std::string>> parts_of(const std::string& version) {
  std::vector<std::pair<double, std::string>> parts;
  std::string part;
  const auto end_part = [&] {
    if (part.empty()) return;
    const auto number = parse_number(part);
    // Words count less than any number: rc1 comes before the release.
    parts.emplace_back(number.value_or(-1), number ? "" : part);
    part.clear();
  };
  for (const char c : version) {
    if (c == '.' || c == '-' || c == '_') {
      end_part();
    } else {
      part += c;
    }
  }
  end_part();
  parts.emplace_back(-0.5, "");  // 1.0.rc1 is before 1.0, and 1.0.0 behind it
  return parts;
}

bool has_version(const Framework& framework, const std::string& version) {
  return !is_earlier(version, framework.from) &&
         (framework.before.empty() || is_earlier(version, framework.before));
}

bool overlap(const Framework& a, const Framework& b) {
  const Framework& later = is_earlier(a.from, b.from) ? b : a;
  const Framework& first = is_earlier(a.from, b.from) ? a : b;
  return first.before.empty() || is_earlier(later.from, first.before);
}

/// Files of a folder, in order.
std::vector<fs::path> yaml_files(const fs::path& folder) { return files_in(folder, ".yaml"); }

/// The words of one file that say what it is for; nothing where it does not say.
std::optional<Framework> heading_of(const fs::path& file) {
  try {
    // Rules are most of a file, and stand behind these words.
    const std::string text = read_document_text(file.string(), {});
    // A heading is read of every file of the folder, to find the version that is asked for.
    const std::size_t rules = std::min(text.find("\n  rules:"), text.find("\n  recipes:"));
    const std::string heading_text = text.substr(0, std::min(rules, text.size())) + "\n";
    Node root = load_document_text(heading_text, file.string(), {});
    if (node_at(root, "framework.versions.from") == nullptr ||
        node_at(root, "framework.name") == nullptr)
      root = load_document(file.string(), {});
    const Node* name = node_at(root, "framework.name");
    const Node* from = node_at(root, "framework.versions.from");
    const Node* before = node_at(root, "framework.versions.before");
    if (name == nullptr || from == nullptr) return {};
    Framework heading;
    heading.id = file.stem().string();
    heading.name = name->text;
    heading.from = from->text;
    if (before != nullptr) heading.before = before->text;
    return heading;
  } catch (const InputError&) {
    return {};  // whoever asks for that file is told
  }
}

}  // namespace

bool is_earlier(const std::string& a, const std::string& b) { return parts_of(a) < parts_of(b); }

std::optional<fs::path> framework_file(const std::string& name, const fs::path& directory,
                                       const SearchPath& search) {
  // Whatever looks like a path is one; other words are names of the folder.
  if (name.find('/') != std::string::npos || name.ends_with(".yaml"))
    return find_file(name, directory, search);
  const std::string file = name + ".yaml";
  if (auto found = find_file(fs::path(frameworks_folder) / file, {}, search)) return found;
  return directory.filename() == frameworks_folder ? find_file(file, directory, {}) : std::nullopt;
}

std::string real_path(const fs::path& path) {
  std::error_code failure;
  const fs::path real = fs::weakly_canonical(path, failure);
  return failure ? path.string() : real.string();
}

std::vector<std::string> framework_names(const SearchPath& search) {
  std::set<std::string> names;
  for (const fs::path& directory : search.directories)
    for (const fs::path& file : yaml_files(directory / frameworks_folder))
      names.insert(file.stem().string());
  return {names.begin(), names.end()};
}

std::optional<std::string> framework_for(const std::string& name, const std::string& version,
                                         const SearchPath& search) {
  std::optional<Framework> newest;
  for (const fs::path& directory : search.directories)
    for (const fs::path& file : yaml_files(directory / frameworks_folder)) {
      auto heading = heading_of(file);
      if (!heading || heading->name != name) continue;
      if (!version.empty() && has_version(*heading, version)) return heading->id;
      // Without a version the newest is meant.
      if (version.empty() && (!newest || is_earlier(newest->from, heading->from)))
        newest = std::move(heading);
    }
  if (!newest) return {};
  return newest->id;
}

Framework read_framework(const std::string& path, const SearchPath& search) {
  Reading reading;
  std::vector<std::string> files;
  const std::string file = find_file(path, {}, search).value_or(path).string();
  // Reads the text before the framework, so that a wrong path is one error and not one per rule.
  const std::string text = read_document_text(path, search);  // says what is wrong with the path
  auto framework =
      read_named_framework(fs::absolute(file).string(), {file}, {}, search, reading, files);
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  expects(framework.has_value(), "a framework without errors is there");
  return std::move(*framework);
}

void check_framework_file(const std::string& path, const SearchPath& search) {
  const Framework framework = read_framework(path, search);
  for (const fs::path& file : yaml_files(fs::path(framework.file).parent_path())) {
    const auto other = heading_of(file);
    if (!other || other->id == framework.id || other->name != framework.name) continue;
    // A version must lead to one file: import picks it by the version that a script says.
    if (!overlap(framework, *other)) continue;
    const Node root = load_document(path, search);
    refuse_input(place_of(root, "framework.versions"), "framework.versions",
                 "overlap those of " + file.filename().string() + " (" + other->from +
                     (other->before.empty() ? " on" : " to before " + other->before) +
                     "), allowed: versions that no other file of the framework is for");
  }
}

std::optional<Framework> framework_of(const Node& root, const SearchPath& search,
                                      Reading& reading) {
  const Node* named = root.find("framework");
  if (named != nullptr && named->kind == Node::Kind::mapping) {
    const Node* extends = named->find("extends");
    const Node* recipe = named->find("recipe");
    const bool plain = recipe != nullptr && recipe->is_word("none");  // as imports write it
    // A mapping that adds no rules is the file itself, which is kept from earlier questions.
    const bool alone = named->entries.size() == (plain ? 2U : 1U) && extends != nullptr &&
                       extends->kind == Node::Kind::scalar;
    auto framework =
        alone ? kept_framework(extends->text, extends->place, "framework", search, reading)
              : read_written_framework(*named, search, reading);
    if (framework) framework->place = named->place;
    if (framework && alone && plain) framework->recipe = "none";
    return framework;
  }
  if (named != nullptr && named->kind == Node::Kind::scalar && !named->text.empty()) {
    if (named->text == "none") return {};
    auto framework = kept_framework(named->text, named->place, "framework", search, reading);
    if (framework) framework->place = named->place;
    return framework;
  }
  if (named != nullptr) {
    reading.failed.insert("framework");
    reading.report(named->place, "framework",
                   std::string(named->kind == Node::Kind::list ? "is a list" : "names nothing") +
                       ", allowed: a name that stepcast list frameworks shows, a path, a mapping "
                       "with extends, none");
    return {};
  }
  const Node* usual = node_at(root, "cluster.device.framework");
  if (usual == nullptr || usual->kind != Node::Kind::scalar || usual->text == "none") return {};
  // Given times launch nothing that a framework could change.
  if (root.find("workload") != nullptr) return {};
  auto framework =
      kept_framework(usual->text, usual->place, "cluster.device.framework", search, reading);
  if (!framework) return {};
  framework->place = usual->place;
  // Nobody asked for this framework: its rules give way where they do not fit.
  framework->assumed = true;
  return framework;
}

}  // namespace stepcast
