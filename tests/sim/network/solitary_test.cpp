#include "stepcast/sim/network/solitary.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

constexpr std::uint32_t world = 1;  // the call; that of a data group is before it

/// A step that ends with a call of the whole world under slot 1.
StageProgram ending_with(Instructions epilogue) {
  StageProgram program;
  for (const GroupKind group : {GroupKind::data, GroupKind::world})
    program.calls.push_back({"reduce",
                             group,
                             {CollectiveKind::all_reduce, Bytes{4}},
                             Stream::data,
                             ExposedKind::data,
                             {}});
  program.slots = 2;
  program.chunks.resize(1);
  program.epilogue = std::move(epilogue);
  return program;
}

const Instructions awaited_at_once{Communicate{world, 1, true}, Wait{1}};

TEST(Solitary, IsWhatIsAwaitedAtOnce) {
  EXPECT_TRUE(runs_alone(ending_with(awaited_at_once), world));
  EXPECT_FALSE(runs_alone(ending_with({}), world));
  EXPECT_FALSE(runs_alone(ending_with({Communicate{world, 1, true}}), world));
  EXPECT_FALSE(runs_alone(ending_with({Communicate{world, 1, true}, Wait{0}}), world));
  EXPECT_FALSE(runs_alone(ending_with({Communicate{world, 1, true}, HostSync{}, Wait{1}}), world));
  EXPECT_FALSE(runs_alone(ending_with({Communicate{0, 1, true}, Wait{1}}), 0));  // no world
}

TEST(Solitary, HasNothingBeforeItInFlight) {
  const Communicate other{0, 0, true};
  StageProgram program = ending_with(awaited_at_once);
  program.chunks[0].last_backward = {other};
  EXPECT_FALSE(runs_alone(program, world));
  program.epilogue.insert(program.epilogue.begin(), Wait{0});
  EXPECT_TRUE(runs_alone(program, world));
  program.epilogue.insert(program.epilogue.begin() + 1, other);
  EXPECT_FALSE(runs_alone(program, world));
  program = ending_with(awaited_at_once);
  program.prologue = {other};
  EXPECT_FALSE(runs_alone(program, world));
  program.chunks[0].first_forward = {Wait{0}};
  EXPECT_TRUE(runs_alone(program, world));
  program.chunks[0].paired.push_back({other});
  EXPECT_FALSE(runs_alone(program, world));
}

TEST(Solitary, EveryCallOfTheWorldOnEveryStageIs) {
  const StageProgram alone = ending_with(awaited_at_once);
  StageProgram beside = ending_with({Communicate{world, 1, true}});
  EXPECT_TRUE(world_runs_alone({alone, alone}));
  EXPECT_FALSE(world_runs_alone({alone, beside}));
  EXPECT_FALSE(world_runs_alone({beside, alone}));
  std::swap(beside.calls[0], beside.calls[1]);  // now call 0 is the world's, and never made
  EXPECT_FALSE(world_runs_alone({beside}));
  beside.calls[0].group = GroupKind::data;
  EXPECT_TRUE(world_runs_alone({beside}));
}

}  // namespace
}  // namespace stepcast
