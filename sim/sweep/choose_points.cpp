#include <algorithm>
#include <array>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/sweep/sweep_run.hpp"

namespace stepcast {
namespace {

/// `path OP value`
struct Filter {
  std::string path, relation, value;
};

[[noreturn]] void refuse(const std::string& text, const std::string& message) {
  refuse_input({}, "--filter", "'" + text + "' " + message);
}

Filter parse(const std::string& text, const std::vector<PointValue>& values) {
  // Signs of two characters first: `<=4` must not be `<` and the value `=4`.
  constexpr std::array<std::string_view, 6> relations{"!=", "<=", ">=", "=", "<", ">"};
  const std::size_t at = text.find_first_of("!<>=");
  if (at == std::string::npos || at == 0)
    refuse(text, "compares nothing, allowed: path.to.key=value, also != < <= > >=");
  const auto relation = std::ranges::find_if(
      relations, [&](std::string_view r) { return text.compare(at, r.size(), r) == 0; });
  if (relation == relations.end())
    refuse(text, "compares with no known sign, allowed: = != < <= > >=");
  const auto trimmed = [](const std::string& part) {
    const std::size_t first = part.find_first_not_of(' ');
    if (first == std::string::npos) return std::string{};
    return part.substr(first, part.find_last_not_of(' ') + 1 - first);
  };
  Filter filter{trimmed(text.substr(0, at)), std::string(*relation),
                trimmed(text.substr(at + relation->size()))};
  std::vector<std::string> paths;
  for (const PointValue& v : values) paths.push_back(v.path);
  if (std::ranges::find(paths, filter.path) == paths.end())
    refuse(text, "names no key that varies, allowed: " + joined(paths));
  const bool ordered = filter.relation.find_first_of("<>") != std::string::npos;
  if (ordered && !parse_count(filter.value) && !parse_number(filter.value))
    refuse(text, "orders by a value that is no number, allowed: = and != for words");
  return filter;
}

/// Counts first, because `4Ki` is no plain number.
std::optional<double> number(const std::string& text) {
  const auto count = parse_count(text);
  return count ? count : parse_number(text);
}

bool holds(const Filter& filter, const std::string& text) {
  const auto left = number(text), right = number(filter.value);
  // As numbers where both are some: `4Ki` is 4096, and 0.10 is 0.1.
  const bool equal = left && right ? *left == *right : text == filter.value;
  if (filter.relation == "=") return equal;
  if (filter.relation == "!=") return !equal;
  // `auto` or `none` of a key that else is a number is neither less nor more.
  if (!left || !right) return false;
  const bool less = *left < *right;
  if (filter.relation == "<") return less;
  if (filter.relation == "<=") return less || equal;
  if (filter.relation == ">") return !less && !equal;
  return !less;
}

}  // namespace

std::vector<std::size_t> choose_points(const Sweep& sweep, const PointChoice& choice) {
  std::vector<Filter> filters;
  for (const std::string& text : choice.filters)
    filters.push_back(parse(text, point_values(sweep, 0)));
  const auto taken = [&](std::size_t point) {
    const std::vector<PointValue> values = point_values(sweep, point);
    return std::ranges::all_of(filters, [&](const Filter& filter) {
      return holds(filter, std::ranges::find(values, filter.path, &PointValue::path)->text);
    });
  };
  std::vector<std::size_t> points;
  const std::size_t count = point_count(sweep);
  // Neighbours cost alike: each shard takes every n-th point, so that all take equally long.
  for (std::size_t point = choice.shard; point < count; point += choice.shards) {
    if (choice.limit && points.size() >= *choice.limit) break;
    if (taken(point)) points.push_back(point);
  }
  return points;
}

}  // namespace stepcast
