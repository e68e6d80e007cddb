#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/step_alone.hpp"

namespace stepcast {
namespace {

Scenario long_sequence(const std::vector<std::string>& overrides) {
  return prepare_scenario(
      std::string(STEPCAST_SOURCE_DIR) + "/scenarios/what-if/telechat3-36b-seqpipe-balanced.yaml",
      overrides, default_search_path({}));
}

Seconds alone(const Scenario& scenario) {
  CollectiveTimes times(scenario.cluster, scenario.workload.communication.algorithms);
  return step_alone(scenario, times);
}

// Later tokens see more of the sequence, so that equal times mean fewer of them.
TEST(BalancedSlices, OfALongSequenceGetShorterAndTheStepWithThem) {
  const Scenario balanced = long_sequence({});
  const std::vector<std::int64_t>& tokens = balanced.workload.plan.slice_tokens;
  const std::int64_t sequence = balanced.workload.training.sequence;
  ASSERT_EQ(tokens.size(), 4U);
  EXPECT_EQ(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}), sequence);
  EXPECT_TRUE(std::ranges::is_sorted(tokens, std::ranges::greater_equal{}));
  EXPECT_GT(tokens.front(), sequence / 4);
  for (const std::int64_t n : tokens) EXPECT_EQ(n % (sequence / 64), 0) << n;
  EXPECT_LT(alone(balanced), alone(long_sequence({"schedule.slices=4"})));
}

TEST(BalancedSlices, AreNeverSlowerThanEqualOnes) {
  for (const char* sequence : {"4096", "8192", "32768"}) {
    const auto with = [&](const char* slices) {
      return alone(long_sequence({std::string("training.sequence=") + sequence,
                                  std::string("schedule.slices=") + slices}));
    };
    EXPECT_LE(with("balanced(2)"), with("2")) << sequence;
  }
}

// Without sequence parallelism every token may begin a slice; with it, slices are whole shares of
// the tensor ranks.
TEST(BalancedSlices, AreFoundWithAndWithoutSequenceParallelism) {
  for (const char* parallel : {"true", "false"}) {
    const Scenario s = long_sequence({std::string("parallel.sequence_parallel=") + parallel});
    const std::vector<std::int64_t>& tokens = s.workload.plan.slice_tokens;
    EXPECT_EQ(tokens.size(), 4U) << parallel;
    EXPECT_EQ(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}),
              s.workload.training.sequence)
        << parallel;
  }
}

// Few micro-batches: the longest slice weighs by how long the pipeline fills.
TEST(BalancedSlices, OfTwoAreTheBestOfAllPairsOnTheGrid) {
  const std::vector<std::string> few = {"training.global_batch=32", "schedule.slices=balanced(2)"};
  const Scenario balanced = long_sequence(few);
  const std::int64_t sequence = balanced.workload.training.sequence;
  const Seconds found = alone(balanced);
  for (std::int64_t step = 16; step <= 48; ++step) {
    const std::int64_t first = sequence / 64 * step;
    const std::string pair =
        "[" + std::to_string(first) + ", " + std::to_string(sequence - first) + "]";
    EXPECT_LE(found, alone(long_sequence({few[0], "schedule.slices=" + pair}))) << pair;
  }
}

}  // namespace
}  // namespace stepcast
