#include "stepcast/base/random.hpp"

#include <Random123/philox.h>

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

}  // namespace stepcast
