#include "stepcast/workloads/host_queue.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "segment_generators.hpp"
#include "segment_reference.hpp"
#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

using reference::close;
using reference::PlainQueue;

constexpr double us = 1e-6;
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max() / 4;

/// 8000 operators in segments of 20; the host pauses for 100 ms before operator 6000. End on the
/// device.
double step_with_pause(std::uint64_t depth) {
  const Segment segment{std::vector<OperatorCost>(20, {8 * us, 0, 2 * us, 26 * us})};
  HostQueue queue{depth};
  Clocks clocks;
  for (int i = 0; i < 400; ++i) {
    if (i == 300) clocks.main += 0.1;
    clocks = queue.run(clocks, segment, {});
  }
  return clocks.device;
}

TEST(HostQueue, PauseDisappearsOnlyWithoutLimit) {
  // Without a limit the host is 6000 * (26 - 8) us = 108 ms ahead when it pauses.
  const double without_pause = (8 + 2 + 8000 * 26) * us;
  EXPECT_NEAR(step_with_pause(unlimited), without_pause, 1e-12);
  // With one it is `depth` operators ahead: it resumes at end(5999 - depth) + issue + pause, and
  // issues once more.
  for (const std::uint64_t depth : {256, 1024}) {
    const double shown = 0.1 + (8 + 8 + 2) * us - static_cast<double>(depth) * 26 * us;
    EXPECT_NEAR(step_with_pause(depth), without_pause + shown, 1e-12);
  }
}

TEST(HostQueue, DepthOneIssuesAfterEachEnd) {
  const Segment segment{std::vector<OperatorCost>(5, {3 * us, 0, 1 * us, 10 * us})};
  EXPECT_NEAR(HostQueue{1}.run({}, segment, {}).device, 5 * (3 + 1 + 10) * us, 1e-15);
}

TEST(HostQueue, HostBoundRunsNeverLoop) {
  const Segment segment{std::vector<OperatorCost>(20, {8 * us, 0, 2 * us, 4 * us})};
  HostQueue queue{64};
  Clocks clocks;
  for (int i = 0; i < 1000; ++i) clocks = queue.run(clocks, segment, {});
  EXPECT_EQ(queue.operator_loops(), 0U);
  EXPECT_NEAR(clocks.device, (20000 * 8 + 2 + 4) * us, 1e-10);
}

TEST(HostQueue, RemembersNoMoreThanItsDepth) {
  for (const double device : {4.0, 26.0}) {  // matrix form, operator loop
    const Segment segment{std::vector<OperatorCost>(4, {8 * us, 0, 2 * us, device * us})};
    HostQueue queue{64};
    Clocks clocks;
    std::size_t most = 0;
    for (int i = 0; i < 5000; ++i) {
      clocks = queue.run(clocks, segment, {});
      most = std::max(most, queue.remembered_runs());
    }
    EXPECT_LE(most, 2U * (64 / 4 + 2));
  }
}

/// The host is ahead by up to 1024 operators of which none has ended.
TEST(HostQueue, TakesLittleRoomWhereItIsCompact) {
  const Segment segment{std::vector<OperatorCost>(2, {8 * us, 0, 2 * us, 1})};
  HostQueue queue{1024}, compact{1024, true};
  Clocks a, b;
  std::size_t most = 0, most_compact = 0;
  for (int i = 0; i < 1100; ++i) {
    a = queue.run(a, segment, {});
    b = compact.run(b, segment, {});
    ASSERT_EQ(a, b);
    most = std::max(most, queue.room_for_starts());
    most_compact = std::max(most_compact, compact.room_for_starts());
  }
  EXPECT_EQ(most, 512U);
  EXPECT_EQ(most_compact, 128U);
  EXPECT_GT(queue.operator_loops(), 0U);
  EXPECT_LE(queue.room_for_starts(), 8U);  // once all are asked for
}

TEST(HostQueue, TwoRanksOfOneProgramAgreeToTheBit) {
  const Segment segment{std::vector<OperatorCost>(30, {8 * us, 0, 2 * us, 26 * us})};
  HostQueue first{100}, second{100};
  Clocks a, b;
  for (int i = 0; i < 50; ++i) {
    a = first.run(a, segment, {1.3, 1});
    b = second.run(b, segment, {1.3, 1});
    ASSERT_EQ(a, b);
  }
}

TEST(HostQueue, RefusesADepthOfZero) { EXPECT_THROW(HostQueue{0}, ContractError); }

/// What happens to the clocks between two runs of a real program.
struct Between {
  int what = *rc::gen::element(0, 1, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
  double time = generate::microseconds(400);

  Clocks operator()(Clocks clocks) const {
    switch (what) {
      case 0:
        return host_sync(clocks, 5 * us);
      case 1:
        clocks.device += time;
        break;  // the stream waits for a communication
      case 2:
        clocks.main += time;
        break;  // the host pauses
      case 3:
        clocks.worker = std::max(clocks.worker, clocks.main) + time;
        break;
      default:
        break;
    }
    return clocks;
  }
};

TEST(HostQueueProperty, EqualsThePlainQueue) {
  std::uint64_t waits = 0, loops = 0, runs = 0;
  EXPECT_TRUE(rc::check("segments with history as runs == every end remembered", [&] {
    std::vector<Segment> segments;
    const int kinds = *rc::gen::inRange(1, 5);
    for (int i = 0; i < kinds; ++i) segments.emplace_back(generate::operators(40));
    const std::uint64_t depth =
        *rc::gen::element<std::uint64_t>(1, 4, 16, 17, 32, 64, 150, unlimited);
    HostQueue queue{depth}, compact{depth, true}, followed{depth};
    if (depth < unlimited) followed.follow_compiling();
    PlainQueue plain{depth};
    Clocks by_runs, by_operators, in_less_room, with_lag;
    const int length = *rc::gen::inRange(1, 200);
    for (int i = 0; i < length; ++i) {
      const auto& segment = segments[*rc::gen::inRange<std::size_t>(0, segments.size())];
      const SpeedFactors speed = generate::speed();
      const Between between;
      by_runs = queue.run(between(by_runs), segment, speed);
      by_operators = plain.run(between(by_operators), segment.operators(), speed);
      in_less_room = compact.run(between(in_less_room), segment, speed);
      RC_ASSERT(close(by_runs, by_operators));
      with_lag = followed.run(between(with_lag), segment, speed);
      RC_ASSERT(in_less_room == by_runs);
      RC_ASSERT(with_lag == by_runs);
    }
    waits += plain.waits();
    loops += queue.operator_loops();
    runs += static_cast<std::uint64_t>(length);
  }));
  EXPECT_GT(waits, 0U);  // the queue did bind
  EXPECT_GT(loops, 0U);
  EXPECT_LT(loops, runs);  // and the matrix was used as well
}

}  // namespace
}  // namespace stepcast
