#include "read_lengths.hpp"

#include "number_file.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

/// As many tokens as a sequence may have.
constexpr double longest = 1 << 30;

}  // namespace

void read_lengths(const Node& root, const SearchPath& search, DocumentSpec& documents,
                  Reading& reading) {
  const auto take = [&](std::string_view word) {
    const auto length = parse_count(word);
    if (!length || *length < 1 || *length > longest) return false;
    documents.lengths.push_back(static_cast<std::int64_t>(*length));
    return true;
  };
  read_number_file(root, search,
                   {"schedule.data.documents.file", documents.file, "length",
                    "one whole number of tokens per line, 1 to 1073741824", take},
                   reading);
}

}  // namespace stepcast
