#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/units.hpp"

/// Here numbers and names cross the edge of the program: only this code knows how units are
/// written.
namespace stepcast {

/// Reads a decimal number without unit, `12`, `-0.5`, `1e9`; it is nothing for anything else
/// (also for NaN and infinity).
std::optional<double> parse_number(std::string_view text);
/// Reads a whole number with an optional SI suffix, `4096`, `40Mi`, of at most 2^53.
std::optional<double> parse_count(std::string_view text);
/// How a count ending in k or K is refused, as `4k` is 4000 to some and 4096 to others; else empty.
std::string two_counts(std::string_view text);

/// Read numbers with their unit, and are nothing when the unit is missing or of another
/// dimension. b = bit, B = byte, G = 10^9, Gi = 2^30; times are ns us ms s min h d.
std::optional<Seconds> parse_seconds(std::string_view text);
std::optional<Bytes> parse_bytes(std::string_view text);
std::optional<BytesPerSecond> parse_bandwidth(std::string_view text);
std::optional<FlopsPerSecond> parse_flops_rate(std::string_view text);

/// The shortest text that reads back as the same double; it never depends on the locale.
std::string shortest(double value);
/// A text for people: three significant digits and a fitting prefix, `3.95 s`, `12.1
/// ms`, `64.0 GiB`, `25.0 GB/s`.
std::string human(Seconds value);
std::string human(Bytes value);
std::string human(BytesPerSecond value);
std::string human(FlopsPerSecond value);

/// The text without the blanks, tabs and carriage returns around it.
std::string_view trimmed(std::string_view text);
/// The candidate that is nearest to `word`, within edit distance 2 (or a third of the
/// length).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);
/// Joins words as "a, b, c".
std::string joined(std::span<const std::string> words);
/// The path of a key below another, as errors show it: "parallel.tp", or "tp" below nothing.
std::string path_below(std::string_view path, std::string_view key);

}  // namespace stepcast
