#include "arguments.hpp"

#include <algorithm>

#include "stepcast/base/text.hpp"

namespace stepcast::launch {
namespace {

constexpr std::int64_t largest_count = std::int64_t{1} << 36;

/// `8`, `8.0`, `1_000`: what frameworks take for a whole number.
std::optional<std::int64_t> whole_of(std::string text) {
  std::erase(text, '_');
  const std::optional<double> value = parse_number(text);
  if (!value || *value < -1e9 || *value > static_cast<double>(largest_count)) return {};
  const auto whole = static_cast<std::int64_t>(*value);
  if (static_cast<double>(whole) != *value) return {};
  return whole;
}

}  // namespace

Arguments::Arguments(const std::vector<Setting>& settings, std::vector<Diagnostic>& wrong)
    : wrong_{wrong} {
  for (const Setting& setting : settings) settings_[setting.name] = &setting;
}

const Setting* Arguments::find(std::string_view name) const {
  const auto found = settings_.find(name);
  return found == settings_.end() ? nullptr : found->second;
}

const Setting* Arguments::find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    if (const Setting* found = find(name)) return found;
  return nullptr;
}

bool Arguments::on(std::string_view name) const {
  const Setting* found = find(name);
  if (found == nullptr) return false;
  if (found->words.empty()) return !found->is_list;
  const std::string& word = found->words.front();
  return word == "true" || word == "True" || word == "1";
}

void Arguments::fail(const Setting& setting, const std::string& message) {
  if (failed_.insert(setting.name).second)
    wrong_.push_back({setting.place, setting.shown(), message});
}

void Arguments::fail(std::string_view name, const std::string& message) {
  if (const Setting* found = find(name)) return fail(*found, message);
  if (failed_.insert(std::string(name)).second) wrong_.push_back({{}, std::string(name), message});
}

const std::string* Arguments::word(std::string_view name) {
  const Setting* found = find(name);
  if (found == nullptr) return nullptr;
  if (found->words.empty() || found->words.front().empty()) {
    fail(*found, "has no value");
    return nullptr;
  }
  // A value that hangs on a command is never guessed; the message says how to give it.
  if (is_unknown(found->words.front())) {
    fail(*found,
         "is what a command prints, or hangs on a name that is not set, and nothing is run; write "
         "the value there");
    return nullptr;
  }
  return &found->words.front();
}

std::optional<std::int64_t> Arguments::count(std::string_view name, std::int64_t least) {
  const std::string* text = word(name);
  if (text == nullptr) return {};
  // argparse takes no `32.0` and no `1e3`; trees do.
  const bool flag = find(name)->shown().starts_with("--");
  const bool digits = text->find_first_of(".eE") == std::string::npos;
  const auto value = flag && !digits ? std::nullopt : whole_of(*text);
  if (value && *value >= least) return value;
  fail(name, "is '" + *text + "', allowed: a whole number, " + std::to_string(least) + " to " +
                 std::to_string(largest_count));
  return {};
}

std::int64_t Arguments::count_or(std::string_view name, std::int64_t missing) {
  return count(name, std::min<std::int64_t>(missing, 0)).value_or(missing);
}

std::int64_t Arguments::count_in(std::string_view name, std::int64_t missing, std::int64_t low,
                                 std::int64_t high) {
  const std::int64_t value = count_or(name, missing);
  if (find(name) == nullptr) return missing;
  if (value >= low && value <= high) return value;
  fail(name, "is " + std::to_string(value) + ", allowed: " + std::to_string(low) + " to " +
                 std::to_string(high));
  return std::clamp(missing, low, high);
}

std::optional<double> Arguments::number(std::string_view name) {
  const std::string* text = word(name);
  if (text == nullptr) return {};
  const auto value = parse_number(*text);
  if (!value) fail(name, "is '" + *text + "', allowed: a number");
  return value;
}

double Arguments::rate(std::string_view name) {
  const double value = number(name).value_or(0);
  if (value >= 0 && value <= 1) return value;
  fail(name, "is " + *word(name) + ", allowed: 0 to 1");
  return 0;
}

std::string Arguments::text(std::string_view name, std::string missing) {
  const std::string* text = word(name);
  if (text == nullptr) return missing;
  return *text;
}

std::vector<std::int64_t> Arguments::counts(std::string_view name) {
  const Setting* found = find(name);
  std::vector<std::int64_t> all;
  if (found == nullptr || word(name) == nullptr) return all;
  // Lists come as several words, as one word with commas, or both.
  for (const std::string& text : found->words) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const auto value =
          whole_of(std::string(trimmed(std::string_view(text).substr(begin, end - begin))));
      if (!value || *value < 0) {
        fail(name, "is '" + text + "', allowed: whole numbers with commas between them");
        return {};
      }
      all.push_back(*value);
      begin = end + 1;
    }
  }
  return all;
}

}  // namespace stepcast::launch
