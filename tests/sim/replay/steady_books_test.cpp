#include <gtest/gtest.h>

#include "stepcast/sim/replay/replay.hpp"

// What is skipped has begun before: communications on their way, and hosts that are late with them.
namespace stepcast {
namespace {

/// Two ranks whose hosts take 5 ms to issue each reduction of 2 ms; in each pass one is begun that
/// the next pass awaits, so that one is always open.
struct SteadyJob {
  std::vector<StageProgram> programs{1};
  NetworkMap network;
  PipelineShape shape{1, 1, 400, 1};

  explicit SteadyJob(double issue, double compile = 0) {
    StageProgram& program = programs.front();
    program.segments.emplace_back(
        std::vector<OperatorCost>{{.main = 1e-4 + compile, .device = 1e-3, .compile = compile}});
    for (const char* name : {"of a forward", "of a backward"})
      program.calls.push_back({name,
                               GroupKind::tensor,
                               {CollectiveKind::all_reduce, Bytes{1}},
                               Stream::tensor,
                               ExposedKind::tensor,
                               {.main = issue}});
    program.slots = 2;
    ChunkProgram chunk;
    chunk.first_forward = {Communicate{0, 0, true}, Compute{0}};
    chunk.forward = {Communicate{0, 0, true}, Compute{0}, Wait{1}};
    chunk.backward = {Communicate{1, 1, true}, Compute{0}, Wait{0}};
    chunk.last_backward = chunk.backward;
    program.chunks = {chunk};
    program.epilogue = {Wait{1}};

    network.classes = {{Rank{0}, Rank{1}}, {Stage{0}, Stage{0}}, {0, 0}, {1, 1}, {0, 1}};
    NetworkCall call;
    call.arrivals = 2;
    call.lone = true;
    call.alone = 2e-3;
    network.calls = {call, call};
    network.call_of = {{0, 1}, {0, 1}};
    network.hops.fill({NetworkHop{0, {}}, NetworkHop{1, {}}});
  }

  Timeline run(bool skip) const {
    const auto orders = stage_orders(pipeline_schedule("1f1b"), shape);
    HostSpec host;
    host.queue_depth = 8;  // it runs no further ahead, so that a state recurs
    return replay({.programs = programs,
                   .network = network,
                   .host = host,
                   .shape = shape,
                   .orders = orders,
                   .skip_recurring = skip});
  }
};

TEST(SteadyBooks, OpenCommunicationsAndLateHostsAreSkippedToo) {
  for (const double issue : {0.0, 1e-3, 5e-3}) {
    const SteadyJob job(issue);
    const Timeline whole = job.run(false), skipped = job.run(true);
    EXPECT_EQ(whole.skipped_micro_batches, 0U);
    EXPECT_GT(skipped.skipped_micro_batches, 300U) << issue;
    const double most = 1e-9 * whole.step_time.value();
    EXPECT_NEAR(skipped.step_time.value(), whole.step_time.value(), most) << issue;
    for (std::size_t c = 0; c < 2; ++c) {
      const RankTimes &a = skipped.classes[c], &b = whole.classes[c];
      EXPECT_NEAR(a.computing.value(), b.computing.value(), most) << issue;
      EXPECT_NEAR(a.host_stall.value(), b.host_stall.value(), most) << issue;
      EXPECT_NEAR(a.other_idle.value(), b.other_idle.value(), most) << issue;
      EXPECT_NEAR(a.exposed_total().value(), b.exposed_total().value(), most) << issue;
      EXPECT_NEAR(a.communication.value(), b.communication.value(), most) << issue;
    }
  }
}

// Every second of a pass is the same from some pass on, whether the lag grows up to the depth of
// the queue, is taken up by waiting, or shows.
TEST(SteadyBooks, WhatCompilingHoldsUpIsSkippedToo) {
  for (const double compile : {1e-4, 1e-3, 3e-3}) {
    for (const double issue : {0.0, 1e-4, 1e-3, 5e-3}) {
      const SteadyJob job(issue, compile);
      const Timeline whole = job.run(false), skipped = job.run(true);
      EXPECT_GT(skipped.skipped_micro_batches, 300U) << issue << " " << compile;
      const double most = 1e-9 * whole.step_time.value();
      for (std::size_t c = 0; c < 2; ++c) {
        const RankTimes &a = skipped.classes[c], &b = whole.classes[c];
        EXPECT_NEAR(a.host_stall.value(), b.host_stall.value(), most) << issue << " " << compile;
        EXPECT_NEAR(a.compile_stall.value(), b.compile_stall.value(), most)
            << issue << " " << compile;
        EXPECT_LE(b.compile_stall.value(), 800 * compile * (1 + 1e-9));
      }
    }
  }
}

// A pass of a host that takes 5 ms to issue and 0.1 ms for the operator: all 800 of them.
TEST(SteadyBooks, ALateHostSetsThePace) {
  const Timeline t = SteadyJob(5e-3).run(true);
  EXPECT_NEAR(t.step_time.value(), 800 * 5.1e-3, 0.01);
  EXPECT_NEAR(t.classes[0].computing.value(), 0.8, 1e-9);
  EXPECT_NEAR(t.classes[0].communication.value(), 1.6, 1e-9);
  EXPECT_GT(t.classes[0].host_stall.value(), 0.5);
}

}  // namespace
}  // namespace stepcast
