#include "sim/replay/orderly.hpp"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

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

}  // namespace
}  // namespace stepcast
