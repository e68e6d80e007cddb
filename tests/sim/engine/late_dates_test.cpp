#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <vector>

#include "stepcast/base/errors.hpp"
#include "stepcast/sim/engine/engine.hpp"

// Dates at which the clock is coarser than a flow is long, and dates that are none.
namespace stepcast {
namespace {

/// Starts flows over link 0 at given times.
struct OneLink : EngineClient {
  struct Flow {
    double start, bytes;
  };
  std::vector<Flow> flows;
  std::map<std::uint64_t, double> ends;
  Engine* engine = nullptr;

  void on_event(double, std::uint64_t tag) override {
    engine->start_flow(std::vector<LinkUse>{{0, 1}}, flows[tag].bytes, tag);
  }
  void on_flow_end(double now, std::uint64_t tag) override { ends[tag] = now; }

  void run(double bandwidth, Sharing sharing) {
    Engine made({bandwidth}, sharing);
    engine = &made;
    for (std::size_t i = 0; i < flows.size(); ++i) made.post(flows[i].start, i);
    made.run(*this);
  }
};

/// At 7e7 s a double tells 15 ns apart; the flow that comes second takes 1 ns by itself.
void expect_short_flow_to_end(Sharing sharing) {
  OneLink job;
  job.flows = {{7e7 - 1, 2e9}, {7e7, 1}};
  job.run(1e9, sharing);
  ASSERT_EQ(job.ends.size(), 2U);
  EXPECT_NEAR(job.ends[1], 7e7, 1e-6);
  EXPECT_NEAR(job.ends[0], 7e7 + 1, 1e-6);
}

TEST(LateDates, ShortFlowsEndWhenTheyMeetOthersIncrementally) {
  expect_short_flow_to_end(Sharing::incremental);
}
TEST(LateDates, ShortFlowsEndWhenTheyMeetOthersInSimGrid) {
  expect_short_flow_to_end(Sharing::simgrid);
}

/// What is wrong with the scenario; fails where nothing is.
std::string refusal(OneLink& job, double bandwidth, Sharing sharing) {
  try {
    job.run(bandwidth, sharing);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LateDates, FlowsThatNeverEndAreRefused) {
  for (const Sharing sharing : {Sharing::incremental, Sharing::simgrid}) {
    OneLink job;
    job.flows = {{0, 1e308}, {1, 1e308}};
    EXPECT_THAT(refusal(job, 1e-10, sharing), testing::HasSubstr("goes on beyond"));
  }
}

// Each by itself ends before the largest double, both together do not.
TEST(LateDates, FlowsThatNeverEndTogetherAreRefused) {
  OneLink job;
  job.flows = {{0, 1.5e298}, {1, 1.5e298}};
  EXPECT_THAT(refusal(job, 1e-10, Sharing::incremental), testing::HasSubstr("goes on beyond"));
}

TEST(LateDates, EventsAtNoDateAreRefused) {
  OneLink job;
  job.flows = {{std::numeric_limits<double>::infinity(), 1}};
  EXPECT_THAT(refusal(job, 1, Sharing::automatic), testing::HasSubstr("goes on beyond"));
}

// As far as 10^200 s flows still end, one after the other.
TEST(LateDates, FiniteDatesAreReached) {
  OneLink job;
  job.flows = {{0, 1e200}, {1, 1e200}, {1e150, 1e100}};
  job.run(1, Sharing::incremental);
  EXPECT_EQ(job.ends.size(), 3U);
}

}  // namespace
}  // namespace stepcast
