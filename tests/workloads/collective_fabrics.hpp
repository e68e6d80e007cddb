#pragma once
#include "stepcast/workloads/collectives.hpp"

/// Small clusters for the tests of collectives.
namespace stepcast::test {

struct Shape {
  std::int64_t nodes = 1, per_node = 1;
  LinkSpec inside{BytesPerSecond{30e9}, Seconds{0}};
  LinkSpec nic{BytesPerSecond{22e9}, Seconds{0}};
  Seconds node_step{10e-6}, step{20e-6};
};

inline ClusterSpec cluster(const Shape& shape) {
  ClusterSpec spec;
  spec.devices = shape.nodes * shape.per_node;
  spec.node_devices = shape.per_node;
  spec.node_fabric = MeshFabric{shape.inside, 1};
  spec.network.nic.link = shape.nic;
  spec.collectives.buffer = Bytes{1e18};
  spec.collectives.node_step_latency = shape.node_step;
  spec.collectives.step_latency = shape.step;
  return spec;
}

inline ClusterSpec switched(const Shape& shape) {
  ClusterSpec spec = cluster(shape);
  spec.node_fabric = SwitchFabric{shape.inside, 1};
  return spec;
}

inline std::vector<DeviceId> first_devices(std::int64_t count, std::int64_t stride = 1) {
  std::vector<DeviceId> members;
  for (std::int64_t i = 0; i < count; ++i)
    members.push_back({static_cast<std::uint32_t>(i * stride)});
  return members;
}

inline double time_of(const ClusterSpec& spec, const CollectiveCall& call,
                      std::string_view algorithm) {
  const Fabric fabric(spec);
  return lone_time(fabric, plan_collective(fabric, first_devices(spec.devices), call, algorithm))
      .value();
}

}  // namespace stepcast::test
