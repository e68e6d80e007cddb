#include "sim/replay/recording_size.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_scenarios.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {
namespace {

Unit unit(UnitKind kind, std::uint32_t micro_batch) {
  return {kind, MicroBatch{micro_batch}, Chunk{0}};
}

TEST(RecordingSize, CountsWorkAndWhatIsIssued) {
  StageProgram program;
  program.chunks.resize(1);
  program.chunks[0].forward = {Compute{0}, Communicate{}, Wait{}, Compute{0}};
  program.chunks[0].backward = {Compute{0}, HostSync{}};
  const StageOrder order{unit(UnitKind::forward, 0), unit(UnitKind::forward, 1),
                         unit(UnitKind::backward, 0), unit(UnitKind::backward, 1)};
  EXPECT_EQ(least_entries(program, order), 2 * 3 + 2 * 1);
}

// 8 micro-batches, forward and backward, on 4 stages: 64 entries of work in a step.
TEST(RecordingSize, IsNoMoreThanWhatIsRecorded) {
  const RecordedRun run = record(testing::scenario_of({"ideal-pipeline.yaml", {}}));
  std::size_t entries = 0;
  for (const Recording::RankRecord& rank : run.recording.ranks) entries += rank.entries.size();
  EXPECT_GE(entries, 64U);
}

std::string refusal(const testing::RecordedCase& c) {
  try {
    record(testing::scenario_of(c));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// 4 stages x 10000 micro-batches x 2 units x 1000 steps
TEST(RecordingSize, IsRefusedBeforeItIsSimulated) {
  const std::string text =
      refusal({"ideal-pipeline.yaml", {"training.global_batch=10000", "simulate.steps=1000"}});
  EXPECT_THAT(text, ::testing::HasSubstr("it has 80000000 entries or more, which take"));
  EXPECT_THAT(text, ::testing::HasSubstr("allowed: 16000000 entries"));
}

TEST(RecordingSize, MayBeAsLongAsItIsAllowedToBe) {
  constexpr auto most = static_cast<double>(most_recorded_entries);
  EXPECT_NO_THROW(refuse_long_recording(most));
  EXPECT_THROW(refuse_long_recording(most + 1), InputError);
}

}  // namespace
}  // namespace stepcast
