#include "stepcast/base/document.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>

#include "document_steps.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/presets_called.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view yaml_file = "a YAML file";
/// The key whose mapping keeps its `extends`: rules are replaced key by key, which is no merge.
constexpr std::string_view kept_extends = "framework";

/// `cluster` of `cluster.extends`; empty for other paths.
std::string preset_path(const std::string& path) {
  constexpr std::string_view end = ".extends";
  return path.ends_with(end) ? path.substr(0, path.size() - end.size()) : std::string();
}

/// `framework`, also where a sweep lists several: `sweep.grid.framework.0`.
bool keeps_extends(const std::string& path) {
  for (std::size_t at = path.find(kept_extends); at != std::string::npos;
       at = path.find(kept_extends, at + 1)) {
    const std::size_t end = at + kept_extends.size();
    if ((at == 0 || path[at - 1] == '.') && (end == path.size() || path[end] == '.')) return true;
  }
  return false;
}

/// The words of `kind:` differ: the mapping means another thing, so that the keys of the old kind
/// must go. A number with its origin replaces too: an old note must not stand beside a new value.
/// So does a mapping that still says what it extends, which begins anew.
bool replaces(const Node& base, const Node& over) {
  if (base.kind != Node::Kind::mapping || over.kind != Node::Kind::mapping) return true;
  const Node* before = base.find("kind");
  const Node* after = over.find("kind");
  if (before != nullptr && after != nullptr && before->text != after->text) return true;
  if (over.find("extends") != nullptr) return true;
  return over.find("value") != nullptr && over.find("source") != nullptr;
}

void merge_at(const std::string& path, Node& base, Node over, std::vector<Diagnostic>& wrong) {
  if (over.extended && base.kind == Node::Kind::mapping)
    return swap_preset(base, std::move(over), path, wrong);
  if (replaces(base, over)) {
    base = std::move(over);
    return;
  }
  // Errors of a merged mapping stand where it was written last.
  base.place = over.place;
  // Looked up once: presets have hundreds of keys, and each of them may be given again.
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < base.entries.size(); ++i) index.emplace(base.entries[i].key, i);
  for (Node::Entry& entry : over.entries) {
    note_beside(base, entry.key, entry.place);
    const auto found = index.find(entry.key);
    if (found == index.end()) {
      base.entries.push_back(std::move(entry));
      continue;
    }
    Node::Entry& target = base.entries[found->second];
    target.place = entry.place;
    merge_at(path_below(path, entry.key), target.value, std::move(entry.value), wrong);
  }
}

/// Files that were parsed, by name. A command asks for the kind of a file before it reads it, and
/// points of a sweep extend the same presets.
class ParsedFiles {
 public:
  /// As parse_document; a text with repeated keys is parsed each time.
  Node parse(std::string_view text, const std::string& name, std::vector<Diagnostic>* repeated) {
    {
      const std::lock_guard lock{mutex_};
      const auto found = known_.find(name);
      // By the text, not by a date: a file that changed within one second is read anew.
      if (found != known_.end() && found->second.text == text) return found->second.root;
    }
    std::vector<Diagnostic> twice;
    Node root = parse_document(text, name, &twice);
    if (!twice.empty()) return parse_document(text, name, repeated);
    const std::lock_guard lock{mutex_};
    // A worker answers questions about any number of files; what is kept stays small.
    if ((bytes_ += text.size()) > most_bytes) {
      known_.clear();
      bytes_ = text.size();
    }
    return known_.insert_or_assign(name, Parsed{std::string(text), std::move(root)})
        .first->second.root;
  }

 private:
  struct Parsed {
    std::string text;
    Node root;
  };
  static constexpr std::size_t most_bytes = std::size_t{4} << 20U;

  std::mutex mutex_;
  std::map<std::string, Parsed> known_;
  std::size_t bytes_ = 0;  ///< of texts that were kept since it was empty
};

ParsedFiles& parsed_files() {
  static auto& files = *new ParsedFiles;  // the end of a process need not take it apart
  return files;
}

void throw_all(std::vector<Diagnostic> wrong) {
  if (!wrong.empty()) throw InputError(std::move(wrong));
}

/// Resolves every `extends` of a tree; remembers the files that are being read, to see cycles.
class Loader {
 public:
  /// `repeated` as parse_document has it.
  explicit Loader(const SearchPath& search, std::vector<Diagnostic>* repeated = nullptr)
      : search_{search}, repeated_{repeated} {}

  Node load(const fs::path& path, std::string_view text) {
    open_.push_back(identity(path));
    Node root = parsed_files().parse(text, path.string(), repeated_);
    resolve(root, {}, path.parent_path());
    open_.pop_back();
    if (open_.empty()) throw_all(std::move(wrong_));
    return root;
  }

  /// The value of an override, whose presets stand in the working directory or on the search path.
  void resolve_override(Node& value, const std::string& path) {
    is_override_ = true;
    resolve(value, path, {});
    throw_all(std::move(wrong_));
  }

 private:
  /// `path` is the key path of `node`, `directory` that of the file it stands in.
  void resolve(Node& node, const std::string& path, const fs::path& directory) {
    if (keeps_extends(path)) return;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      resolve(node.items[i], path_below(path, std::to_string(i)), directory);
    }
    for (Node::Entry& entry : node.entries) {
      if (!preset_path(entry.key).empty() && !keeps_extends(entry.key)) name_presets(entry.value);
      resolve(entry.value, path_below(path, entry.key), directory);
    }
    const auto entry = std::ranges::find(node.entries, "extends", &Node::Entry::key);
    if (entry == node.entries.end()) return;
    const Node target = std::move(entry->value);
    // The key has done its work: what follows sees a mapping as if all of it had been written here.
    node.entries.erase(entry);
    auto extended = std::make_shared<Extended>();
    Node base = preset(target, path_below(path, "extends"), directory, *extended);
    for (const Node::Entry& own : node.entries) extended->beside.emplace(own.key, own.place);
    // `--set cluster.device=null` beside another preset takes back what the file said of the old
    // one.
    if (is_override_)
      std::erase_if(node.entries,
                    [](const Node::Entry& own) { return own.value.kind == Node::Kind::null; });
    base.place = node.place;
    std::string text = std::move(node.text);
    merge_at(path, base, std::move(node), wrong_);
    node = std::move(base);
    node.text = std::move(text);
    node.extended = std::move(extended);
  }

  /// Each scalar of `cluster.extends: [a.yaml, b.yaml]` becomes the mapping that it stands for and
  /// keeps its text, by which a point is called.
  static void name_presets(Node& node) {
    for (Node& item : node.items) name_presets(item);
    if (node.kind != Node::Kind::scalar) return;
    Node mapping{.kind = Node::Kind::mapping, .place = node.place, .text = node.text};
    mapping.entries.push_back({"extends", node.place, std::move(node)});
    node = std::move(mapping);
  }

  static std::string identity(const fs::path& path) {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(path, error);
    return error ? path.string() : real.string();
  }

  Node preset(const Node& target, const std::string& path, const fs::path& directory,
              Extended& extended) {
    if (target.kind != Node::Kind::scalar || target.text.empty()) {
      refuse_input(target.place, path, "does not name a file, allowed: the path of one YAML file");
    }
    if (path == "model.extends" && target.text.ends_with(".json"))
      refuse_input(target.place, path,
                   "is " + target.text +
                       ", allowed: a YAML file; a config.json of Hugging Face is " +
                       "model: {hf_config: " + target.text + "}");
    auto file = find_file(target.text, directory, search_);
    if (!file) file = find_file(short_name(path, target.text), directory, search_);
    // The rest of the document can still be judged: an empty mapping stands in, and its keys are
    // not called missing.
    if (!file && repeated_ != nullptr) {
      repeated_->push_back({target.place, path, missing(path, target.text, directory)});
      return {.kind = Node::Kind::mapping, .place = target.place};
    }
    if (!file) refuse_input(target.place, path, missing(path, target.text, directory));
    if (std::ranges::find(open_, identity(*file)) != open_.end()) {
      refuse_input(
          target.place, path,
          "extends " + file->string() + ", which is being read: a cycle, allowed: a tree of files");
    }
    // A few lines can extend each other into billions of nodes.
    if (open_.size() > deepest || ++loaded_ > most_files) {
      refuse_input(target.place, path, "extends too much, allowed: 32 files deep and 1000 in all");
    }
    extended.name = name_elsewhere(*file);
    Node base = load(*file, text_of(*file, target, path));
    if (base.kind != Node::Kind::mapping) {
      refuse_input(base.place, {}, "is extended but holds no mapping, allowed: keys and values");
    }
    return base;
  }

  /// `clusters/dgx-h100.yaml` of `dgx-h100`; empty where presets are of no kind.
  static std::string short_name(const std::string& path, const std::string& name) {
    const std::string all = "." + path + ".";  // `sweep.grid.cluster.extends.0.extends`, too
    if (all.find(".cluster.extends.") != std::string::npos) return "clusters/" + name + ".yaml";
    const bool model = all.find(".model.extends.") != std::string::npos;
    return model ? "models/" + name + ".yaml" : std::string();
  }

  /// The file as any other file can name it: below a folder of the search path, or where it stands.
  std::string name_elsewhere(const fs::path& file) const {
    const fs::path real = identity(file);
    for (const fs::path& d : search_.directories) {
      const fs::path below = real.lexically_relative(identity(d));
      if (!below.empty() && *below.begin() != "..") return below.string();
    }
    return real.string();
  }

  /// The file's text; that it cannot be had is an error of the key that names it.
  static std::string text_of(const fs::path& file, const Node& target, const std::string& path) {
    try {
      return read_file(file, yaml_file);
    } catch (const InputError& error) {
      refuse_input(target.place, path,
                   "names " + file.string() + ", which " + error.diagnostics().front().message);
    }
  }

  /// `H100` of `8xH100` and of `H100x64`.
  static std::string without_count(const std::string& name) {
    constexpr std::string_view digits = "0123456789";
    const std::size_t front = name.find_first_not_of(digits);
    const std::size_t last = name.find_last_not_of(digits);
    if (front != std::string::npos && front > 0 && name[front] == 'x')
      return name.substr(front + 1);
    const bool counted = last != std::string::npos && last + 1 < name.size() && name[last] == 'x';
    return counted ? name.substr(0, last) : name;
  }

  /// Presets that go by a name that is that of no file.
  std::string other_names(const std::string& path, const std::string& name) const {
    const std::string folder = path.substr(0, path.find('.')) + "s";
    std::string hint = file_hint(short_name(path, name), {}, search_);
    if (!hint.empty()) return hint;
    const std::vector<std::string> called = presets_called(name, folder, search_);
    if (called.empty()) return ", see stepcast list " + folder;
    constexpr std::size_t most = 3;
    for (std::size_t i = 0; i < std::min(most, called.size()); ++i)
      hint += (i == 0 ? "; did you mean " : ", ") + called[i];
    return hint + (called.size() > most ? " or others" : "") + "? See stepcast list " + name;
  }

  std::string missing(const std::string& path, const std::string& name,
                      const fs::path& directory) const {
    // `meta-llama/Llama-3-8B` means the preset of its last part.
    const fs::path file{name};
    const bool is_file = file.extension() == ".yaml" || file.extension() == ".yml";
    const std::string short_form =
        is_file ? std::string() : short_name(path, file.filename().string());
    std::string hint = short_form.empty() ? short_form : file_hint(short_form, directory, search_);
    if (hint.empty()) hint = file_hint(name, directory, search_);
    if (hint.empty() && !short_form.empty()) hint = other_names(path, without_count(name));
    const std::string what = "names '" + shortened(name) + "', which does not exist";
    if (is_confined()) return what + hint;  // where presets are is no business of strangers
    std::vector<std::string> places{directory.empty() ? "." : directory.string()};
    for (const fs::path& d : search_.directories) places.push_back(d.string());
    return what + " in " + joined(places) + hint;
  }

  static constexpr std::size_t deepest = 32;
  static constexpr int most_files = 1000;

  const SearchPath& search_;
  std::vector<Diagnostic>* repeated_;
  std::vector<std::string> open_;  ///< being read, to see cycles
  std::vector<Diagnostic> wrong_;
  bool is_override_ = false;  ///< keys that are null beside `extends` are those of the preset
  int loaded_ = 0;
};

void set_places(Node& node, const Place& place) {
  node.place = place;
  for (Node& item : node.items) set_places(item, place);
  for (Node::Entry& entry : node.entries) {
    entry.place = place;
    set_places(entry.value, place);
  }
}

/// The value at `key` of `node`, made if it is not there; list items are named by their index.
Node& descend(Node& node, const std::string& key, const Place& place) {
  const auto index = parse_count(key);
  // An index names an entry that is there; lists do not grow by overrides.
  if (node.kind == Node::Kind::list && index && *index >= 0 &&
      *index < static_cast<double>(node.items.size())) {
    return node.items[static_cast<std::size_t>(*index)];
  }
  // A value in the way gives way: the override says more than it did.
  if (node.kind != Node::Kind::mapping) node = {.kind = Node::Kind::mapping, .place = place};
  note_beside(node, key, place);
  if (Node* found = node.find(key)) return *found;
  node.entries.push_back({key, place, {.place = place}});
  return node.entries.back().value;
}

fs::path document_path(const std::string& path, const SearchPath& search) {
  return path == "-" ? fs::path{path} : find_file(path, {}, search).value_or(path);
}

/// `cluster.extends=X` beside `cluster={extends: Y, ...}`, which says what stays of the old one,
/// too.
bool is_replaced(const std::string& assignment, const std::vector<std::string>& all) {
  const std::size_t at = assignment.find(".extends=");
  if (at == std::string::npos) return false;
  const std::string whole = assignment.substr(0, at) + "={extends: ";
  return std::ranges::any_of(all, [&](const std::string& a) { return a.starts_with(whole); });
}

/// Whether a `--set` puts another preset in a place and says no more: it goes before what changes
/// the preset. One with keys of its own stands where it is written: of two values the later counts.
bool names_preset(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) return false;
  const std::string path = assignment.substr(0, equals);
  if (path == kept_extends || !preset_path(path).empty()) return true;
  try {
    const Node value = parse_document(assignment.substr(equals + 1), {});
    return value.find("extends") != nullptr && value.entries.size() == 1;
  } catch (const InputError&) {
    return false;
  }
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream stream{path};
  for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
  if (path.ends_with('.')) parts.emplace_back();
  return parts;
}

/// What to do with the name of a model or cluster where a file is asked for.
std::string preset_hint(const std::string& name, const SearchPath& search) {
  if (fs::path(name).has_parent_path()) return {};
  const bool model = find_file("models/" + name + ".yaml", {}, search).has_value();
  const bool cluster = find_file("clusters/" + name + ".yaml", {}, search).has_value();
  if (!model && !cluster) return {};
  return std::string(", but a ") + (model ? "model" : "cluster") +
         " has that name: 'stepcast new --model " + (model ? name : "MODEL") + " --cluster " +
         (cluster ? name : "CLUSTER") + " --devices N' writes a scenario with it";
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

Node* Node::find(std::string_view key) {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

std::optional<fs::path> find_file(const fs::path& name, const fs::path& directory,
                                  const SearchPath& search) {
  if (name.empty()) return {};
  const fs::path beside = directory / name;
  // A file beside the one that names it comes first, so that a folder can be moved as a whole.
  if (is_there(beside)) return beside;
  for (const fs::path& d : search.directories) {
    if (is_there(d / name)) return d / name;
  }
  return {};
}

std::string read_document_text(const std::string& path, const SearchPath& search,
                               std::string_view format) {
  if (!path.empty() && path != "-" && !find_file(path, {}, search)) {
    std::string hint = preset_hint(path, search);
    if (hint.empty()) hint = file_hint(path, {}, search);
    if (hint.empty() && path.find('=') != std::string::npos)
      hint = "; did you mean --set " + path + "?";
    if (hint.empty() && format == yaml_file && !is_confined())
      hint = ", allowed: a YAML file, or a shipped one, see stepcast list";
    // Without a hint read_file() says what is allowed.
    if (!hint.empty()) refuse_input({path}, {}, "does not exist" + hint);
  }
  return read_file(document_path(path, search), format);
}

Node load_document_text(std::string_view text, const std::string& path, const SearchPath& search,
                        std::vector<Diagnostic>* repeated) {
  return Loader{search, repeated}.load(document_path(path, search), text);
}

Node load_document(const std::string& path, const SearchPath& search) {
  return load_document_text(read_document_text(path, search), path, search);
}

void merge(Node& base, Node over) {
  std::vector<Diagnostic> wrong;
  merge_at({}, base, std::move(over), wrong);
  throw_all(std::move(wrong));
}

void set_value(Node& root, std::string_view path, Node value) {
  std::string at(path);
  // A word under a key that takes a preset is the file that it extends.
  if (value.extended && !preset_path(at).empty()) at = preset_path(at);
  if (value.extended) value.text.clear();
  Node* target = &root;
  // Mappings on the way are made, as if the document had them.
  for (const std::string& part : split_path(at)) target = &descend(*target, part, value.place);
  std::vector<Diagnostic> wrong;
  merge_at(at, *target, std::move(value), wrong);
  throw_all(std::move(wrong));
}

namespace {

/// `missing`: where a preset that is not there is noted, so that the rest can be judged; null: it
/// is thrown.
void apply_one(Node& root, const std::string& assignment, const SearchPath& search,
               std::vector<Diagnostic>* missing) {
  const Place place{"--set " + assignment};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos)
    refuse_input(place, {}, "has no '=', allowed: --set path.to.key=value");
  const std::vector<std::string> parts = split_path(assignment.substr(0, equals));
  // No description is as deep; a path of a million dots would fill the stack.
  constexpr std::size_t longest = 64;
  if (parts.empty() || parts.size() > longest || std::ranges::count(parts, std::string{}) > 0) {
    refuse_input(place, {}, "has no path of keys before '=', allowed: --set path.to.key=value");
  }
  if (assignment.substr(0, equals).find_first_of(" \t") != std::string::npos)
    refuse_input(place, {}, "has a blank before '=', allowed: --set path.to.key=value");
  const std::string path = assignment.substr(0, equals);
  // `key=*=1.1` multiplies what the key has.
  if (assignment.compare(equals + 1, 2, "*=") == 0)
    return scale_value(root, path, assignment.substr(equals + 3), place);
  const std::string written = assignment.substr(equals + 1);
  // `parallel.tp=4,parallel.pp=2`
  constexpr std::string_view in_keys = "abcdefghijklmnopqrstuvwxyz_.0123456789";
  const std::size_t comma = std::min(written.find(','), written.size());
  const std::size_t second = written.find_first_not_of(in_keys, comma + 1);
  if (second < written.size() && written[second] == '=')
    refuse_input(place, path,
                 "is '" + written + "', allowed: one key, each has a --set of its own");
  Node value;
  try {
    // Values are YAML as in a file, so that lists and mappings can be given, too.
    value = parse_document(written, place.file);
  } catch (const InputError& error) {
    if (written.starts_with("*") && parse_number(written.substr(1)))
      refuse_input(place, path,
                   "is '" + written + "', allowed: a value; '*=" + written.substr(1) +
                       "' multiplies the one there is");
    refuse_input(place, path, error.diagnostics().front().message);
  }
  set_places(value, place);
  if ((path == "cluster" || path == "model") && value.kind == Node::Kind::scalar)
    refuse_input(place, path,
                 "is '" + value.text + "', allowed: a mapping; --" + path + " " + value.text +
                     " takes a preset of that name");
  const std::string preset = preset_path(path);
  if (!preset.empty()) {
    Node mapping{.kind = Node::Kind::mapping, .place = place};
    mapping.entries.push_back({"extends", place, std::move(value)});
    value = std::move(mapping);
  }
  if (path == kept_extends && value.kind == Node::Kind::scalar && !value.is_word("none")) {
    Node mapping{.kind = Node::Kind::mapping, .place = place};
    mapping.entries.push_back({"extends", place, std::move(value)});
    value = std::move(mapping);
  }
  const std::string& at = preset.empty() ? path : preset;
  Loader{search, missing}.resolve_override(value, at);
  set_value(root, at, std::move(value));
}

}  // namespace

void apply_override(Node& root, const std::string& assignment, const SearchPath& search) {
  apply_one(root, assignment, search, nullptr);
}

void apply_overrides(Node& root, const std::vector<std::string>& assignments,
                     const SearchPath& search, std::vector<Diagnostic>& wrong) {
  std::vector<std::string> ordered = assignments;
  std::stable_partition(ordered.begin(), ordered.end(),
                        names_preset);  // clang 14 has no ranged one
  for (const std::string& assignment : ordered) {
    if (is_replaced(assignment, ordered)) continue;
    try {
      apply_one(root, assignment, search, &wrong);
    } catch (const InputError& error) {
      wrong.insert(wrong.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
}

}  // namespace stepcast
