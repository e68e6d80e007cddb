#pragma once
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

/// Numbers as text: a trace is made of these.
namespace stepcast {

inline constexpr double microseconds = 1e6;
inline constexpr std::size_t fixed_room = 330;  ///< of put_fixed(): DBL_MAX fits

/// The multiple of 1 / `scale` that is nearest to a value, of two the even one, as a library prints
/// it. The product has to be below 2^52.
inline std::uint64_t nearest_part(double value, double scale) {
  // What the product has lost: together they are exact.
  const double product = value * scale, lost = std::fma(value, scale, -product);
  auto whole = static_cast<std::uint64_t>(static_cast<std::int64_t>(product));
  const double beyond =
      (product - static_cast<double>(static_cast<std::int64_t>(whole)) - 0.5) + lost;
  if (beyond > 0 || (beyond == 0 && whole % 2 == 1)) ++whole;
  return whole;
}

namespace digits {

constexpr std::array<char, 200> two_digits() {
  std::array<char, 200> text{};
  for (std::size_t i = 0; i < 100; ++i) {
    text[2 * i] = static_cast<char>('0' + i / 10);
    text[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return text;
}
inline constexpr std::array<char, 200> pairs = two_digits();

/// All of them, zeros in front included.
template <int count>
char* put(char* at, std::uint32_t value) {
  static_assert(count > 0 && count < 10);
  if constexpr (count == 1) {
    *at = static_cast<char>('0' + value);
  } else {
    if constexpr (count > 2) put<count - 2>(at, value / 100);
    std::memcpy(at + (count - 2), &pairs[2 * (value % 100)], 2);
  }
  return at + count;
}

constexpr std::uint32_t power_of_ten(int exponent) {
  return exponent == 0 ? 1 : 10 * power_of_ten(exponent - 1);
}

}  // namespace digits

inline char* put_number(char* at, std::uint32_t value) {
  constexpr std::ptrdiff_t most = 10;
  return std::to_chars(at, at + most, value).ptr;
}

/// Writes a value as `{:.Nf}` prints it, and returns its end.
template <int count>
char* put_fixed(char* at, double value) {
  // Up to here a double holds the parts and their half, and the whole has nine digits.
  constexpr double most = 1e9 - 1;
  static_assert(count > 0 && count <= 6);
  if (!(value >= 0 && value < most))
    return std::to_chars(at, at + fixed_room, value, std::chars_format::fixed, count).ptr;
  constexpr std::uint32_t parts = digits::power_of_ten(count);
  const std::uint64_t whole = nearest_part(value, parts);
  at = put_number(at, static_cast<std::uint32_t>(whole / parts));
  *at++ = '.';
  return digits::put<count>(at, static_cast<std::uint32_t>(whole % parts));
}

/// A time in microseconds with six digits behind the point.
inline char* put_micros(char* at, double seconds) {
  return put_fixed<6>(at, seconds * microseconds);
}

/// Writes a value as `{:.4g}` prints it, and returns its end.
inline char* put_short(char* at, double value) {
  constexpr std::ptrdiff_t room = 32;
  constexpr std::uint32_t parts = digits::power_of_ten(4);
  if (!(value >= 0.1 && value < 1))
    return std::to_chars(at, at + room, value, std::chars_format::general, 4).ptr;
  const auto whole = static_cast<std::uint32_t>(nearest_part(value, parts));
  if (whole == parts) {
    *at = '1';
    return at + 1;
  }
  *at++ = '0';
  *at++ = '.';
  at = digits::put<4>(at, whole);
  while (at[-1] == '0') --at;
  return at;
}

}  // namespace stepcast
