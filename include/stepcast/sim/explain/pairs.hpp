#pragma once
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/document.hpp"

/// What published pairs of runs that differ in one thing say of a forecast difference. The pairs
/// and their sources: docs/pairs.md.
namespace stepcast {

/// Two published runs, by the time per token and device of the second over that of the first.
struct PublishedPair {
  std::string kind;  ///< what differs, a name of kind_of_change()
  double published = 1, forecast = 1;
  bool right() const { return (published < 1) == (forecast < 1); }
};

/// The shipped pairs, `validation/pairs.csv` on the search path; none where it is not there. Throws
/// InputError where it is no table of pairs.
std::vector<PublishedPair> read_pairs(const SearchPath& search);

/// `plan`, `recomputation`, `hardware` ... where all keys belong to one kind; empty for several.
std::string kind_of_change(const std::vector<std::string>& paths);

/// How often forecasts of a difference of some size had the right sign.
struct PairCount {
  std::string kind;          ///< empty: of all kinds, because few are of its own
  double low = 0, high = 0;  ///< of the size of the difference; high: infinity for the last
  std::size_t right = 0, total = 0;
  /// Less than four of five: a difference of this size decides nothing.
  bool too_close() const { return 5 * right < 4 * total; }
};
/// Of pairs like a difference of `ratio` (1.03: 3 % slower); nothing without a difference or pairs.
std::optional<PairCount> pairs_like(const std::vector<PublishedPair>& pairs,
                                    const std::string& kind, double ratio);

/// "Of 12 published pairs like it (recomputation, forecast to differ by 2 to 5 %) 7 had the right
/// sign: too close to call"; empty without pairs.
std::string pairs_sentence(const std::vector<PublishedPair>& pairs, const std::string& kind,
                           double ratio);

}  // namespace stepcast
