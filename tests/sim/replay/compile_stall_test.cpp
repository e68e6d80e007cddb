#include <gtest/gtest.h>

#include "pipelines.hpp"

// Kernels that the host makes while the device waits (docs/models/fusion.md).
namespace stepcast {
namespace {

constexpr double ms = 1e-3;

/// The host issues 10 ms of work, compiles for 8 ms for an operator of 1 ms, and issues a reduction
/// of 2 ms, which takes it `issue`; behind that an operator of 1 ms.
RankTimes times_of(double issue, double compile = 8 * ms) {
  std::vector<StageProgram> programs(1);
  StageProgram& program = programs.front();
  program.segments.emplace_back(std::vector<OperatorCost>{
      {.device = 10 * ms}, {.main = compile, .device = ms, .compile = compile}});
  program.segments.emplace_back(std::vector<OperatorCost>{{.main = ms, .device = ms}});
  program.calls.push_back({"reduce",
                           GroupKind::tensor,
                           {CollectiveKind::all_reduce, Bytes{1}},
                           Stream::tensor,
                           ExposedKind::tensor,
                           {.main = issue}});
  program.slots = 1;
  ChunkProgram chunk;
  chunk.first_forward = {Compute{0}, Communicate{0, 0, true}, Wait{0}, Compute{1}};
  program.chunks = {chunk};
  NetworkMap network = testing::free_network(1);
  NetworkCall call;
  call.arrivals = 1;
  call.lone = true;
  call.alone = 2 * ms;
  network.calls = {call};
  network.call_of = {{0}};
  const PipelineShape shape{1, 1, 1, 1};
  const auto orders = stage_orders(pipeline_schedule("gpipe"), shape);
  const Timeline t = replay({.programs = programs,
                             .network = network,
                             .host = HostSpec{},
                             .shape = shape,
                             .orders = orders});
  EXPECT_NEAR(t.classes.front().total().value(), t.step_time.value(), 1e-15);
  return t.classes.front();
}

// The device is done at 11 ms. The reduction is issued at 13 ms, and would be at 5 ms.
TEST(CompileStall, AReductionThatIsIssuedLateForAKernelWaitsForThat) {
  const RankTimes t = times_of(5 * ms);
  EXPECT_NEAR(t.compile_stall.value(), 2 * ms, 1e-15);
  EXPECT_NEAR(t.host_stall.value(), 0, 1e-15);
  EXPECT_NEAR(t.exposed_total().value(), 2 * ms, 1e-15);
}

// Issued at 20 ms, or at 12 ms without the kernel.
TEST(CompileStall, TheHostIsLateBeforeItIsLateForTheKernel) {
  const RankTimes t = times_of(12 * ms);
  EXPECT_NEAR(t.host_stall.value(), ms, 1e-15);
  EXPECT_NEAR(t.compile_stall.value(), 8 * ms, 1e-15);
}

// The device waits for 5 of 15 ms until the operator comes. What is left of them is hidden until
// the reduction, which is issued at 17 ms, 1 ms after the operator ends.
TEST(CompileStall, IsToldInSegmentsAndInWaits) {
  const RankTimes t = times_of(2 * ms, 15 * ms);
  EXPECT_NEAR(t.compile_stall.value(), 5 * ms + ms, 1e-15);
  EXPECT_NEAR(t.host_stall.value(), 0, 1e-15);
  EXPECT_EQ(t.segments, 2);
  EXPECT_EQ(t.host_bound_segments, 1);
}

TEST(CompileStall, NothingCompiledNothingTold) {
  EXPECT_EQ(times_of(20 * ms, 0).compile_stall, Seconds{0});
}

}  // namespace
}  // namespace stepcast
