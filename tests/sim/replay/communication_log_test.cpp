#include "stepcast/sim/replay/communication_log.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace stepcast {
namespace {

/// A wait from 0 to 10 s in which communications move, told in this order.
struct Told {
  double start, end;
  ExposedKind kind;
};

RankTimes split(const std::vector<Told>& told) {
  CommunicationLog log;
  for (const Told& t : told) log.add(t.start, t.end, t.kind);
  log.add(CommunicationLog::Wait{.from = 0, .to = 10, .host = {}, .pipeline = true});
  StepBooks books;
  constexpr double all = std::numeric_limits<double>::infinity();
  log.settle(all, all, books);
  return books.times[0];
}

double exposed(const RankTimes& times, ExposedKind kind) {
  return times.exposed[static_cast<std::size_t>(kind)].value();
}

TEST(CommunicationLog, TheKindThatBeganFirstCounts) {
  for (const bool reversed : {false, true}) {
    std::vector<Told> told{{2, 6, ExposedKind::data}, {4, 9, ExposedKind::pipeline}};
    if (reversed) std::swap(told[0], told[1]);
    const RankTimes times = split(told);
    EXPECT_DOUBLE_EQ(exposed(times, ExposedKind::data), 4);
    EXPECT_DOUBLE_EQ(exposed(times, ExposedKind::pipeline), 3);
    EXPECT_DOUBLE_EQ(times.bubble.value(), 3);
  }
}

// Which of them is told first depends on how many ranks are simulated.
TEST(CommunicationLog, OfThoseThatBeginTogetherTheFirstKindCounts) {
  const double rounded = 2 * (1 + std::numeric_limits<double>::epsilon());
  for (const double data : {2.0, rounded})
    for (const double pipeline : {2.0, rounded})
      for (const bool reversed : {false, true}) {
        std::vector<Told> told{{data, 6, ExposedKind::data}, {pipeline, 5, ExposedKind::pipeline}};
        if (reversed) std::swap(told[0], told[1]);
        const RankTimes times = split(told);
        EXPECT_NEAR(exposed(times, ExposedKind::pipeline), 3, 1e-12);
        EXPECT_NEAR(exposed(times, ExposedKind::data), 1, 1e-12);
        EXPECT_NEAR(times.bubble.value(), 6, 1e-12);
      }
}

TEST(CommunicationLog, TheOrderOfTellingChangesNothing) {
  std::mt19937 random{7};
  const auto any = [&](int n) { return static_cast<double>(random() % n); };
  for (int i = 0; i < 200; ++i) {
    std::vector<Told> told;
    for (int k = 0; k < 8; ++k) {
      const double start = any(10);
      told.push_back({start, start + any(5), static_cast<ExposedKind>(random() % exposed_kinds)});
    }
    const RankTimes first = split(told);
    std::shuffle(told.begin(), told.end(), random);
    const RankTimes again = split(told);
    for (std::size_t k = 0; k < exposed_kinds; ++k)
      EXPECT_DOUBLE_EQ(first.exposed[k].value(), again.exposed[k].value());
    EXPECT_DOUBLE_EQ(first.communication.value(), again.communication.value());
  }
}

}  // namespace
}  // namespace stepcast
