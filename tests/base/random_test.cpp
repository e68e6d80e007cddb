#include "stepcast/base/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace stepcast {
namespace {

/// What Philox4x32-10 makes of a counter and a key: the known answers of Random123's kat_vectors.
struct Known {
  std::uint64_t seed, index;
  std::uint32_t rank, stream;
  std::uint64_t first, second;  ///< words 0 and 1, words 2 and 3
};
constexpr Known known[] = {
    {0, 0, 0, 0, 0x6627e8d5e169c58d, 0xbc57ac4c9b00dbd8},
    {0xffffffffffffffff, 0xffffffffffffffff, 0xffffffff, 0xffffffff, 0x408f276d41c83b0e,
     0xa20bc7c66d5451fd},
    {0x299f31d0a4093822, 0x85a308d3243f6a88, 0x13198a2e, 0x03707344, 0xd16cfe0994fdcceb,
     0x5001e42024126ea1},
};

double in_unit(std::uint64_t word) { return std::ldexp(static_cast<double>(word >> 11U), -53); }

TEST(Random, UniformNumbersAreTheFirstBitsOfPhilox) {
  for (const Known& k : known)
    EXPECT_EQ(uniform_number(k.seed, k.rank, k.stream, k.index), in_unit(k.first));
}

TEST(Random, NormalNumbersAreTheirBoxMullerTransform) {
  for (const Known& k : known) {
    const double open = in_unit(k.first) + std::ldexp(1, -53);
    EXPECT_EQ(normal_number(k.seed, k.rank, k.stream, k.index),
              std::sqrt(-2 * std::log(open)) * std::cos(2 * std::numbers::pi * in_unit(k.second)));
  }
}

}  // namespace
}  // namespace stepcast
