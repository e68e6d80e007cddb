#include "sim/replay/orderly.hpp"

#include <gtest/gtest.h>

#include "random_job.hpp"

namespace stepcast {
namespace {

using namespace literals;

/// A call on each of two streams, and one chunk.
StageProgram program_with(Instructions forward) {
  StageProgram program;
  for (const Stream stream : {Stream::tensor, Stream::data})
    program.calls.push_back({"reduce",
                             GroupKind::tensor,
                             {CollectiveKind::all_reduce, Bytes{4}},
                             stream,
                             ExposedKind::tensor,
                             {}});
  program.slots = 2;
  program.chunks.resize(1);
  program.chunks[0].forward = std::move(forward);
  return program;
}

const Communicate tensor{0, 0, true}, data{1, 1, true};

TEST(Orderly, IsWhatTheNextInstructionAwaits) {
  const auto awaited = [](Instructions code) {
    return orderly(program_with(std::move(code))).awaited_at_once;
  };
  EXPECT_EQ(awaited({tensor, Wait{0}, data}), (std::vector<bool>{true, false}));
  EXPECT_EQ(awaited({tensor, data, Wait{0}, Wait{1}}), (std::vector<bool>{false, false}));
  EXPECT_EQ(awaited({tensor, Wait{1}}), (std::vector<bool>{false, true}));
  EXPECT_EQ(awaited({tensor, Wait{0}, tensor}), (std::vector<bool>{false, true}));
}

TEST(Orderly, EveryCodeCounts) {
  StageProgram program = program_with({tensor, Wait{0}});
  const auto tensor_is_awaited = [&]() -> bool { return orderly(program).awaited_at_once[0]; };
  EXPECT_TRUE(tensor_is_awaited());
  ChunkProgram& chunk = program.chunks[0];
  chunk.paired.emplace_back();
  for (Instructions* code :
       {&chunk.first_forward, &chunk.backward, &chunk.last_backward, &chunk.backward_input,
        &chunk.backward_weight, &chunk.last_backward_weight, &chunk.paired[0], &program.epilogue}) {
    *code = {tensor};
    EXPECT_FALSE(tensor_is_awaited());
    *code = {tensor, Wait{0}};
    EXPECT_TRUE(tensor_is_awaited());
  }
  program.prologue = {tensor, Wait{0}};  // beside what else the prologue issues
  EXPECT_FALSE(tensor_is_awaited());
}

TEST(Orderly, KnowsStreamsThatDoNotWaitForTheComputeStream) {
  StageProgram program = program_with({data, Wait{1}});
  EXPECT_TRUE(orderly(program).begin_early.none());
  program.prologue = {Communicate{1, 1, false}};
  EXPECT_TRUE(orderly(program).begin_early.none());
  program.epilogue = {Communicate{1, 1, false}};
  EXPECT_EQ(orderly(program).begin_early, StreamSet{}.set(static_cast<std::size_t>(Stream::data)));
}

/// Gathers that are awaited at once, on links that reductions have at other times but the last.
testing::Job gathers_beside_reductions(Bytes bytes) {
  testing::Job job;
  job.plan.tp = 2;
  job.plan.dp = 4;
  job.shape = {1, 1, 6, 1};
  job.cluster.devices = 8;
  job.cluster.node_devices = 1;
  job.cluster.node_fabric = SwitchFabric{{60_GBps, 1_us}, 1};
  job.cluster.network.nic.link = {23.7_GBps, 1.3_us};
  job.cluster.network.nic.per = NicSpec::Per::device;
  job.cluster.network.kind = NetworkSpec::Kind::single_switch;
  StageProgram program = program_with({Compute{0}, tensor, Wait{0}});
  program.segments = {Segment({OperatorCost{2e-6, 1e-6, 1e-6, 1e-4}})};
  program.calls[0].call = {CollectiveKind::all_gather, bytes};
  program.calls[1].group = GroupKind::dense_data;
  program.calls[1].kind = ExposedKind::data;
  program.calls[1].call.bytes = Bytes{20e6};
  ChunkProgram& chunk = program.chunks[0];
  chunk.first_forward = chunk.forward;
  chunk.backward = {Compute{0}};
  chunk.last_backward = {Compute{0}, data, Compute{0}, tensor, Wait{0}};
  program.epilogue = {Wait{1}, Compute{0}};
  job.programs = {program};
  return job;
}

// One class of ranks knows the ends of its gathers with their starts; ranks apart meet, and leave
// them to the engine.
TEST(Orderly, EndsAreThoseOfTheEngineToTheBit) {
  for (int i = 1; i <= 20; ++i) {  // long ones, so that dates keep their last bits
    const testing::Job job = gathers_beside_reductions(Bytes{i * 1'234'567'891.0});
    const Fabric fabric(job.cluster);
    const Placement placement(job.plan);
    const auto orders = stage_orders(pipeline_schedule("1f1b"), job.shape);
    const auto timed = [&](Fold fold) {
      const NetworkMap network =
          build_network_map({placement, fabric, job.programs, job.algorithms, fold, {}, job.form});
      return replay({.programs = job.programs,
                     .network = network,
                     .host = job.cluster.host,
                     .shape = job.shape,
                     .orders = orders,
                     .sharing = Sharing::incremental});
    };
    const Timeline folded = timed(Fold::automatic), apart = timed(Fold::off);
    EXPECT_EQ(folded.classes.size(), 1U);
    EXPECT_EQ(apart.classes.size(), 8U);
    EXPECT_GT(folded.lone_flows, 0U);
    EXPECT_GT(folded.flows, 0U);
    EXPECT_LT(folded.events, apart.events / 8);
    EXPECT_EQ(folded.step_time, apart.step_time);
  }
}

}  // namespace
}  // namespace stepcast
