#include "stepcast/base/random.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace stepcast {
namespace {

constexpr int mantissa_bits = 53;

/// Two integers of 53 random bits.
std::array<std::uint64_t, 2> random_bits(std::uint64_t seed, std::uint32_t rank,
                                         std::uint32_t stream, std::uint64_t index) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const r123::Philox4x32::ctr_type counter = {{low(index), low(index >> 32), rank, stream}};
  const r123::Philox4x32::key_type key = {{low(seed), low(seed >> 32)}};
  const auto words = r123::Philox4x32()(counter, key);
  const auto join = [](std::uint64_t high, std::uint64_t rest) {
    return (high << 32 | rest) >> (64 - mantissa_bits);
  };
  return {join(words[0], words[1]), join(words[2], words[3])};
}

/// A product with a power of two is exact.
double unit(std::uint64_t bits) {
  static_assert(mantissa_bits == 53);
  return static_cast<double>(bits) * 0x1p-53;
}

/// The two parts of Box and Muller. The logarithm is of a number in (0, 1], so that it is finite.
double radius(std::uint64_t bits) { return std::sqrt(-2 * std::log(unit(bits + 1))); }
double angle(std::uint64_t bits) { return 2 * std::numbers::pi * unit(bits); }

}  // namespace

double uniform_number(std::uint64_t seed, std::uint32_t rank, std::uint32_t stream,
                      std::uint64_t index) {
  return unit(random_bits(seed, rank, stream, index)[0]);
}

double normal_number(std::uint64_t seed, std::uint32_t rank, std::uint32_t stream,
                     std::uint64_t index) {
  const auto bits = random_bits(seed, rank, stream, index);
  return radius(bits[0]) * std::cos(angle(bits[1]));
}

/// Calls that do not wait for each other overlap in the processor, so that each function has a loop
/// of its own.
void normal_numbers(std::span<const std::uint64_t> seeds, std::uint32_t rank, std::uint32_t stream,
                    std::uint64_t index, std::span<double> numbers) {
  constexpr std::size_t at_once = 8;
  std::array<std::array<std::uint64_t, 2>, at_once> bits;
  std::array<double, at_once> cosines;
  for (std::size_t first = 0; first < seeds.size(); first += at_once) {
    const std::size_t count = std::min(at_once, seeds.size() - first);
    for (std::size_t i = 0; i < count; ++i)
      bits[i] = random_bits(seeds[first + i], rank, stream, index);
    for (std::size_t i = 0; i < count; ++i) cosines[i] = std::cos(angle(bits[i][1]));
    for (std::size_t i = 0; i < count; ++i) numbers[first + i] = radius(bits[i][0]) * cosines[i];
  }
}

}  // namespace stepcast
