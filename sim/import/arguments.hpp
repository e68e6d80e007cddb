#pragma once
#include <map>
#include <set>

#include "flags.hpp"
#include "launch.hpp"

namespace stepcast::launch {

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
  std::optional<std::int64_t> count(std::string_view name);
  std::int64_t count_or(std::string_view name, std::int64_t missing);
  std::optional<double> number(std::string_view name);
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
