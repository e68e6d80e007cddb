#include "read_factors.hpp"

#include "number_file.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {
namespace {

constexpr double least_factor = 1e-3, most_factor = 1e3;

void read_factor_file(const Node& root, const SearchPath& search, const std::string& key,
                      SpreadSpec::Distribution& part, Reading& reading) {
  const auto take = [&](std::string_view word) {
    const auto factor = parse_number(word);
    if (!factor || !(*factor >= least_factor && *factor <= most_factor)) return false;
    part.factors.push_back(*factor);
    return true;
  };
  read_number_file(root, search,
                   {key, part.file, "factor", "one factor on time per line, 0.001 to 1000", take},
                   reading);
}

}  // namespace

void read_factors(const Node& root, const SearchPath& search, SpreadSpec& spread,
                  Reading& reading) {
  for (const auto& [name, part] : distributions(spread)) {
    const std::string key = "stalls.spread." + name + ".file";
    // A key that is missing or wrong has its error already.
    const bool named = part->law == SpreadSpec::Distribution::Law::empirical;
    if (named && !part->file.empty() && !reading.failed.contains(key))
      read_factor_file(root, search, key, *part, reading);
  }
}

}  // namespace stepcast
