#include "stepcast/sim/replay/fleet_pace.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numbers>

namespace stepcast {
namespace {

FleetSpec fleet_of(double sigma, double share = 0, double factor = 1) {
  FleetSpec fleet;
  fleet.device_sigma = sigma;
  fleet.slow_nodes = {share, factor};
  return fleet;
}

double expected_slowest(const FleetSpec& fleet, const std::vector<NodeMix>& mixes) {
  return slowest_work(fleet, mixes).mean;
}

/// Nodes of eight equal devices.
std::vector<NodeMix> equal_nodes(double nodes, double work = 1) { return {{{{work, 8}}, nodes}}; }

/// The mean of the largest of n log-normal factors of mean 1, from its density.
double largest_by_density(double sigma, double n) {
  constexpr double widest = 10, width = 1e-3;
  double sum = 0;
  for (double z = -widest; z <= widest; z += width) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
    sum += std::exp(sigma * z - sigma * sigma / 2) * n * density * std::pow(below, n - 1) * width;
  }
  return sum;
}

TEST(FleetPace, OfOneDeviceIsItsMean) {
  EXPECT_NEAR(expected_slowest(fleet_of(0.02), {{{{3, 1}}, 1}}), 3, 3e-9);
  EXPECT_EQ(expected_slowest(fleet_of(0.02), {}), 0);
}

TEST(FleetPace, OfEqualDevicesIsThatOfTheLargestFactor) {
  for (const double sigma : {0.01, 0.05})
    for (const double nodes : {1.0, 16.0, 512.0})
      EXPECT_NEAR(expected_slowest(fleet_of(sigma), equal_nodes(nodes)),
                  largest_by_density(sigma, 8 * nodes), 1e-7)
          << sigma << " " << nodes;
}

// Where devices differ by nothing else, a job is slow as soon as one of its nodes is.
TEST(FleetPace, OfSlowNodesIsTheChanceOfOne) {
  const double share = 0.02;
  for (const double nodes : {1.0, 10.0, 300.0})
    EXPECT_NEAR(expected_slowest(fleet_of(0, share, 1.1), equal_nodes(nodes, 2)),
                2 * (1 + 0.1 * (1 - std::pow(1 - share, nodes))), 1e-12);
}

// Of the two ways to be slow the worse counts, and one device may have both.
TEST(FleetPace, OfThrottledDevicesMultipliesWithTheirNodes) {
  FleetSpec fleet = fleet_of(0, 0.25, 1.1);
  fleet.throttled = {0.125, 1.5};
  const double calm = std::pow(1 - 0.125, 2);  // both devices of the node
  const double expected =
      0.75 * (calm * 1 + (1 - calm) * 1.5) + 0.25 * (calm * 1.1 + (1 - calm) * 1.65);
  EXPECT_NEAR(expected_slowest(fleet, {{{{1, 2}}, 1}}), expected, 1e-12);
}

// A stage that has more to do hides what is slow elsewhere.
TEST(FleetPace, OfUnequalStagesHidesSlowNodesBelowTheLongest) {
  const std::vector<NodeMix> mixes{{{{1, 8}}, 7}, {{{1.06, 8}}, 1}};
  const double share = 0.1, elsewhere = 1 - std::pow(1 - share, 7);
  const double expected = share * 1.166 + (1 - share) * (elsewhere * 1.1 + (1 - elsewhere) * 1.06);
  EXPECT_NEAR(expected_slowest(fleet_of(0, share, 1.1), mixes), expected, 1e-12);
}

// So small a sigma moves the slowest by eight of it at most, and costs no more cells.
TEST(FleetPace, OfDevicesThatAreNearlyAlikeIsThatOfEqualOnes) {
  const auto work = [](double sigma) {
    return slowest_work(fleet_of(sigma, 0.2, 1.1), equal_nodes(64, 1));
  };
  const SlowestWork equal = work(0);
  for (const double sigma : {5e-324, 1e-300, 1e-14, 1e-12, 1e-9, 1e-7, 1e-6}) {
    const SlowestWork near = work(sigma);
    EXPECT_NEAR(near.mean, equal.mean, 10 * sigma + 1e-12) << sigma;
    EXPECT_NEAR(near.low, equal.low, 10 * sigma + 1e-12) << sigma;
    EXPECT_NEAR(near.high, equal.high, 10 * sigma + 1e-12) << sigma;
  }
}

TEST(FleetPace, ScreenedNodesAreNotSlow) {
  FleetSpec fleet = fleet_of(0.01, 0.1, 1.1);
  fleet.screened = true;
  EXPECT_EQ(expected_slowest(fleet, equal_nodes(4)),
            expected_slowest(fleet_of(0.01), equal_nodes(4)));
  EXPECT_FALSE(fleet.flawless());
  fleet.device_sigma = 0;
  EXPECT_TRUE(fleet.flawless());
}

// A maximum of n is below what the n-th root of the share is below, for each.
TEST(FleetPace, OfOneFleetInTenHasItsQuantiles) {
  const double sigma = 0.02, work = 3;
  const SlowestWork largest = slowest_work(fleet_of(sigma), equal_nodes(1, work));
  const auto below = [&](double y) {
    const double z = std::log(y / work) / sigma + sigma / 2;
    return std::pow(std::erfc(-z / std::numbers::sqrt2) / 2, 8);
  };
  constexpr double bend = 0.01;  // of the curve within a cell
  EXPECT_NEAR(below(largest.low), 0.1, bend);
  EXPECT_NEAR(below(largest.high), 0.9, bend);
  const SlowestWork jumps = slowest_work(fleet_of(0, 0.2, 1.1), equal_nodes(1, work));
  EXPECT_NEAR(jumps.low, work, 1e-12);
  EXPECT_NEAR(jumps.high, 1.1 * work, 1e-12);
}

// A plan bounds its points by these before it knows their programs.
TEST(FleetPace, OfFullNodesIsTheLeast) {
  EXPECT_TRUE(rc::check([] {
    FleetSpec fleet = fleet_of(*rc::gen::inRange(0, 50) * 1e-3, *rc::gen::inRange(0, 20) * 1e-2,
                               1 + *rc::gen::inRange(0, 20) * 1e-2);
    fleet.throttled = {*rc::gen::inRange(0, 20) * 1e-2, 1 + *rc::gen::inRange(0, 50) * 1e-2};
    std::vector<NodeMix> mixes;
    std::uint32_t devices = 0;
    for (const std::uint32_t of_node : *rc::gen::nonEmpty(
             rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(1U, 9U)))) {
      mixes.push_back({{{1, of_node}}, 1});
      devices += of_node;
    }
    RC_ASSERT(least_slowest(fleet, devices, 8) <= expected_slowest(fleet, mixes) * (1 + 1e-6));
  }));
}

TEST(FleetPace, IsLeastWhereStagesAreEquallyFull) {
  EXPECT_NEAR(least_pace(1.1, {.stages = 1, .micro_batches = 4}), 1.1, 2e-6);
  EXPECT_NEAR(least_pace(1.1, {.stages = 5, .micro_batches = 4}), 1.05, 2e-6);
  EXPECT_EQ(least_pace(1, {.stages = 5, .micro_batches = 4}), 1);
}

TEST(FleetPace, GrowsWithTheJobAndWithWhatDiffers) {
  EXPECT_TRUE(rc::check([] {
    const auto part = [](int most) { return *rc::gen::inRange(0, most) / 1000.0; };
    FleetSpec fleet = fleet_of(part(50), part(100), 1 + part(300));
    fleet.throttled = {part(10), 1 + part(300)};
    const double nodes = *rc::gen::inRange(1, 1000);
    const auto at = [&](const FleetSpec& of) { return expected_slowest(of, equal_nodes(nodes)); };
    const double slowest = at(fleet);
    const double rounding = 1e-9;
    RC_ASSERT(slowest >= 1 - rounding);
    RC_ASSERT(expected_slowest(fleet, equal_nodes(2 * nodes)) >= slowest - rounding);
    FleetSpec more = fleet;
    more.device_sigma += 0.002;
    RC_ASSERT(at(more) >= slowest - rounding);
    more = fleet;
    more.slow_nodes.share += 0.01;
    RC_ASSERT(at(more) >= slowest - rounding);
    more = fleet;
    more.throttled.factor += 0.1;
    RC_ASSERT(at(more) >= slowest - rounding);
  }));
}

}  // namespace
}  // namespace stepcast
