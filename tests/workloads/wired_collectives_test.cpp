#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "collective_fabrics.hpp"
#include "stepcast/base/errors.hpp"

/// Collectives over wires against the closed forms of docs/models/wired.md.
namespace stepcast {
namespace {

using namespace test;
using Kind = CollectiveKind;

constexpr Bytes wired_size{64.0 * 1048576};
constexpr double wired_rate = 50e9;

ClusterSpec grid(bool rings, const std::vector<std::int64_t>& sides, Seconds hop = Seconds{0},
                 std::int64_t nodes = 1) {
  std::int64_t devices = 1;
  std::vector<GridDimension> dimensions;
  for (const std::int64_t side : sides) {
    dimensions.push_back({side, {BytesPerSecond{wired_rate}, hop}});
    devices *= side;
  }
  ClusterSpec spec = cluster({.nodes = nodes, .per_node = devices, .node_step = Seconds{0}});
  if (rings)
    spec.node_fabric = TorusFabric{dimensions};
  else
    spec.node_fabric = FullMeshFabric{dimensions};
  return spec;
}

TEST(WiredCollectives, AnAllReduceFillsATorus) {
  const double bytes = wired_size.value();
  EXPECT_NEAR(time_of(grid(true, {4, 4, 4}), {Kind::all_reduce, wired_size}, "auto"),
              63.0 / 64 * bytes / (3 * wired_rate), 1e-9);
  EXPECT_NEAR(time_of(grid(true, {8, 8}), {Kind::reduce_scatter, wired_size}, "auto"),
              63.0 / 64 * bytes / (2 * 2 * wired_rate), 1e-9);
  EXPECT_NEAR(time_of(grid(true, {8}), {Kind::all_gather, wired_size}, "auto"),
              7.0 / 8 * bytes / (2 * wired_rate), 1e-9);
  EXPECT_NEAR(time_of(grid(true, {2}), {Kind::all_gather, wired_size}, "auto"),
              bytes / 2 / wired_rate, 1e-9);
}

TEST(WiredCollectives, AnAllReduceFillsAFullMesh) {
  const double bytes = wired_size.value();
  EXPECT_NEAR(time_of(grid(false, {8, 8}), {Kind::all_reduce, wired_size}, "auto"),
              2 * 63.0 / 64 * bytes / (2 * 7 * wired_rate), 1e-9);
  EXPECT_NEAR(time_of(grid(false, {4, 4, 4}), {Kind::all_gather, wired_size}, "auto"),
              63.0 / 64 * bytes / (3 * 3 * wired_rate), 1e-9);
}

TEST(WiredCollectives, AnExchangeTakesTheLongestSide) {
  const double bytes = wired_size.value();
  EXPECT_NEAR(time_of(grid(true, {4, 8}), {Kind::all_to_all, wired_size}, "auto"),
              bytes * 8 / (8 * wired_rate), 1e-9);
  EXPECT_NEAR(time_of(grid(false, {8, 4}), {Kind::all_to_all, wired_size}, "auto"),
              bytes / (4 * wired_rate), 1e-9);
}

// By dimension, everybody's bytes take each side in a share of the turns.
TEST(WiredCollectives, AnExchangeByDimensionTakesTheSidesInTurn) {
  const double bytes = wired_size.value();
  const CollectiveCall exchange{Kind::all_to_all, wired_size};
  EXPECT_NEAR(time_of(grid(true, {4, 4, 8}), exchange, "dimensions"), bytes * 8 / (8 * wired_rate),
              1e-9);
  EXPECT_NEAR(time_of(grid(false, {8, 8}), exchange, "dimensions"), bytes / (8 * wired_rate), 1e-9);
  EXPECT_NEAR(time_of(grid(false, {8, 4}), exchange, "dimensions"), bytes / (4 * wired_rate), 1e-9);
  EXPECT_NEAR(time_of(grid(false, {5}), exchange, "dimensions"), bytes / (5 * wired_rate), 1e-9);
}

// Half of the bytes are reduced inside the nodes while the other half is between them: by NHR a NIC
// sends what the other NICs of its rail lack.
TEST(WiredCollectives, ParallelUsesMeshAndNicsAtOnce) {
  ClusterSpec spec = grid(false, {4}, Seconds{0}, 8);
  const double half = wired_size.value() / 2, nic = 22e9;
  const auto turn = [&](double inside, double between) {
    return std::max(inside / 4 / wired_rate, between * 7 / 8 / nic);
  };
  spec.network.nic.link = {BytesPerSecond{nic}, Seconds{0}};
  spec.network.nic.efficiency = 1;
  spec.collectives.step_latency = Seconds{0};
  const double pass = turn(half, half) + turn(half / 8, half / 4);
  EXPECT_NEAR(time_of(spec, {Kind::all_gather, wired_size}, "parallel"), pass, 1e-9);
  EXPECT_NEAR(time_of(spec, {Kind::all_reduce, wired_size}, "parallel"), 2 * pass, 1e-9);
}

// Of a ring's turn the slowest message passes one wire, of a mesh's exchange one for each side.
TEST(WiredCollectives, LatenciesFollowTheWay) {
  const Seconds hop{1e-6};
  const auto latency = [&](const ClusterSpec& spec, Kind kind) {
    return time_of(spec, {kind, Bytes{1}}, "auto");
  };
  EXPECT_NEAR(latency(grid(true, {8}, hop), Kind::all_gather), 7e-6, 1e-9);
  EXPECT_NEAR(latency(grid(true, {4, 4}, hop), Kind::all_to_all), 4e-6, 1e-9);
  EXPECT_NEAR(latency(grid(false, {4, 4}, hop), Kind::all_gather), 2e-6, 1e-9);
  EXPECT_NEAR(latency(grid(false, {4, 4}, hop), Kind::all_to_all), 2e-6, 1e-9);
}

std::string chosen(const ClusterSpec& spec, const std::vector<DeviceId>& members, Kind kind) {
  return plan_collective(Fabric(spec), members, {kind, wired_size}, "auto").algorithm;
}

TEST(WiredCollectives, WhatIsChosen) {
  const ClusterSpec torus = grid(true, {4, 4}, Seconds{0}, 4);
  EXPECT_EQ(chosen(torus, first_devices(16), Kind::all_reduce), "dimensions");
  EXPECT_EQ(chosen(torus, first_devices(4, 4), Kind::reduce_scatter), "dimensions");
  EXPECT_EQ(chosen(torus, {{0}, {1}, {4}, {5}}, Kind::all_gather), "dimensions");
  EXPECT_EQ(chosen(torus, first_devices(3, 5), Kind::all_reduce), "ring");
  EXPECT_EQ(chosen(torus, first_devices(16), Kind::all_to_all), "mesh");
  EXPECT_EQ(chosen(torus, first_devices(64), Kind::all_reduce).substr(0, 24),
            "hierarchical(dimensions,");
}

/// A random box of a random grid.
std::vector<DeviceId> random_box(const std::vector<std::int64_t>& sides) {
  std::vector<DeviceId> members{{0}};
  std::uint32_t stride = 1;
  for (const std::int64_t side : sides) {
    const auto length = *rc::gen::inRange<std::int64_t>(1, side + 1);
    const std::vector<DeviceId> before = std::exchange(members, {});
    for (std::int64_t i = 0; i < length; ++i)
      for (const DeviceId m : before)
        members.push_back({m.value + static_cast<std::uint32_t>(i) * stride});
    stride *= static_cast<std::uint32_t>(side);
  }
  return members;
}

// Ports count bytes on links, pairs are a flow for each message.
TEST(WiredCollectives, BoxesAreNeverFasterThanTheirBound) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<std::int64_t> sides{*rc::gen::inRange(2, 7), *rc::gen::inRange(2, 5),
                                          *rc::gen::inRange(2, 4)};
    const Fabric fabric(grid(*rc::gen::arbitrary<bool>(), sides));
    const std::vector<DeviceId> members = random_box(sides);
    const Kind kind = *rc::gen::element(Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather,
                                        Kind::all_to_all, Kind::broadcast);
    const CollectiveCall call{kind, wired_size};
    const double bound = bandwidth_bound(fabric, members, call).value();
    const double alone = lone_time(fabric, plan_collective(fabric, members, call, "auto")).value();
    RC_ASSERT(alone >= bound * (1 - 1e-9));
    if (members.size() > 32) return;
    const double pairs =
        lone_time(fabric, plan_collective(fabric, members, call, "auto", NetworkForm::pairwise))
            .value();
    RC_ASSERT(pairs >= bound * (1 - 1e-9));
  }));
}

/// A random box of a random grid of so many sides, of 4 to 64 members.
std::pair<ClusterSpec, std::vector<DeviceId>> random_group(bool rings) {
  std::vector<std::int64_t> sides;
  for (int k = *rc::gen::inRange(2, 4); k > 0; --k)
    sides.push_back(*rc::gen::inRange<std::int64_t>(2, 9));
  std::vector<DeviceId> members = *rc::gen::suchThat(
      rc::gen::exec([&] { return random_box(sides); }),
      [](const std::vector<DeviceId>& box) { return box.size() >= 4 && box.size() <= 64; });
  return {grid(rings, sides, Seconds{1e-6}), std::move(members)};
}

// What counting bytes on links leaves out: that messages of one step meet and share.
TEST(WiredCollectives, TakeWhatTheirMessagesTake) {
  EXPECT_TRUE(rc::check([] {
    const auto [spec, members] = random_group(*rc::gen::arbitrary<bool>());
    const Fabric fabric(spec);
    const Kind kind = *rc::gen::element(Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather,
                                        Kind::all_to_all);
    const Bytes bytes{65536.0 * std::pow(4.0, *rc::gen::inRange(0, 8))};
    const char* algorithm =
        kind == Kind::all_to_all && *rc::gen::arbitrary<bool>() ? "auto" : "dimensions";
    const auto alone = [&](NetworkForm form) {
      return lone_time(fabric, plan_collective(fabric, members, {kind, bytes}, algorithm, form));
    };
    const Seconds counted = alone(NetworkForm::ports), messages = alone(NetworkForm::pairwise);
    RC_ASSERT(counted >= bandwidth_bound(fabric, members, {kind, bytes}) * (1 - 1e-9));
    RC_ASSERT(counted >= messages * 0.97);
    RC_ASSERT(counted <= messages * 1.03);
  }));
}

// The same between nodes with wires, by the tiers of the library and side by side.
TEST(WiredCollectives, TakeWhatTheirMessagesTakeBetweenNodes) {
  for (const std::int64_t nodes : {2, 3, 5, 8})
    for (const std::int64_t side : {2, 4, 8}) {
      const ClusterSpec spec = grid(false, {side}, Seconds{1e-6}, nodes);
      const Fabric fabric(spec);
      const auto members = first_devices(spec.devices);
      for (const Kind kind : {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather})
        for (const char* algorithm : {"hierarchical", "parallel"})
          for (const double bytes : {65536.0, 1048576.0, 1073741824.0}) {
            const CollectiveCall call{kind, Bytes{bytes}};
            const auto alone = [&](NetworkForm form) {
              return lone_time(fabric, plan_collective(fabric, members, call, algorithm, form))
                  .value();
            };
            const double counted = alone(NetworkForm::ports);
            EXPECT_GE(counted, bandwidth_bound(fabric, members, call).value() * (1 - 1e-9));
            const double messages = alone(NetworkForm::pairwise);
            EXPECT_NEAR(counted, messages, 0.03 * messages)
                << algorithm << ' ' << name(kind) << ' ' << nodes << 'x' << side;
          }
    }
}

}  // namespace
}  // namespace stepcast
