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
  EXPECT_EQ(shares_of(links, 0), 3U);
  EXPECT_EQ(shares_of(links, 1), 1U);
  EXPECT_DOUBLE_EQ(links.bandwidths().front(), 12e9);
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

}  // namespace
}  // namespace stepcast
