#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "stepcast/workloads/collectives.hpp"
#include "topology/fabrics.hpp"

/// Ring, mesh and pairwise against their messages, one by one.
namespace stepcast {
namespace {

using Message = std::pair<std::size_t, std::size_t>;

/// Slowest message latency plus the time of the fullest link.
double step_time(const Fabric& fabric, std::span<const DeviceId> members,
                 const std::vector<Message>& messages, double bytes) {
  const CollectiveLibrarySpec& library = fabric.cluster().collectives;
  std::map<LinkId, double> loads;
  double latency = 0, slowest = 0;
  for (const auto& [i, j] : messages) {
    const DeviceId a = members[i], b = members[j];
    const bool near = fabric.locality(a, b) <= Locality::super_node;
    const Seconds step = near ? library.node_step_latency : library.step_latency;
    latency = std::max(latency, (fabric.route_latency(a, b) + step).value());
    for (const LinkId link : fabric.route(a, b)) loads[link] += bytes;
  }
  for (const auto& [link, load] : loads)
    slowest = std::max(slowest, load / fabric.link(link).bandwidth.value());
  return latency + slowest;
}

std::vector<Message> shifted(std::size_t size, std::size_t by) {
  std::vector<Message> messages;
  for (std::size_t i = 0; i < size; ++i) messages.push_back({i, (i + by) % size});
  return messages;
}

void compare(const Fabric& fabric, std::span<const DeviceId> members, CollectiveCall call,
             std::string_view algorithm, double expected) {
  const auto plan = plan_collective(fabric, members, call, algorithm);
  const double time = lone_time(fabric, plan).value();
  RC_ASSERT(std::abs(time - expected) <= 1e-9 * expected);
}

TEST(CollectiveReference, MessagesOneByOne) {
  EXPECT_TRUE(rc::check([] {
    ClusterSpec spec = test::random_cluster();
    spec.collectives.library = CollectiveLibrarySpec::Library::hccl;
    const Fabric fabric(spec);
    std::vector<DeviceId> members;
    for (std::uint32_t d = 0; d < fabric.devices(); ++d)
      if (*rc::gen::inRange(0, 4) > 0) members.push_back({d});
    const std::size_t size = members.size();
    if (size < 2) return;
    const Bytes bytes{static_cast<double>(*rc::gen::inRange(1, 1 << 27))};
    const double part = bytes.value() / static_cast<double>(size);
    const double turn = step_time(fabric, members, shifted(size, 1), part);
    compare(fabric, members, {CollectiveKind::all_gather, bytes}, "ring",
            static_cast<double>(size - 1) * turn);
    std::vector<Message> pairs;
    double steps = 0;
    bool one_node = true;
    for (std::size_t k = 1; k < size; ++k) {
      const auto messages = shifted(size, k);
      pairs.insert(pairs.end(), messages.begin(), messages.end());
      steps += step_time(fabric, members, messages, part);
      one_node = one_node && fabric.node_of(members[0]) == fabric.node_of(members[k]);
    }
    if (fabric.super_node_of(members.front()) == fabric.super_node_of(members.back()))
      compare(fabric, members, {CollectiveKind::all_to_all, bytes}, "mesh",
              step_time(fabric, members, pairs, part));
    if (one_node) compare(fabric, members, {CollectiveKind::all_to_all, bytes}, "pairwise", steps);
  }));
}

}  // namespace
}  // namespace stepcast
