#include "stepcast/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace stepcast {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 14> prefixes{{{"", 1},
                                         {"k", 1e3},
                                         {"K", 1e3},
                                         {"M", 1e6},
                                         {"G", 1e9},
                                         {"T", 1e12},
                                         {"P", 1e15},
                                         {"E", 1e18},
                                         {"Ki", 0x1p10},
                                         {"Mi", 0x1p20},
                                         {"Gi", 0x1p30},
                                         {"Ti", 0x1p40},
                                         {"Pi", 0x1p50},
                                         {"Ei", 0x1p60}}};

struct Split {
  double number;
  std::string_view rest;
};

/// The longest decimal number that `text` begins with, and what follows it.
std::optional<Split> split_number(std::string_view text) {
  const std::size_t digit = text.starts_with('-') ? 1 : 0;
  if (digit >= text.size()) return {};
  const char first = text[digit];
  if (first != '.' && (first < '0' || first > '9')) return {};  // from_chars knows inf and nan
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return {};
  return Split{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

std::optional<double> prefix_factor(std::string_view prefix) {
  const auto* found = std::ranges::find(prefixes, prefix, &Unit::name);
  if (found == prefixes.end()) return {};
  return found->factor;
}

/// A number, at most one blank, a prefix and one of `units`; in the base unit.
std::optional<double> parse_prefixed(std::string_view text, std::span<const Unit> units) {
  const auto split = split_number(text);
  if (!split) return {};
  std::string_view unit = split->rest;
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  // From the end: what stands before the unit has to be a prefix.
  for (const Unit& u : units) {
    if (!unit.ends_with(u.name)) continue;
    const auto factor = prefix_factor(unit.substr(0, unit.size() - u.name.size()));
    if (!factor) continue;
    const double value = split->number * *factor * u.factor;
    if (std::isfinite(value)) return value;
  }
  return {};
}

constexpr std::array<Unit, 2> byte_units{{{"B", 1}, {"b", 0.125}}};
constexpr std::array<Unit, 3> bandwidth_units{{{"B/s", 1}, {"b/s", 0.125}, {"bps", 0.125}}};
constexpr std::array<Unit, 2> flops_units{{{"FLOPS", 1}, {"FLOP/s", 1}}};
constexpr std::array<Unit, 7> time_units{
    {{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};

/// Three significant digits, never an exponent for numbers below 1000.
std::string three_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  const bool huge = size >= 1e5;  // beyond the largest unit: 1.60e+293 h
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    huge ? std::chars_format::scientific : std::chars_format::fixed,
                                    huge ? 2 : decimals);
  return {buffer.data(), result.ptr};
}

/// The largest of the units (ascending) that leaves a number of at least one.
std::string scaled(double value, std::span<const Unit> units) {
  const Unit* chosen = &units.front();
  for (const Unit& unit : units) {
    // At three digits the number is shown as one of this unit already.
    if (std::abs(value) >= unit.factor * 0.9995) chosen = &unit;
  }
  // Zero has no size that could choose.
  if (value == 0) chosen = &*std::ranges::find(units, 1.0, &Unit::factor);
  return three_digits(value / chosen->factor) + " " + std::string(chosen->name);
}

/// Optimal string alignment distance: insert, delete, replace, swap neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

std::optional<double> parse_number(std::string_view text) {
  const auto split = split_number(text);
  if (!split || !split->rest.empty()) return {};
  return split->number;
}

std::optional<double> parse_count(std::string_view text) {
  const auto split = split_number(text);
  if (!split) return {};
  const auto factor = prefix_factor(split->rest);
  if (!factor) return {};
  const double value = split->number * *factor;
  if (split->rest == "k" || split->rest == "K") return {};  // see two_counts()
  // Whole numbers that a double holds exactly.
  if (std::abs(value) > 0x1p53 || value != std::floor(value)) return {};
  return value;
}

std::string two_counts(std::string_view text) {
  if (!text.ends_with('k') && !text.ends_with('K')) return {};
  const std::string number(text.substr(0, text.size() - 1));
  const auto thousands = parse_number(number);
  if (!thousands || !parse_count(shortest(1000 * *thousands))) return {};
  return "is '" + std::string(text) +
         "', which some read as thousands and some as 1024s, allowed: " +
         std::to_string(static_cast<std::int64_t>(1000 * *thousands)) + " or " + number + "Ki";
}

std::optional<Seconds> parse_seconds(std::string_view text) {
  const auto split = split_number(text);
  if (!split) return {};
  std::string_view unit = split->rest;
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto* found = std::ranges::find(time_units, unit, &Unit::name);
  if (found == time_units.end()) return {};
  // Parts of a second divide, because 1e9 is exact and 1e-9 is not: 60us reads as the double 60e-6.
  const bool part = found - time_units.begin() < 3;
  const double value = part ? split->number / found->factor : split->number * found->factor;
  if (!std::isfinite(value)) return {};
  return Seconds{value};
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto value = parse_prefixed(text, byte_units);
  if (!value) return {};
  return Bytes{*value};
}

std::optional<BytesPerSecond> parse_bandwidth(std::string_view text) {
  const auto value = parse_prefixed(text, bandwidth_units);
  if (!value) return {};
  return BytesPerSecond{*value};
}

std::optional<FlopsPerSecond> parse_flops_rate(std::string_view text) {
  const auto value = parse_prefixed(text, flops_units);
  if (!value) return {};
  return FlopsPerSecond{*value};
}

std::string shortest(double value) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

std::string human(Seconds value) {
  static constexpr std::array<Unit, 5> units{
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"h", 3600}}};
  return scaled(value.value(), units);
}

std::string human(Bytes value) {
  static constexpr std::array<Unit, 6> units{{{"B", 1},
                                              {"KiB", 0x1p10},
                                              {"MiB", 0x1p20},
                                              {"GiB", 0x1p30},
                                              {"TiB", 0x1p40},
                                              {"PiB", 0x1p50}}};
  return scaled(value.value(), units);
}

std::string human(BytesPerSecond value) {
  static constexpr std::array<Unit, 6> units{
      {{"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}, {"PB/s", 1e15}}};
  return scaled(value.value(), units);
}

std::string human(FlopsPerSecond value) {
  static constexpr std::array<Unit, 6> units{{{"FLOPS", 1},
                                              {"MFLOPS", 1e6},
                                              {"GFLOPS", 1e9},
                                              {"TFLOPS", 1e12},
                                              {"PFLOPS", 1e15},
                                              {"EFLOPS", 1e18}}};
  return scaled(value.value(), units);
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t longest = 64;  // a longer word is no slip of the finger
  if (word.size() > longest) return {};
  std::optional<std::string> best;
  // Up to a third of the word may be wrong, and two letters of a short one.
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(word, candidate);
    if (d < least && d < std::max(word.size(), candidate.size())) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

std::string joined(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string path_below(std::string_view path, std::string_view key) {
  std::string all{path};
  if (!path.empty()) all += '.';
  return all += key;
}

}  // namespace stepcast
