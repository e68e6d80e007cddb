#include "stepcast/sim/scenario/checks.hpp"

#include <algorithm>
#include <vector>

namespace stepcast {

bool Checks::good(std::initializer_list<std::string_view> paths) const {
  for (std::string_view path : paths) {
    // What is wrong with a mapping is wrong with all that it holds.
    while (!path.empty()) {
      if (reading_.failed.contains(std::string(path))) return false;
      const std::size_t dot = path.rfind('.');
      path = path.substr(0, dot == std::string_view::npos ? 0 : dot);
    }
  }
  return true;
}

bool Checks::good_below(std::string_view path) const {
  const std::string below = std::string(path) + ".";
  return good({path}) && std::ranges::none_of(reading_.failed, [&](const std::string& failed) {
           return failed.starts_with(below);
         });
}

void Checks::fail(const std::string& path, const std::string& message) {
  reading_.failed.insert(path);
  reading_.report(place_of(root_, path), path, message);
}

bool Checks::require(bool holds, const std::string& path, const std::string& message) {
  // One error for a path is enough.
  if (!holds && good({path})) fail(path, message);
  return holds;
}

bool Checks::require_use(bool holds, const std::string& path, const std::string& message) {
  const std::size_t before = reading_.diagnostics.size();
  require(holds, path, message);
  if (reading_.diagnostics.size() > before) reading_.diagnostics.back().idle = true;
  return holds;
}

std::string divisors(std::int64_t n) {
  constexpr std::size_t most = 16;
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d * d != n) high.push_back(n / d);
  }
  // The larger half was found in descending order.
  low.insert(low.end(), high.rbegin(), high.rend());
  std::string list;
  for (std::size_t i = 0; i < std::min(low.size(), most); ++i)
    list += (i > 0 ? ", " : "") + count_text(low[i]);
  return list + (low.size() > most ? ", ..." : "");
}

}  // namespace stepcast
