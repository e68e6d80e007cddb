#include "number_file.hpp"

#include "read_draft.hpp"
#include "reading_files.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// How many were taken.
int read_lines(std::string_view text, const std::string& file, const NumberFile& numbers,
               Reading& reading) {
  int taken = 0;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view word = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (word.empty() || word.front() == '#') continue;
    if (numbers.take(word)) {
      ++taken;
    } else {
      reading.report({file, line, 1}, numbers.key,
                     "is '" + shortened(word) + "', allowed: " + numbers.line);
    }
  }
  return taken;
}

}  // namespace

void read_number_file(const Node& root, const SearchPath& search, const NumberFile& numbers,
                      Reading& reading) {
  const Place place = place_of(root, numbers.key);
  const auto fail = [&](const std::string& message) {
    reading.failed.insert(numbers.key);
    reading.report(place, numbers.key, message);
  };
  const auto file = find_file(numbers.path, directory_of(place), search);
  if (!file)
    return fail("names '" + shortened(numbers.path) +
                "', which does not exist, allowed: the path of a file with one " + numbers.one +
                " per line");
  const std::size_t before = reading.diagnostics.size();
  int taken = 0;
  const std::string allowed = "a file with one " + std::string(numbers.one) + " per line";
  try {
    taken = read_lines(read_document_text(file->string(), search, allowed), file->string(), numbers,
                       reading);
  } catch (const InputError& error) {
    reading.failed.insert(numbers.key);
    return append_errors(reading, error);
  }
  if (reading.diagnostics.size() > before) {
    reading.failed.insert(numbers.key);
  } else if (taken == 0) {
    fail("names '" + shortened(numbers.path) + "', which holds no " + numbers.one +
         ", allowed: one per line");
  }
}

}  // namespace stepcast
