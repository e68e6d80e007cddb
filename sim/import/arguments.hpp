#pragma once
#include <map>
#include <set>

#include "flags.hpp"
#include "launch.hpp"

namespace stepcast::launch {

/// The largest count that has no bound of its own.
inline constexpr std::int64_t most_counted = std::int64_t{1} << 30;

/// Settings by name, the last of each; what is wrong with one is collected with its place.
class Arguments {
 public:
  Arguments(const std::vector<Setting>& settings, std::vector<Diagnostic>& wrong);

  const Setting* find(std::string_view name) const;
  /// The first of several names that is there; of aliases the last in the file would win, and files
  /// give one.
  const Setting* find(std::initializer_list<std::string_view> names) const;
  /// A switch: a bare flag, or `true` in a structured file.
  bool on(std::string_view name) const;
  /// A count from `least` up; another is wrong.
  std::optional<std::int64_t> count(std::string_view name, std::int64_t least = 0);
  /// The same, from 0 or `missing` up.
  std::int64_t count_or(std::string_view name, std::int64_t missing);
  /// A count between `low` and `high`: another is wrong, and stands in for no value.
  std::int64_t count_in(std::string_view name, std::int64_t missing, std::int64_t low,
                        std::int64_t high);
  std::optional<double> number(std::string_view name);
  double rate(std::string_view name);  ///< a number from 0 to 1; 0 where it is wrong or absent
  std::string text(std::string_view name, std::string missing = {});
  std::vector<std::int64_t> counts(std::string_view name);  ///< words, or one word `1,2,3`
  void fail(std::string_view name, const std::string& message);
  void fail(const Setting& setting, const std::string& message);

 private:
  const std::string* word(std::string_view name);

  std::map<std::string, const Setting*, std::less<>> settings_;
  std::set<std::string, std::less<>> failed_;
  std::vector<Diagnostic>& wrong_;
};

}  // namespace stepcast::launch
