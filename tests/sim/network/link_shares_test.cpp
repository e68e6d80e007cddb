#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sim/network/link_classes.hpp"

namespace stepcast {
namespace {

std::uint32_t shares_of(const LinkClasses& links, std::uint32_t flow) {
  const auto path = links.path(flow);
  return path.empty() ? 0 : path.front().count;
}

TEST(LinkShares, AreWholeWhereWeightsHaveACommonPart) {
  LinkClasses links(2);
  links.add(12e9, {{0, 1.5}, {1, 1.0}, {0, 1.5}}, true);
  links.finish();
  EXPECT_EQ(shares_of(links, 0), 6U);
  EXPECT_EQ(shares_of(links, 1), 2U);
  EXPECT_DOUBLE_EQ(links.bandwidths().front(), 24e9);
  EXPECT_DOUBLE_EQ(links.seconds_per_byte(0), 3 / 12e9);
}

// Two instances are one flow in a folded run and two flows in an unfolded one: the link is as full.
TEST(LinkShares, OfInstancesAddUpWhereWeightsHaveNoCommonPart) {
  const double a = std::numbers::pi, b = std::numbers::sqrt2, c = std::numbers::e / 7;
  LinkClasses folded(2), separate(4);
  folded.add(10e9, {{0, a}, {0, b}, {1, c}, {1, c}}, true);
  separate.add(10e9, {{0, a}, {1, b}, {2, c}, {3, c}}, true);
  folded.finish();
  separate.finish();
  EXPECT_EQ(folded.bandwidths(), separate.bandwidths());
  EXPECT_EQ(shares_of(folded, 0), shares_of(separate, 0) + shares_of(separate, 1));
  EXPECT_EQ(shares_of(folded, 1), shares_of(separate, 2) + shares_of(separate, 3));
  EXPECT_EQ(shares_of(separate, 0), 1024U);
  EXPECT_EQ(shares_of(separate, 1), static_cast<std::uint32_t>(std::round(1024 * b / a)));
}

// Whether shares are whole is asked of instances: two flows of 600 are one of 1200 when folded.
TEST(LinkShares, AreWholeFoldedWhereTheyAreWholeSeparately) {
  LinkClasses folded(2), separate(3);
  folded.add(10e9, {{0, 600.0}, {0, 600.0}, {1, 1.0}}, true);
  separate.add(10e9, {{0, 600.0}, {1, 600.0}, {2, 1.0}}, true);
  EXPECT_FALSE(folded.rounded());
  EXPECT_FALSE(separate.rounded());
  EXPECT_EQ(folded.bandwidths(), separate.bandwidths());
  EXPECT_EQ(shares_of(folded, 0), 1200U);
}

// Weights are quotients: what all of them are multiplied with is the load of the link alone.
TEST(LinkShares, DoNotDependOnTheUnitOfTheWeights) {
  const auto counts = [](double unit) {
    LinkClasses links(3);
    links.add(10e9, {{0, unit * std::numbers::pi}, {1, unit * std::numbers::sqrt2}, {2, unit}},
              true);
    links.finish();
    return std::vector{shares_of(links, 0), shares_of(links, 1), shares_of(links, 2)};
  };
  EXPECT_EQ(counts(1), (std::vector<std::uint32_t>{1024, 461, 326}));
  EXPECT_EQ(counts(1.0 / 4096), counts(1));
  EXPECT_EQ(counts(4096), counts(1));
}

/// Whether the shares of two flows on a link are rounded.
bool rounded(double a, double b) {
  LinkClasses links(2);
  links.add(10e9, {{0, a}, {1, b}}, true);
  links.finish();
  return links.rounded();
}

// Up to 1024 shares, whole to a billionth.
TEST(LinkShares, AreRoundedWhereTheyAreTooManyOrNotWhole) {
  EXPECT_FALSE(rounded(1, 1024));
  EXPECT_TRUE(rounded(1, 1025));
  EXPECT_FALSE(rounded(1, 1 + 0.5e-9));
  EXPECT_TRUE(rounded(1, 1 + 1.5e-9));
}

// A flow alone on a link of 10 GB/s meets another on one of 10, or of 5 GB/s for it.
TEST(LinkShares, OfAFlowThatMeetsOthersKnowItsTighterPrivateLink) {
  for (const double shared : {10e9, 20e9}) {
    LinkClasses links(2);
    links.add(shared, {{0, 1.0}, {1, 1.0}}, true);
    links.add(10e9, {{0, 1.0}}, false);
    links.finish();
    EXPECT_EQ(links.path(0).size(), shared > 10e9 ? 2U : 1U) << shared;
    EXPECT_EQ(links.path(1).size(), 1U);
    EXPECT_DOUBLE_EQ(links.seconds_per_byte(0), 1e-10);
    EXPECT_DOUBLE_EQ(links.seconds_per_byte(1), 1 / shared);
  }
  LinkClasses alone(1);
  alone.add(10e9, {{0, 2.0}}, false);
  alone.finish();
  EXPECT_TRUE(alone.path(0).empty());
  EXPECT_TRUE(alone.bandwidths().empty());
}

}  // namespace
}  // namespace stepcast
