#include "stepcast/sim/engine/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/module.hpp"

namespace stepcast {
namespace {

/// Starts flows at given times and notes when they end.
struct FlowScript : EngineClient {
  struct Flow {
    double start, bytes;
    std::vector<LinkUse> path;
  };
  std::vector<Flow> flows;
  std::map<std::uint64_t, double> ends;
  Engine* engine = nullptr;

  void on_event(double, std::uint64_t tag) override {
    engine->start_flow(flows[tag].path, flows[tag].bytes, tag);
  }
  void on_flow_end(double now, std::uint64_t tag) override { ends[tag] = now; }

  void run(std::vector<double> bandwidths) {
    Engine made(std::move(bandwidths));
    engine = &made;
    for (std::size_t i = 0; i < flows.size(); ++i) made.post(flows[i].start, i);
    made.run(*this);
  }
};

void expect_relative(double actual, double expected) {
  EXPECT_NEAR(actual, expected, 1e-9 * expected)
      << "got " << actual << ", closed form " << expected;
}

TEST(Engine, LoneFlowTakesBytesOverBandwidth) {
  FlowScript script;
  script.flows = {{0.25, 25e6, {{0, 1}}}};
  script.run({25e9});
  expect_relative(script.ends[0], 0.25 + 25e6 / 25e9);
}

TEST(Engine, TwoFlowsShareALinkEqually) {
  FlowScript script;
  script.flows = {{0, 1e9, {{0, 1}}}, {0, 3e9, {{0, 1}}}};
  script.run({1e9});
  expect_relative(script.ends[0], 2.0);
  expect_relative(script.ends[1], 4.0);
}

// Alone for 1 s at 1 GB/s, then both at half: 2 GB are left of the first when the second comes.
TEST(Engine, LateComerHalvesWhatIsLeft) {
  FlowScript script;
  script.flows = {{0, 3e9, {{0, 1}}}, {1, 1e9, {{0, 1}}}};
  script.run({1e9});
  expect_relative(script.ends[1], 3.0);
  expect_relative(script.ends[0], 4.0);
}

// The second flow starts at the very moment in which the first one ends: they never meet.
TEST(Engine, FlowsThatTouchInTimeDoNotMeet) {
  FlowScript script;
  script.flows = {{0, 1e9, {{0, 1}}}, {1, 1e9, {{0, 1}}}};
  Engine engine({1e9});
  script.engine = &engine;
  engine.post(0, 0);
  engine.post(1, 1);
  engine.run(script);
  expect_relative(script.ends[0], 1.0);
  expect_relative(script.ends[1], 2.0);
  EXPECT_EQ(engine.flows(), 0U);
  EXPECT_EQ(engine.lone_flows(), 2U);
}

TEST(Engine, KFoldPathTakesKTimesAsLong) {
  FlowScript script;
  script.flows = {{0, 1e9, {{0, 3}}}};
  script.run({1e9});
  expect_relative(script.ends[0], 3.0);
}

// The collective uses 64 NICs at one rate; a transfer on one of them halves it there, and so
// everywhere.
TEST(Engine, CollectiveIsSlowedByItsMostContendedLink) {
  FlowScript script;
  std::vector<LinkUse> collective;
  for (std::uint32_t i = 0; i < 64; ++i) collective.push_back({i, 1});
  script.flows = {{0, 1e9, collective}, {0, 0.1e9, {{7, 1}}}};
  script.run(std::vector<double>(64, 25e9));
  expect_relative(script.ends[1], 0.2e9 / 25e9);
  expect_relative(script.ends[0], 1.1e9 / 25e9);
}

TEST(Engine, FractionsOfAByteCount) {
  FlowScript script;
  script.flows = {{0, 0.5, {{0, 1}}}};
  script.run({1.0});
  expect_relative(script.ends[0], 0.5);
}

TEST(Engine, LongClocksLoseNoFlow) {
  FlowScript script;
  for (int i = 0; i < 200; ++i) script.flows.push_back({50000.0 + i * 0.37, 1e6, {{0, 1}}});
  script.run({1e9});
  EXPECT_EQ(script.ends.size(), script.flows.size());
  EXPECT_NEAR(script.ends[199], 50000.0 + 199 * 0.37 + 1e-3, 1e-9 * 50000);
}

TEST(Engine, EqualTimesAreDeliveredByTag) {
  struct Order : FlowScript {
    std::vector<std::uint64_t> order;
    void on_flow_end(double, std::uint64_t tag) override { order.push_back(tag); }
  } script;
  for (std::uint32_t i = 0; i < 40; ++i) script.flows.push_back({0, 1e6, {{39 - i, 1}}});
  script.run(std::vector<double>(40, 1e9));
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_EQ(script.order.at(i), i);
}

TEST(Engine, EventsAloneNeedNoNetwork) {
  struct Ticks : EngineClient {
    std::vector<double> times;
    void on_event(double now, std::uint64_t) override { times.push_back(now); }
    void on_flow_end(double, std::uint64_t) override { FAIL(); }
  } client;
  Engine engine({});
  engine.post(2, 0);
  engine.post(1, 1);
  engine.run(client);
  EXPECT_EQ(client.times, (std::vector<double>{1, 2}));
  EXPECT_EQ(engine.events(), 2U);
}

TEST(Engine, TellsWhichEventComesNextAndWhichSoon) {
  struct Told : EngineClient {
    std::vector<std::uint64_t> seen, next;
    std::set<std::uint64_t> soon;
    void on_event(double, std::uint64_t tag) override { seen.push_back(tag); }
    void on_flow_end(double, std::uint64_t) override { FAIL(); }
    void foresee(const Coming& what) override {
      EXPECT_FALSE(what.flow_end);
      EXPECT_EQ(std::ranges::count(seen, what.tag), 0);
      if (what.next)
        next.push_back(what.tag);
      else
        soon.insert(what.tag);
    }
  } client;
  constexpr std::uint64_t count = 40, shuffle = 7;
  Engine engine({});
  for (std::uint64_t i = 0; i < count; ++i)
    engine.post(static_cast<double>(i * shuffle % count), i);
  engine.run(client);
  ASSERT_EQ(client.seen.size(), count);
  client.seen.erase(client.seen.begin());  // nothing came before it that could tell
  EXPECT_EQ(client.next, client.seen);
  EXPECT_GT(client.soon.size(), count / 2);
}

TEST(Engine, TellsWhichFlowEndsNext) {
  struct Told : FlowScript {
    std::vector<std::uint64_t> next;
    void foresee(const Coming& what) override {
      if (what.next && what.flow_end) next.push_back(what.tag);
    }
  } script;
  script.flows = {{0, 1e9, {{0, 1}}}, {0.5, 3e9, {{1, 1}}}};
  script.run({1e9, 1e9});
  EXPECT_EQ(script.next, (std::vector<std::uint64_t>{0, 1}));
}

/// Whatever a client throws while SimGrid runs.
struct Thrower : FlowScript {
  void on_flow_end(double, std::uint64_t) override {
    throw InputError({Diagnostic{{"job.yaml", 3, 5}, "a.b", "is wrong"}});
  }
};

// The module was linked by itself: the program still knows the type, and what the error holds.
TEST(Engine, ExceptionsOfClientsCrossTheModule) {
  Thrower script;
  script.flows = {{0, 1e9, {{0, 1}}}, {0, 3e9, {{0, 1}}}};
  try {
    script.run({1e9});
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    ASSERT_EQ(error.diagnostics().size(), 1U);
    EXPECT_EQ(error.diagnostics()[0].text(), "job.yaml:3:5: a.b: is wrong");
  }
}

/// The text of the EngineError with which a module is refused.
std::string refusal(const std::string& name, const std::string& entry) {
  try {
    module_entry(name, entry, "0123456789abcdef");
  } catch (const EngineError& error) {
    return error.what();
  }
  return "";
}

TEST(Engine, ModulesOfAnotherBuildAndMissingOnesAreRefusedWithTheirPath) {
  const std::string other = refusal("simgrid", "stepcast_simgrid_network");
  EXPECT_NE(other.find("/lib/stepcast/simgrid.so: was built with another program"),
            std::string::npos)
      << other;
  const std::string missing = refusal("absent", "any");
  EXPECT_NE(missing.find("/lib/stepcast/absent.so: does not exist"), std::string::npos) << missing;
}

// At that date the clock does not tell a nanosecond, so that neither has anything left to share.
TEST(Engine, FlowsTooShortForTheClockMeetNobody) {
  struct Script : FlowScript {
    void on_event(double now, std::uint64_t) override {
      for (std::uint64_t tag = 0; tag < flows.size(); ++tag) FlowScript::on_event(now, tag);
    }
  } script;
  const double late = 1e8;
  script.flows = {{late, 1, {{0, 1}}}, {late, 1, {{0, 1}}}};
  Engine engine({1e9});
  script.engine = &engine;
  engine.post(late, 0);
  engine.run(script);
  EXPECT_EQ(script.ends, (std::map<std::uint64_t, double>{{0, late}, {1, late}}));
  EXPECT_EQ(engine.flows(), 0U);
  EXPECT_EQ(engine.lone_flows(), 2U);
}

}  // namespace
}  // namespace stepcast
