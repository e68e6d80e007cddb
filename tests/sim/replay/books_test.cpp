#include <gtest/gtest.h>

#include "pipelines.hpp"
#include "stepcast/sim/replay/stall_plan.hpp"

// What a replay counts beside times.
namespace stepcast {
namespace {

NetworkFlow& flow_of(NetworkMap& network, Channel channel, std::size_t rank_class) {
  return network.hops[static_cast<std::size_t>(channel)][rank_class].flow;
}

// Six outputs take their closed form in the replay; six gradients have a link of the engine, on
// which they follow one another.
TEST(Books, FlowsThatMeetNoneAreAloneWhereverTheyMove) {
  const PipelineShape shape{2, 1, 6, 2};
  ParallelPlan plan;
  plan.pp = 2;
  SyntheticSpec synthetic;
  synthetic.chunks = {{Seconds{1}, Seconds{1}, Seconds{1}}};
  synthetic.boundary = Bytes{1e6};
  const std::vector<StageProgram> programs{lower_synthetic(synthetic, plan, Stage{0}),
                                           lower_synthetic(synthetic, plan, Stage{1})};
  NetworkMap network = testing::free_network(2);
  network.bandwidths = {1e9};
  flow_of(network, Channel::output_next, 0) = {.bytes = 1e6, .alone = 1e-3};
  flow_of(network, Channel::gradient_previous, 1) = {.bytes = 1e6, .path = {{0, 1}}};
  const auto orders = stage_orders(pipeline_schedule("1f1b"), shape);
  const Timeline t = replay({.programs = programs,
                             .network = network,
                             .host = HostSpec{},
                             .shape = shape,
                             .orders = orders,
                             .skip_recurring = false});
  EXPECT_EQ(t.lone_flows, 12U);
  EXPECT_EQ(t.flows, 0U);
}

/// One forward of these operators on one rank.
StageProgram forward_of(std::vector<OperatorCost> operators) {
  StageProgram program;
  program.segments.emplace_back(std::move(operators));
  ChunkProgram chunk;
  chunk.first_forward = {Compute{0}};
  program.chunks = {chunk};
  return program;
}

/// Two operators of a second each, the second of which is issued `late` seconds after the end of
/// the first.
RankTimes times_of_late_host(double late) {
  const std::vector<StageProgram> programs{
      forward_of({{.device = 1}, {.main = 1 + late, .device = 1}})};
  const PipelineShape shape{1, 1, 1, 1};
  const NetworkMap network = testing::free_network(1);
  const auto orders = stage_orders(pipeline_schedule("gpipe"), shape);
  return replay({.programs = programs,
                 .network = network,
                 .host = HostSpec{},
                 .shape = shape,
                 .orders = orders})
      .classes.front();
}

// A billionth of the work is rounding, three billionths of a second of two are not.
TEST(Books, AHostIsLateBeyondRounding) {
  EXPECT_EQ(times_of_late_host(1e-9).host_bound_segments, 0);
  const RankTimes late = times_of_late_host(3e-9);
  EXPECT_EQ(late.host_bound_segments, 1);
  EXPECT_EQ(late.segments, 1);
  EXPECT_NEAR(late.host_stall.value(), 3e-9, 1e-15);
  EXPECT_NEAR(late.computing.value(), 2, 1e-15);
}

// Few segments that wait long are bound by the host as well as many that wait.
TEST(Books, TheHostBoundsWhatItMostlyHoldsUp) {
  RankTimes times;
  times.segments = 10;
  times.host_bound_segments = 1;
  times.computing = Seconds{2};
  times.exposed[0] = Seconds{1};
  times.host_stall = Seconds{3};
  EXPECT_FALSE(times.bound_by_host());
  times.host_stall = Seconds{3.5};
  EXPECT_TRUE(times.bound_by_host());
  times.host_stall = Seconds{0};
  times.host_bound_segments = 6;
  EXPECT_TRUE(times.bound_by_host());
}

// Twice 1.5 s on a device of half the speed, which halves again at second 3: 3 s, then 6 s.
TEST(Books, ADeviceThatSlowsDownTakesLongerForWhatIsLeft) {
  const std::vector<StageProgram> programs{forward_of({{.device = 1.5}, {.device = 1.5}})};
  StallPlan stalls;
  stalls.ranks = 1;
  stalls.speed = {{.device = 2}};
  stalls.profiles = {{.changes = {{0, 1}, {3, 2}}}};
  const PipelineShape shape{1, 1, 1, 1};
  const NetworkMap network = testing::free_network(1);
  const auto orders = stage_orders(pipeline_schedule("gpipe"), shape);
  const Timeline t = replay({.programs = programs,
                             .network = network,
                             .host = HostSpec{},
                             .shape = shape,
                             .orders = orders,
                             .stalls = &stalls});
  EXPECT_NEAR(t.step_time.value(), 9, 1e-12);
  EXPECT_NEAR(t.classes.front().computing.value(), 9, 1e-12);
}

}  // namespace
}  // namespace stepcast
