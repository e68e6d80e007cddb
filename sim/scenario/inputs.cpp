#include "stepcast/sim/scenario/inputs.hpp"

#include <filesystem>
#include <map>

#include "stepcast/base/canonical.hpp"
#include "stepcast/base/node_at.hpp"

namespace stepcast {
namespace {

constexpr std::size_t longest_value = 200, hash_digits = 16;

/// Names places alike on every machine: no folder above the one that a file is in.
class PlaceNames {
 public:
  explicit PlaceNames(const Node& root) : scenario_{root.place.file} {}

  std::string of(const Place& place) {
    if (place.file.starts_with("--set")) return "--set";
    // Neighbours mostly stand in one file.
    if (last_ == nullptr || last_->first != place.file) {
      const auto [entry, fresh] = short_.try_emplace(place.file);
      if (fresh) entry->second = shortened(place.file);
      last_ = &*entry;
    }
    return last_->second + ":" + std::to_string(place.line);
  }

 private:
  std::string shortened(const std::string& file) const {
    namespace fs = std::filesystem;
    if (file == "-") return file;
    const fs::path whole = fs::absolute(file).lexically_normal();
    const fs::path name = whole.filename();
    return file == scenario_ ? name.string() : (whole.parent_path().filename() / name).string();
  }

  std::string scenario_;
  std::map<std::string, std::string> short_;
  const std::pair<const std::string, std::string>* last_ = nullptr;
};

std::string source_of(const Node& root, const std::string& path, PlaceNames& names) {
  const Node* node = node_at(root, path);
  // Keys that a config gave stand nowhere in the file: the place is that of its name.
  if (node == nullptr && path.starts_with("model.")) node = node_at(root, "model.hf_config");
  if (node == nullptr || node->kind == Node::Kind::null) return {};
  std::string text = names.of(node->place);
  if (node->kind != Node::Kind::mapping) return text;
  // Of `{value, source, note}` the value's own place counts, and what is said of its source.
  if (const Node* value = node->find("value")) text = names.of(value->place);
  if (const Node* source = node->find("source")) text += " " + source->text;
  return text;
}

std::string bounded(std::string value) {
  if (value.size() <= longest_value) return value;
  return std::to_string(value.size()) + " characters, sha256 " +
         sha256(value).substr(0, hash_digits);
}

}  // namespace

std::vector<Input> inputs_of(const Scenario& scenario) {
  static const Node nowhere{.kind = Node::Kind::mapping};
  const Node& root = scenario.document ? *scenario.document : nowhere;
  PlaceNames names{root};
  std::vector<Input> inputs;
  // The content is what was hashed, a key per line, with defaults and values of presets: inputs are
  // read off it, so that a report shows exactly what a hash is of.
  std::string_view rest = scenario.content;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t equals = std::min(line.find('='), line.size());
    std::string path{line.substr(0, equals)};
    std::string source = source_of(root, path, names);
    std::string value{line.substr(std::min(equals + 1, line.size()))};
    inputs.push_back({std::move(path), bounded(std::move(value)), std::move(source)});
  }
  return inputs;
}

}  // namespace stepcast
