#include "read_factors.hpp"

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

constexpr double least_factor = 1e-3, most_factor = 1e3;

void read_factor_lines(std::string_view text, const std::string& file, const std::string& key,
                       std::vector<double>& factors, Reading& reading) {
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view word = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (word.empty() || word.front() == '#') continue;
    const auto factor = parse_number(word);
    if (factor && *factor >= least_factor && *factor <= most_factor) {
      factors.push_back(*factor);
    } else {
      reading.report(
          {file, line, 1}, key,
          "is '" + std::string(word) + "', allowed: one factor on time per line, 0.001 to 1000");
    }
  }
}

void read_factor_file(const Node& root, const SearchPath& search, const std::string& key,
                      SpreadSpec::Distribution& part, Reading& reading) {
  const Place place = place_of(root, key);
  const bool in_file = !place.file.starts_with("--set ");
  const auto directory =
      in_file ? std::filesystem::path(place.file).parent_path() : std::filesystem::path{};
  const auto fail = [&](const std::string& message) {
    reading.failed.insert(key);
    reading.report(place, key, message);
  };
  const auto file = find_file(part.file, directory, search);
  if (!file)
    return fail("names '" + part.file +
                "', which does not exist, allowed: the path of a file with one factor per line");
  const std::size_t before = reading.diagnostics.size();
  try {
    read_factor_lines(read_document_text(file->string(), search), file->string(), key, part.factors,
                      reading);
  } catch (const InputError& error) {
    reading.failed.insert(key);
    for (const Diagnostic& d : error.diagnostics()) reading.diagnostics.push_back(d);
    return;
  }
  if (reading.diagnostics.size() > before) {
    reading.failed.insert(key);
  } else if (part.factors.empty()) {
    fail("names '" + part.file + "', which holds no factor, allowed: one per line");
  }
}

}  // namespace

void read_factors(const Node& root, const SearchPath& search, SpreadSpec& spread,
                  Reading& reading) {
  for (const auto& [name, part] : distributions(spread)) {
    const std::string key = "stalls.spread." + name + ".file";
    const bool named = part->law == SpreadSpec::Distribution::Law::empirical;
    if (named && !part->file.empty() && !reading.failed.contains(key))
      read_factor_file(root, search, key, *part, reading);
  }
}

}  // namespace stepcast
