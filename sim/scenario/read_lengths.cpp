#include "read_lengths.hpp"

#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

constexpr const char* key = "schedule.data.documents.file";
constexpr double longest = 1 << 30;

void read_lines(std::string_view text, const std::string& file, DocumentSpec& documents,
                Reading& reading) {
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view word = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (word.empty() || word.front() == '#') continue;
    const auto length = parse_count(word);
    if (length && *length >= 1 && *length <= longest) {
      documents.lengths.push_back(static_cast<std::int64_t>(*length));
    } else {
      reading.report({file, line, 1}, key,
                     "is '" + std::string(word) +
                         "', allowed: one whole number of tokens per line, 1 to 1073741824");
    }
  }
}

}  // namespace

void read_lengths(const Node& root, const SearchPath& search, DocumentSpec& documents,
                  Reading& reading) {
  const Place place = place_of(root, key);
  const bool in_file = !place.file.starts_with("--set ");
  const auto directory =
      in_file ? std::filesystem::path(place.file).parent_path() : std::filesystem::path{};
  const auto fail = [&](const std::string& message) {
    reading.failed.insert(key);
    reading.report(place, key, message);
  };
  const auto file = find_file(documents.file, directory, search);
  if (!file)
    return fail("names '" + documents.file +
                "', which does not exist, allowed: the path of a file with one length per line");
  const std::size_t before = reading.diagnostics.size();
  try {
    read_lines(read_document_text(file->string(), search), file->string(), documents, reading);
  } catch (const InputError& error) {
    reading.failed.insert(key);
    for (const Diagnostic& d : error.diagnostics()) reading.diagnostics.push_back(d);
    return;
  }
  if (reading.diagnostics.size() > before) {
    reading.failed.insert(key);
  } else if (documents.lengths.empty()) {
    fail("names '" + documents.file + "', which holds no length, allowed: one per line");
  }
}

}  // namespace stepcast
