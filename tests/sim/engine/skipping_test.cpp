#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "stepcast/sim/engine/engine.hpp"

// What a replay asks of the engine to skip what recurs.
namespace stepcast {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Does at each event what the test says, and notes when everything came.
struct Scripted : EngineClient {
  explicit Scripted(Engine& own) : engine{own} {}
  void on_event(double now, std::uint64_t tag) override {
    events[tag] = now;
    if (const auto act = acts.find(tag); act != acts.end()) act->second();
  }
  void on_flow_end(double now, std::uint64_t tag) override { ends[tag] = now; }
  void run(const std::map<std::uint64_t, double>& times) {
    for (const auto& [tag, time] : times) engine.post(time, tag);
    engine.run(*this);
  }
  void start(std::uint64_t tag, double bytes) {
    engine.start_flow(std::vector<LinkUse>{{0, 1}}, bytes, tag);
  }
  std::vector<double> state() const {
    std::vector<double> numbers;
    engine.append_state(
        engine.now(), [](std::uint64_t tag) { return static_cast<double>(tag); }, numbers);
    return numbers;
  }

  Engine& engine;
  std::map<std::uint64_t, std::function<void()>> acts;
  std::map<std::uint64_t, double> events, ends;
};

// 4 GB at 1 GB/s from second 1 on, and an event at second 3.
TEST(Skipping, MovesTheClockAndAllThatIsPending) {
  Engine engine({1e9});
  Scripted client(engine);
  const std::vector<double> pending{2, 0, 1,
                                    4, 1, 7};  // after, whether a flow's end, which; by the last
  client.acts[0] = [&] {
    client.start(7, 4e9);
    EXPECT_EQ(engine.earliest(), 3);
    EXPECT_EQ(client.state(), pending);
    engine.shift(100);
    EXPECT_EQ(engine.now(), 101);
    EXPECT_EQ(engine.earliest(), 103);
    EXPECT_EQ(client.state(), pending);
  };
  client.run({{0, 1}, {1, 3}});
  EXPECT_EQ(client.events.at(1), 103);
  EXPECT_EQ(client.ends.at(7), 105);
  EXPECT_EQ(engine.earliest(), never);
  EXPECT_EQ(engine.lone_flows(), 1U);
}

// Two flows of 1 GB share a link until second 2, two more from second 110 on.
void expect_skips_between_flows(Sharing sharing) {
  Engine engine({1e9}, sharing);
  Scripted client(engine);
  client.acts[0] = [&] {
    client.start(10, 1e9);
    EXPECT_EQ(engine.earliest(), 1);  // alone so far
    client.start(11, 1e9);
    EXPECT_EQ(engine.earliest(), engine.now());  // flows that meet may end at any time
  };
  client.acts[1] = [&] { EXPECT_EQ(engine.earliest(), 1); };
  client.acts[2] = [&] {
    EXPECT_EQ(engine.earliest(), never);
    engine.shift(100);
    client.start(12, 1e9);
    client.start(13, 1e9);
  };
  client.run({{0, 0}, {1, 1}, {2, 10}});
  for (const auto& [tag, end] :
       std::map<std::uint64_t, double>{{10, 2}, {11, 2}, {12, 112}, {13, 112}})
    EXPECT_NEAR(client.ends.at(tag), end, 1e-9) << tag;
  EXPECT_EQ(engine.flows(), 4U);
  EXPECT_EQ(engine.lone_flows(), 0U);
}

TEST(Skipping, HappensBetweenFlowsOfSimGrid) { expect_skips_between_flows(Sharing::simgrid); }
TEST(Skipping, HappensBetweenSharedFlows) { expect_skips_between_flows(Sharing::incremental); }

}  // namespace
}  // namespace stepcast
