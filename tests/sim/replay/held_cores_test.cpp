#include "stepcast/sim/replay/held_cores.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "pipelines.hpp"

// What an exchange takes from what is computed beside it: docs/models/collectives.md.
namespace stepcast::testing {
namespace {

/// When work that is issued at `from` ends on a device of which [start, end) leaves 1 - held.
double plain_end(double from, double work, double held, double start, double end) {
  constexpr double steps = 20000;
  const double slice = work / steps;
  double now = from;
  for (double done = 0; done < steps; ++done)
    now += now >= start && now < end ? slice / (1 - held) : slice;
  return now;
}

TEST(HeldCores, WorkBesideAnExchangeIsSlower) {
  // 4 s of work in an exchange of 8 s that holds a quarter: 5.33 s, inside of it.
  EXPECT_NEAR(taken_by({0.25, 10, 18, 10, 4}, 14), 4 / 0.75 - 4, 1e-12);
  // 8 s of work reach beyond it: 2 s of the work were not done in it.
  EXPECT_NEAR(taken_by({0.25, 10, 18, 10, 8}, 18), 2, 1e-12);
  EXPECT_NEAR(taken_by({0.25, 10, 18, 10, 20}, 30), 2, 1e-12);
}

TEST(HeldCores, NothingIsTakenWhereNothingIsBeside) {
  EXPECT_EQ(taken_by({0, 10, 18, 10, 4}, 14), 0);     // holds nothing
  EXPECT_EQ(taken_by({0.25, 10, 18, 10, 0}, 10), 0);  // awaited at once
  EXPECT_EQ(taken_by({0.25, 20, 28, 10, 8}, 18), 0);  // begins behind the work
  EXPECT_EQ(taken_by({0.25, 1, 4, 10, 8}, 18), 0);    // was over when it was issued to the clock
}

TEST(HeldCores, IdleTimeIsNotTaken) {
  // Of 8 s beside the exchange the device worked for 2.
  EXPECT_NEAR(taken_by({0.25, 10, 18, 10, 2}, 18), 2 / 0.75 - 2, 1e-12);
}

/// A device that is busy from the issue on goes on when one that is slower meanwhile would.
RC_GTEST_PROP(HeldCores, AreThoseOfADeviceThatIsSlowerMeanwhile, ()) {
  const auto number = [](int most) { return 0.1 * *rc::gen::inRange(0, most); };
  const double held = 0.05 * *rc::gen::inRange(0, 18);
  const double issued = number(50), start = issued + number(50), end = start + number(100);
  const double work = number(200);
  const double now = issued + work;
  const double taken = taken_by({held, start, end, issued, work}, now);
  RC_ASSERT(taken >= 0);
  RC_ASSERT(taken <= held * (end - start) + 1e-12);
  const double plain = std::max(end, plain_end(issued, work, held, start, end));
  RC_ASSERT(std::abs(std::max(end, now + taken) - plain) <= 2e-3 * (1 + plain));
}

/// One stage: an exchange of 3 s that holds a quarter of the cores, 4 s of work beside it.
StageProgram beside() {
  StageProgram program;
  OperatorCost work;
  work.device = 4;
  program.segments.emplace_back(std::vector<OperatorCost>{work});
  program.calls.push_back({"gather",
                           GroupKind::dense_data,
                           {CollectiveKind::all_gather, Bytes{1}},
                           Stream::data,
                           ExposedKind::data,
                           {}});
  program.slots = 1;
  ChunkProgram chunk;
  chunk.forward = chunk.first_forward = {Communicate{0, 0, true}, Compute{0}, Wait{0}};
  chunk.backward = chunk.last_backward = {Compute{0}};
  program.chunks = {chunk};
  return program;
}

TEST(HeldCores, OfAStepAreExposedAndItsPartsAddUp) {
  const std::vector<StageProgram> programs{beside()};
  NetworkMap network = free_network(1);
  network.calls.push_back(
      {.algorithm = "ring", .group = 0, .lone = true, .alone = 3, .one_group = 3, .held = 0.25});
  network.call_of.front() = {0};
  const PipelineShape shape{1, 1, 2, 1};
  const auto orders = stage_orders(pipeline_schedule("1f1b"), shape);
  HostSpec host;
  const Timeline step = replay(
      {.programs = programs, .network = network, .host = host, .shape = shape, .orders = orders});
  const RankTimes& times = step.classes.front();
  EXPECT_NEAR(times.computing.value(), 16, 1e-12);
  EXPECT_NEAR(times.exposed[static_cast<std::size_t>(ExposedKind::data)].value(), 2 * 0.75, 1e-12);
  EXPECT_NEAR(step.step_time.value(), 17.5, 1e-12);
}

}  // namespace
}  // namespace stepcast::testing
