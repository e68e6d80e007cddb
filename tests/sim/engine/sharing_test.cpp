#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "sim/in_child.hpp"
#include "stepcast/sim/engine/engine.hpp"

// The incremental solution against SimGrid's: the same flows end at the same times.
namespace stepcast {
namespace {

struct Traffic : EngineClient {
  struct Flow {
    double start, bytes;
    std::vector<LinkUse> path;
  };
  std::vector<double> bandwidths;
  std::vector<Flow> flows;
  std::vector<double> ends;
  Engine* engine = nullptr;

  void on_event(double, std::uint64_t tag) override {
    engine->start_flow(flows[tag].path, flows[tag].bytes, tag);
  }
  void on_flow_end(double now, std::uint64_t tag) override { ends[tag] = now; }

  std::vector<double> run(Sharing sharing) {
    Engine made(bandwidths, sharing);
    engine = &made;
    ends.assign(flows.size(), -1);
    for (std::size_t i = 0; i < flows.size(); ++i) made.post(flows[i].start, i);
    made.run(*this);
    return ends;
  }
};

/// Some flows over many links, as collectives are, among many over two; starts that often coincide.
Traffic random_traffic() {
  Traffic traffic;
  const auto links = *rc::gen::inRange<std::uint32_t>(1, 24);
  for (std::uint32_t l = 0; l < links; ++l)
    traffic.bandwidths.push_back(1e9 * *rc::gen::element(1, 2, 3, 25));
  const int count = *rc::gen::inRange(1, 40);
  for (int f = 0; f < count; ++f) {
    Traffic::Flow flow{0.125 * *rc::gen::inRange(0, 40), 1e8 * *rc::gen::inRange(1, 30), {}};
    const bool wide = *rc::gen::inRange(0, 5) == 0;
    for (std::uint32_t l = 0; l < links; ++l) {
      if (*rc::gen::inRange(0, wide ? 2 : 8) == 0)
        flow.path.push_back({l, *rc::gen::element(1U, 1U, 1U, 3U)});
    }
    if (flow.path.empty()) flow.path.push_back({0, 1});
    traffic.flows.push_back(flow);
  }
  return traffic;
}

TEST(Sharing, IncrementalIsAsSimGrid) {
  EXPECT_TRUE(rc::check("ends of flows agree", [] {
    Traffic traffic = random_traffic();
    const std::vector<double> simgrid =
        testing::in_child([&] { return traffic.run(Sharing::simgrid); });
    const std::vector<double> incremental = traffic.run(Sharing::incremental);
    RC_ASSERT(simgrid.size() == incremental.size());
    for (std::size_t i = 0; i < simgrid.size(); ++i)
      RC_ASSERT(std::abs(simgrid[i] - incremental[i]) <= 1e-9 * simgrid[i]);
  }));
}

// One link, three rates in turn: 2 GB at a half, then at a third, then at a half again.
TEST(Sharing, RatesFollowEveryChange) {
  Traffic traffic;
  traffic.bandwidths = {6e9};
  traffic.flows = {{0, 12e9, {{0, 1}}}, {0, 12e9, {{0, 1}}}, {1, 2e9, {{0, 1}}}};
  const std::vector<double> ends = traffic.run(Sharing::incremental);
  EXPECT_DOUBLE_EQ(ends[2], 2);
  EXPECT_NEAR(ends[0], 2 + 7.0 / 3, 1e-12);
  EXPECT_NEAR(ends[1], 2 + 7.0 / 3, 1e-12);
}

// A process may run any number of engines one after another.
TEST(Sharing, IncrementalRunsAgain) {
  Traffic traffic;
  traffic.bandwidths = {1e9};
  traffic.flows = {{0.1, 1e9, {{0, 1}}}, {0.2, 1e9, {{0, 1}}}};
  const std::vector<double> first = traffic.run(Sharing::incremental);
  EXPECT_EQ(traffic.run(Sharing::incremental), first);
}

}  // namespace
}  // namespace stepcast
