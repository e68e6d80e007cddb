#pragma once
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace stepcast {

inline constexpr double microseconds = 1e6;

/// A time in microseconds with six digits behind the point, as `{:.6f}` prints it: a trace is made
/// of these numbers.
class Micros {
 public:
  explicit Micros(double seconds) {
    const double value = seconds * microseconds;
    char *const begin = text_.data(), *const last = begin + text_.size();
    if (!(value >= 0 && value < most)) {
      end(std::to_chars(begin, last, value, std::chars_format::fixed, digits).ptr);
      return;
    }
    // Millionths, and what the product has lost: together they are exact.
    const double product = value * scale, lost = std::fma(value, scale, -product);
    auto whole = static_cast<std::uint64_t>(product);
    const double beyond = (product - static_cast<double>(whole) - 0.5) + lost;
    if (beyond > 0 || (beyond == 0 && whole % 2 == 1)) ++whole;
    constexpr auto parts = static_cast<std::uint64_t>(scale);
    char* const point = std::to_chars(begin, last, whole / parts).ptr;
    *point = '.';
    std::uint64_t rest = whole % parts;
    for (int digit = digits; digit > 0; --digit, rest /= 10)
      point[digit] = static_cast<char>('0' + rest % 10);
    end(point + 1 + digits);
  }
  std::string_view text() const { return {text_.data(), size_}; }

 private:
  void end(const char* at) { size_ = static_cast<std::size_t>(at - text_.data()); }

  static constexpr int digits = 6;
  static constexpr double scale = 1e6;
  /// Up to here a double holds millionths and their half.
  static constexpr double most = 1e9;
  std::array<char, 330> text_;  // DBL_MAX fits
  std::size_t size_ = 0;
};

}  // namespace stepcast
