#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

/// Rates [B/s] of the flows that have bytes left, filled from scratch.
std::vector<long double> fair_rates(const Traffic& traffic, const std::vector<long double>& left) {
  std::vector<long double> rates(left.size(), 0),
      room(traffic.bandwidths.begin(), traffic.bandwidths.end());
  std::vector<bool> open(left.size());
  for (std::size_t f = 0; f < left.size(); ++f) open[f] = left[f] > 0;
  while (std::ranges::count(open, true) > 0) {
    std::vector<std::uint64_t> weight(room.size(), 0);
    for (std::size_t f = 0; f < left.size(); ++f)
      for (const LinkUse& use : traffic.flows[f].path) weight[use.link] += open[f] ? use.count : 0;
    std::size_t full = room.size();
    for (std::size_t l = 0; l < room.size(); ++l)
      if (weight[l] > 0 && (full == room.size() || room[l] / weight[l] < room[full] / weight[full]))
        full = l;
    const long double rate = room[full] / weight[full];
    for (std::size_t f = 0; f < left.size(); ++f) {
      const auto& path = traffic.flows[f].path;
      if (!open[f] || std::ranges::find(path, full, &LinkUse::link) == path.end()) continue;
      open[f] = false;
      rates[f] = rate;
      for (const LinkUse& use : path) room[use.link] -= use.count * rate;
    }
  }
  return rates;
}

/// The plain reference: every rate anew at every date, in long double.
std::vector<long double> plain_ends(const Traffic& traffic) {
  std::vector<long double> left(traffic.flows.size(), 0), ends(left.size(), -1);
  std::vector<bool> begun(left.size());
  for (long double now = 0;;) {
    const std::vector<long double> rates = fair_rates(traffic, left);
    long double next = std::numeric_limits<long double>::infinity();
    for (std::size_t f = 0; f < left.size(); ++f) {
      if (!begun[f]) next = std::min(next, static_cast<long double>(traffic.flows[f].start));
      if (left[f] > 0) next = std::min(next, now + left[f] / rates[f]);
    }
    if (!std::isfinite(next)) return ends;
    for (std::size_t f = 0; f < left.size(); ++f) {
      if (left[f] > 0 && now + left[f] / rates[f] <= next) {
        left[f] = 0;
        ends[f] = next;
      }
      left[f] -= std::min(left[f], rates[f] * (next - now));
      if (!begun[f] && traffic.flows[f].start <= next) {
        begun[f] = true;
        left[f] = traffic.flows[f].bytes;
      }
    }
    now = next;
  }
}

/// Large and tiny messages at dates of which no two coincide, as those of ranks with jitter are.
Traffic uneven_traffic() {
  Traffic traffic = random_traffic();
  for (Traffic::Flow& flow : traffic.flows) {
    flow.start = 1.5 + 1e-9 * *rc::gen::inRange(0, 10000000);
    flow.bytes =
        *rc::gen::element(384.0, 10485760.0, 8e7) * (1 + 1e-9 * *rc::gen::inRange(0, 1000));
  }
  return traffic;
}

// What either makes of given starts; what a job makes of the last bits of ends is another matter.
TEST(Sharing, BothEndFlowsWhereExactRatesEndThem) {
  EXPECT_TRUE(rc::check("ends of flows are those of the plain reference", [] {
    Traffic traffic = uneven_traffic();
    const std::vector<double> simgrid =
        testing::in_child([&] { return traffic.run(Sharing::simgrid); });
    const std::vector<double> incremental = traffic.run(Sharing::incremental);
    const std::vector<long double> exact = plain_ends(traffic);
    // Dates closer than 1e-12 s are one date to both.
    const double bound = 1e-12 * static_cast<double>(exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      RC_ASSERT(std::abs(incremental[i] - static_cast<double>(exact[i])) <= bound);
      RC_ASSERT(std::abs(simgrid[i] - static_cast<double>(exact[i])) <= bound);
    }
  }));
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
