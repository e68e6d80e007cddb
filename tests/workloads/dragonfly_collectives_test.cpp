#include <gtest/gtest.h>

#include <algorithm>

#include "collective_fabrics.hpp"

/// Collectives over a dragonfly against the closed forms of docs/models/fabric.md.
namespace stepcast {
namespace {

using namespace test;
using Kind = CollectiveKind;

constexpr double nic_rate = 25e9;

/// g groups of a routers of p devices, each of which is a node.
struct Sizes {
  double g = 7, a = 3, p = 2, links = 1, local = nic_rate, global = nic_rate;
};

ClusterSpec flying(const Sizes& s) {
  ClusterSpec spec = cluster({.nodes = static_cast<std::int64_t>(s.g * s.a * s.p),
                              .per_node = 1,
                              .nic = {BytesPerSecond{nic_rate}, Seconds{0}},
                              .step = Seconds{0}});
  spec.network.kind = NetworkSpec::Kind::dragonfly;
  spec.network.leaf_ports = static_cast<std::int64_t>(s.p);
  spec.network.dragonfly = {.group_routers = static_cast<std::int64_t>(s.a),
                            .global_links = static_cast<std::int64_t>(s.links),
                            .local = {BytesPerSecond{s.local}, Seconds{0}},
                            .global = {BytesPerSecond{s.global}, Seconds{0}}};
  return spec;
}

/// NIC, global channel, local channel: the fullest of them.
double exchange_time(const Sizes& s, double bytes) {
  const double ends = s.a * s.p, all = s.g * ends;
  return std::max({bytes * (1 - 1 / all) / nic_rate, ends * bytes / (s.g * s.links * s.global),
                   s.p * bytes * (2 - 1 / s.g) / (s.a * s.local)});
}

TEST(DragonflyCollectives, AnExchangeTakesItsFullestChannel) {
  constexpr double bytes = 42e6;
  for (const Sizes& s :
       {Sizes{}, Sizes{.links = 4}, Sizes{.links = 4, .local = 5e9}, Sizes{.g = 5, .a = 2, .p = 4},
        Sizes{.g = 4, .a = 3, .p = 1, .links = 2, .global = 4e9}})
    EXPECT_NEAR(time_of(flying(s), {Kind::all_to_all, Bytes{bytes}}, "pairwise"),
                exchange_time(s, bytes), 1e-9 * exchange_time(s, bytes))
        << s.g << " groups of " << s.a;
}

/// A ring in the order of the groups crosses each group's edge once, which the channel carries as
/// fast as the NIC. On its way there it may share a local channel with the ring's next message.
TEST(DragonflyCollectives, ARingCrossesEachGroupOnce) {
  for (const double local : {nic_rate, 2 * nic_rate}) {
    const Sizes s{.local = local};
    const double all = s.g * s.a * s.p, rate = std::min(nic_rate, local / 2);
    EXPECT_NEAR(time_of(flying(s), {Kind::all_gather, Bytes{1e8}}, "ring"),
                1e8 * (all - 1) / all / rate, 1e-9);
  }
}

TEST(DragonflyCollectives, NothingIsFasterThanTheBound) {
  for (const Sizes& s : {Sizes{.global = 2e9}, Sizes{.local = 2e9}, Sizes{.links = 8}}) {
    const ClusterSpec spec = flying(s);
    const Fabric fabric(spec);
    for (const Kind kind : {Kind::all_reduce, Kind::all_gather, Kind::all_to_all}) {
      const CollectiveCall call{kind, Bytes{1e8}};
      EXPECT_GE(time_of(spec, call, "auto"),
                bandwidth_bound(fabric, first_devices(spec.devices), call).value() * (1 - 1e-12));
    }
  }
}

}  // namespace
}  // namespace stepcast
