#include "json_config.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "stepcast/base/confined_files.hpp"

namespace stepcast {
namespace {

/// Products of two such counts are exact in double precision.
constexpr std::int64_t largest = 1 << 24;

std::string read_text(const std::filesystem::path& path) {
  auto text = bytes_of(path);
  if (!text) refuse_input({path.string()}, "", "is not a file that can be read");
  return std::move(*text);
}

/// `byte` counts from 1, as the parser reports it.
Place place_at(const std::string& file, const std::string& text, std::size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(
                                      std::min(text.size(), byte - std::min<std::size_t>(byte, 1)));
  const auto line = std::count(text.begin(), end, '\n');
  const auto start = std::find(std::make_reverse_iterator(end), text.rend(), '\n').base();
  return {file, static_cast<int>(line) + 1, static_cast<int>(end - start) + 1};
}

bool is_count(const nlohmann::json& value, std::int64_t low) {
  if (!value.is_number_integer()) return false;
  // Beyond the range of std::int64_t unsigned numbers would turn negative.
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(largest))
    return false;
  const auto number = value.get<std::int64_t>();
  return number >= low && number <= largest;
}

/// At most 40 characters, to be quoted in an error.
std::string as_written(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() <= 40) return text;
  text.resize(37);
  return text += "...";
}

}  // namespace

struct JsonConfig::Tree {
  nlohmann::json root;
  mutable std::set<std::string, std::less<>> asked;
  std::set<std::string, std::less<>> filled;

  const nlohmann::json* find(Keys keys) const {
    for (const std::string_view key : keys) {
      asked.emplace(key);
      const auto found = root.find(key);
      if (found != root.end() && !found->is_null()) return &*found;
    }
    return nullptr;
  }
};

JsonConfig::JsonConfig(const std::filesystem::path& path) : file_{path.string()} {
  const std::string text = read_text(path);
  try {
    tree_ = std::make_unique<Tree>(Tree{nlohmann::json::parse(text), {}, {}});
  } catch (const nlohmann::json::exception& error) {
    // Other errors than those of syntax, such as too deep nesting, have no place in the text.
    const auto* parse = dynamic_cast<const nlohmann::json::parse_error*>(&error);
    const Place place = parse ? place_at(file_, text, parse->byte) : Place{file_};
    refuse_input(place, "", "is not valid JSON");
  }
  if (!tree_->root.is_object()) refuse_input({file_}, "", "is not a JSON object");
}

JsonConfig::~JsonConfig() = default;

void JsonConfig::enter(const std::string& key, Keys inherited) {
  nlohmann::json inner = tree_->root.at(key);
  // Some files keep what all parts share outside; the inner value wins.
  for (const std::string_view name : inherited)
    if (const auto outer = tree_->root.find(name);
        outer != tree_->root.end() && !inner.contains(name))
      inner[std::string(name)] = *outer;
  tree_->root = std::move(inner);
  inside_ += key + ".";
}

void JsonConfig::fill(std::string_view defaults) {
  if (defaults.empty()) return;
  const nlohmann::json values = nlohmann::json::parse(defaults);
  for (const auto& [key, value] : values.items()) {
    // What the file says wins; what was filled in is remembered, since a message about it would
    // name a key that nobody wrote.
    if (tree_->root.contains(key)) continue;
    tree_->filled.insert(key);
    tree_->root[key] = value;
  }
}

std::vector<std::string> JsonConfig::objects() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : tree_->root.items())
    if (value.is_object()) names.push_back(key);
  return names;
}

bool JsonConfig::said(std::string_view key) const {
  const auto found = tree_->root.find(key);
  return found != tree_->root.end() && !found->is_null() && !tree_->filled.contains(key);
}

bool JsonConfig::asked(std::string_view key) const { return tree_->asked.contains(key); }

bool JsonConfig::has(Keys keys) const { return tree_->find(keys) != nullptr; }

bool JsonConfig::is_list(std::string_view key) const {
  const nlohmann::json* value = tree_->find({key});
  return value != nullptr && value->is_array();
}

bool JsonConfig::is_text(std::string_view key) const {
  const nlohmann::json* value = tree_->find({key});
  return value != nullptr && value->is_string();
}

std::int64_t JsonConfig::count(Keys keys, std::int64_t low) {
  if (has(keys)) return count_or(low, keys, low);
  fail(*keys.begin(), "is missing, it is required");
  return std::max<std::int64_t>(low, 1);
}

std::int64_t JsonConfig::count_or(std::int64_t missing, Keys keys, std::int64_t low) {
  const nlohmann::json* value = tree_->find(keys);
  if (!value) return missing;
  if (is_count(*value, low)) return value->get<std::int64_t>();
  fail(*keys.begin(), "is " + as_written(*value) + ", allowed: a whole number, " +
                          std::to_string(low) + " to " + std::to_string(largest));
  return std::max<std::int64_t>(low, 1);
}

bool JsonConfig::flag_or(bool missing, Keys keys) {
  const nlohmann::json* value = tree_->find(keys);
  if (!value) return missing;
  if (value->is_boolean()) return value->get<bool>();
  fail(*keys.begin(), "is " + as_written(*value) + ", allowed: true, false");
  return missing;
}

std::string JsonConfig::text(Keys keys) {
  if (has(keys)) return text_or("", keys);
  fail(*keys.begin(), "is missing, it is required");
  return "";
}

std::string JsonConfig::text_or(std::string missing, Keys keys) {
  const nlohmann::json* value = tree_->find(keys);
  if (!value) return missing;
  if (value->is_string()) return value->get<std::string>();
  fail(*keys.begin(), "is " + as_written(*value) + ", allowed: a text");
  return missing;
}

std::vector<std::int64_t> JsonConfig::counts(Keys keys) {
  const nlohmann::json* value = tree_->find(keys);
  if (!value) return {};
  std::vector<std::int64_t> numbers;
  const bool fine =
      value->is_array() && std::ranges::all_of(*value, [&](const nlohmann::json& item) {
        if (!is_count(item, 0)) return false;
        numbers.push_back(item.get<std::int64_t>());
        return true;
      });
  if (fine) return numbers;
  fail(*keys.begin(), "is " + as_written(*value) + ", allowed: a list of whole numbers");
  return {};
}

std::vector<std::string> JsonConfig::texts(Keys keys) {
  const nlohmann::json* value = tree_->find(keys);
  if (!value) return {};
  const bool fine =
      value->is_array() &&
      std::ranges::all_of(*value, [](const nlohmann::json& item) { return item.is_string(); });
  if (fine) return value->get<std::vector<std::string>>();
  fail(*keys.begin(), "is " + as_written(*value) + ", allowed: a list of texts");
  return {};
}

void JsonConfig::fail(std::string_view key, std::string message) {
  diagnostics_.push_back({{file_}, std::string{key}, std::move(message)});
}

bool JsonConfig::good(Keys keys) const {
  return std::ranges::none_of(diagnostics_, [&](const Diagnostic& d) {
    return std::ranges::find(keys, d.path) != keys.end();
  });
}

void JsonConfig::finish() const {
  if (diagnostics_.empty()) return;
  std::vector<Diagnostic> all = diagnostics_;
  for (Diagnostic& d : all) d.path.insert(0, inside_);
  throw InputError(all);
}

}  // namespace stepcast
