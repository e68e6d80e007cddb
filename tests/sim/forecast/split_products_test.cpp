#include <gtest/gtest.h>

#include "sim/in_child.hpp"
#include "sim/small_scenario.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "temporary_files.hpp"

/// What products in pieces cost and hide in one layer (communication.tensor.overlap).
namespace stepcast {
namespace {

using stepcast::testing::in_child;
using Overrides = std::vector<std::string>;

struct Split {
  double cost, hidden, gain, launches, issue;
  bool said;
};

Split split_of(const Overrides& overrides) {
  const std::vector<double> f = in_child([&] {
    const test::TemporaryFiles files;
    const Forecast step =
        forecast(prepare_scenario(files.write("small.yaml", test::small_scenario), overrides, {}));
    const SplitProducts p = step.products.value_or(SplitProducts{});
    return std::vector<double>{p.split.cost.value(),   p.split.hidden.value(),
                               p.split.gain().value(), static_cast<double>(p.launches),
                               p.issue.value(),        step.products ? 1.0 : 0.0};
  });
  return {f.at(0), f.at(1), f.at(2), f.at(3), f.at(4), f.at(5) > 0};
}

TEST(SplitProducts, IsSaidOfPiecesAlone) {
  EXPECT_FALSE(split_of({}).said);
  EXPECT_TRUE(split_of({"communication.tensor.overlap=chunks(2)"}).said);
}

// Each product in pieces, and each exchange beside it, is launched as often as there are pieces.
TEST(SplitProducts, LaunchesGrowWithEachPiece) {
  const Split two = split_of({"communication.tensor.overlap=chunks(2)"});
  const Split five = split_of({"communication.tensor.overlap=chunks(5)"});
  EXPECT_GT(two.launches, 0);
  EXPECT_DOUBLE_EQ(five.launches, 4 * two.launches);
  EXPECT_NEAR(five.issue, 4 * two.issue, 1e-12);
  EXPECT_GT(five.cost, two.cost);
  EXPECT_NEAR(five.gain, five.hidden - five.cost, 1e-15);
}

// A library's loop launches pieces and exchanges: none of them is a statement of its own.
TEST(SplitProducts, AreLaunchedInOneCall) {
  const auto split = [](const char* pieces) {
    return split_of({pieces, "cluster.host.library_launch=1us", "runtime.dispatch=eager"});
  };
  const Split two = split("communication.tensor.overlap=chunks(2)");
  const Split five = split("communication.tensor.overlap=chunks(5)");
  EXPECT_NEAR(five.issue - two.issue, (five.launches - two.launches) * 1e-6, 1e-12);
}

// A host that costs nothing takes no time for launches and changes nothing of the device.
TEST(SplitProducts, TheHostStandsApart) {
  const char* const pieces = "communication.tensor.overlap=chunks(4)";
  const Split free =
      split_of({pieces, "cluster.host.dispatch.matmul=0s", "cluster.host.dispatch.vector=0s",
                "cluster.host.dispatch.communication=0s"});
  const Split split = split_of({pieces});
  EXPECT_EQ(free.issue, 0);
  EXPECT_GT(split.issue, 0);
  EXPECT_NEAR(free.cost, split.cost, 1e-12);
}

TEST(SplitProducts, LoseWhereThereIsLittleToHideAndWinWhereThereIsMuch) {
  const std::string fast = "cluster.node.fabric.link.bandwidth=28000GB/s";
  const std::string slow = "cluster.node.fabric.link.bandwidth=7GB/s";
  EXPECT_LT(split_of({"communication.tensor.overlap=chunks(8)", fast}).gain, 0);
  EXPECT_GT(
      split_of({"communication.tensor.overlap=chunks(2)", slow, "training.sequence=16384"}).gain,
      0);
}

}  // namespace
}  // namespace stepcast
