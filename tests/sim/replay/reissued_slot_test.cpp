#include <gtest/gtest.h>

#include "stepcast/sim/replay/replay.hpp"

namespace stepcast {
namespace {

/// Two ranks that reduce under one slot after each backward: 1 s of work, 5 s of reduction that
/// nothing can meet.
struct ReissuedJob {
  std::vector<StageProgram> programs{1};
  NetworkMap network;

  ReissuedJob() {
    StageProgram& program = programs.front();
    program.segments.emplace_back(std::vector<OperatorCost>{{.device = 1}});
    program.calls.push_back({"reduce gradients",
                             GroupKind::dense_data,
                             {CollectiveKind::reduce_scatter, Bytes{1}},
                             Stream::data,
                             ExposedKind::data,
                             {}});
    program.slots = 1;
    ChunkProgram chunk;
    chunk.backward = {Compute{0}, Communicate{0, 0, true}};
    chunk.last_backward = chunk.backward;
    program.chunks = {chunk};
    program.epilogue = {Wait{0}, Compute{0}};

    network.classes = {{Rank{0}, Rank{1}}, {Stage{0}, Stage{0}}, {0, 0}, {1, 1}, {0, 1}};
    NetworkCall call;
    call.arrivals = 2;
    call.lone = true;
    call.alone = 5;
    network.calls = {call};
    network.call_of = {{0}, {0}};
    network.hops.fill({NetworkHop{0, {}}, NetworkHop{1, {}}});
  }
};

// The reductions run from 1, 6, 11 and 16 on; the wait is for the last of them.
TEST(ReissuedSlot, AWaitIsForTheLastIssue) {
  const ReissuedJob job;
  const Timeline t = replay({job.programs,
                             job.network,
                             HostSpec{},
                             {1, 1, 4, 1},
                             stage_orders(pipeline_schedule("gpipe"), {1, 1, 4, 1})});
  EXPECT_NEAR(t.step_time.value(), 22, 1e-12);
  for (const RankTimes& times : t.classes) {
    EXPECT_NEAR(times.computing.value(), 5, 1e-12);
    EXPECT_NEAR(times.exposed_total().value(), 17, 1e-12);
  }
}

}  // namespace
}  // namespace stepcast
