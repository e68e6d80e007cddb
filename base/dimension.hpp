#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "stepcast/base/text.hpp"

namespace stepcast {

/// How numbers of one dimension are written.
template <class Quantity>
struct Dimension;

template <>
struct Dimension<Seconds> {
  static constexpr std::string_view name = "time";
  static constexpr std::string_view what = "a time such as 1.5us or 12.3s", unit = "s";
  static constexpr std::string_view pattern = "(ns|us|ms|s|min|h|d)";
  static std::optional<Seconds> parse(std::string_view text) { return parse_seconds(text); }
};
template <>
struct Dimension<Bytes> {
  static constexpr std::string_view name = "size";
  static constexpr std::string_view what = "a size such as 64GiB or 200MB", unit = "B";
  static constexpr std::string_view pattern = "([kKMGTPE]|[KMGTPE]i)?[Bb]";
  static std::optional<Bytes> parse(std::string_view text) { return parse_bytes(text); }
};
template <>
struct Dimension<BytesPerSecond> {
  static constexpr std::string_view name = "bandwidth";
  static constexpr std::string_view what = "a bandwidth such as 400Gbps or 28GB/s", unit = "B/s";
  static constexpr std::string_view pattern = "([kKMGTPE]|[KMGTPE]i)?(B/s|b/s|bps)";
  static std::optional<BytesPerSecond> parse(std::string_view text) {
    return parse_bandwidth(text);
  }
};
template <>
struct Dimension<FlopsPerSecond> {
  static constexpr std::string_view name = "compute_rate";
  static constexpr std::string_view what = "a compute rate such as 376TFLOPS", unit = "FLOPS";
  static constexpr std::string_view pattern = "([kKMGTPE]|[KMGTPE]i)?(FLOPS|FLOP/s)";
  static std::optional<FlopsPerSecond> parse(std::string_view text) {
    return parse_flops_rate(text);
  }
};

/// "at least 1us", "more than 0B/s", "1 to 16"; empty when every number is allowed.
std::string range_text(const Range& range, std::string_view unit);

}  // namespace stepcast
