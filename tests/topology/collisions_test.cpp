#include "stepcast/topology/collisions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

struct Drawn {
  double mean, error;  ///< standard error of the mean
};

/// The plain reference: many draws.
Drawn drawn_mean(const HashedParts& hashed, int choices) {
  constexpr std::uint64_t seeds = 400;
  double sum = 0, squares = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::int64_t fullest = 0;
    for (std::uint32_t trunk = 0; trunk < hashed.trunks; ++trunk)
      fullest = std::max(fullest, drawn_fullest_uplink(hashed, choices, seed, trunk, 0));
    sum += static_cast<double>(fullest);
    squares += static_cast<double>(fullest * fullest);
  }
  const double mean = sum / seeds;
  return {mean, std::sqrt(std::max(0.0, squares / seeds - mean * mean) / seeds)};
}

TEST(Collisions, OnePartIsAloneAndOneUplinkHoldsAll) {
  for (const int choices : {1, 2}) {
    EXPECT_EQ(fullest_uplink({1, 32, 64}, choices), 1);
    EXPECT_NEAR(fullest_uplink({12, 1, 4}, choices), 12, 1e-9);
    EXPECT_EQ(drawn_fullest_uplink({12, 1, 1}, choices, 7, 3, 0), 12);
  }
}

// Two parts meet with one chance in 32.
TEST(Collisions, TwoPartsMeetWithTheirChance) {
  EXPECT_NEAR(fullest_uplink({2, 32, 1}, 1), 1 + 1 / 32.0, 1e-9);
}

// Simulated with as many senders as uplinks, each cut into 1 or 16 parts.
TEST(Collisions, HashedFlowsAreAsSimulatedElsewhere) {
  EXPECT_NEAR(fullest_uplink({8, 8, 1}, 1), 2.60, 0.01);
  EXPECT_NEAR(fullest_uplink({32, 32, 1}, 1), 3.53, 0.01);
  EXPECT_NEAR(fullest_uplink({128, 128, 1}, 1), 4.37, 0.02);
  EXPECT_NEAR(fullest_uplink({16 * 32, 32, 1}, 1) / 16, 1.55, 0.03);
  EXPECT_NEAR(fullest_uplink({32 * 128, 128, 1}, 1) / 32, 1.49, 0.03);
}

// Four standard errors, and what the closed form may be off where it is not exact.
TEST(Collisions, ClosedFormIsTheMeanOfDraws) {
  for (const int choices : {1, 2})
    for (const std::int64_t parts : {3, 16, 60, 400})
      for (const std::int64_t uplinks : {4, 16, 48})
        for (const std::int64_t trunks : {1, 8}) {
          const HashedParts hashed{parts, uplinks, trunks};
          const Drawn drawn = drawn_mean(hashed, choices);
          const double off = choices == 2 ? 0.07 : parts > 256 ? 0.04 : 0;
          EXPECT_NEAR(fullest_uplink(hashed, choices), drawn.mean,
                      off * drawn.mean + 4 * drawn.error + 1e-9)
              << parts << " parts, " << uplinks << " uplinks, " << trunks << " trunks, " << choices;
        }
}

TEST(Collisions, TwoChoicesAreBetterThanOneAndSettle) {
  for (const std::int64_t parts : {8, 32, 512, 4096}) {
    const HashedParts hashed{parts, 32, 8};
    EXPECT_LE(fullest_uplink(hashed, 2), fullest_uplink(hashed, 1)) << parts;
  }
  const double above = fullest_uplink({16 * 32, 32, 8}, 2) - 16;
  EXPECT_NEAR(fullest_uplink({1000 * 32, 32, 8}, 2) - 1000, above, 1e-9);
  EXPECT_NE(fullest_uplink({15 * 32, 32, 8}, 2) - 15, above);
}

// Beyond sixteen parts per uplink, the surplus over the mean stays, whatever the remainder.
TEST(Collisions, TwoChoicesSettleForAnyNumberOfParts) {
  for (const std::int64_t uplinks : {1, 2, 3, 7, 48})
    for (std::int64_t parts = 15 * uplinks; parts < 18 * uplinks + 2; ++parts) {
      const double fullest = fullest_uplink({parts, uplinks, 4}, 2);
      EXPECT_GE(fullest, static_cast<double>(parts) / static_cast<double>(uplinks));
      if (parts < 16 * uplinks) continue;
      const double later = fullest_uplink({parts + 1000 * uplinks, uplinks, 4}, 2);
      EXPECT_NEAR(later, fullest + 1000, 1e-9) << parts << " on " << uplinks;
    }
}

// Where one of two uplinks has more, the other has as many fewer: n/2 (1 + C(n, n/2) / 2^n).
TEST(Collisions, TwoUplinksAreCountedExactly) {
  for (const double parts : {2.0, 64.0, 256.0}) {
    const double middle =
        std::exp(std::lgamma(parts + 1) - 2 * std::lgamma(parts / 2 + 1) - parts * std::log(2));
    const HashedParts hashed{static_cast<std::int64_t>(parts), 2, 1};
    EXPECT_NEAR(fullest_uplink(hashed, 1), parts / 2 * (1 + middle), 1e-6) << parts;
  }
}

TEST(Collisions, DrawsAreKeyedAndLaterPartsMoveNothing) {
  EXPECT_EQ(drawn_fullest_uplink({64, 16, 1}, 1, 5, 9, 2),
            drawn_fullest_uplink({64, 16, 3}, 1, 5, 9, 2));
  for (std::int64_t parts = 1; parts < 40; ++parts)
    EXPECT_LE(drawn_fullest_uplink({parts, 16, 1}, 1, 5, 9, 2),
              drawn_fullest_uplink({parts + 1, 16, 1}, 1, 5, 9, 2));
}

}  // namespace
}  // namespace stepcast
