#include <benchmark/benchmark.h>

#include "stepcast/workloads/collectives.hpp"

/// Time to plan one collective over all devices of a cluster of nodes of eight (or sixteen).
namespace stepcast {
namespace {

ClusterSpec pod(std::int64_t devices, NodeFabric node, std::int64_t node_devices) {
  ClusterSpec spec;
  spec.devices = devices;
  spec.node_devices = node_devices;
  spec.node_fabric = node;
  spec.network.nic.link = {BytesPerSecond{25e9}, Seconds{2e-6}};
  spec.network.kind = NetworkSpec::Kind::leaf_spine;
  spec.network.oversubscription = 2;
  spec.collectives.node_step_latency = Seconds{5e-6};
  spec.collectives.step_latency = Seconds{6e-5};
  return spec;
}

ClusterSpec mesh_nodes(std::int64_t devices) {
  return pod(devices, MeshFabric{{BytesPerSecond{28e9}, Seconds{1e-6}}, 1}, 8);
}

ClusterSpec super_nodes(std::int64_t devices) {
  ClusterSpec spec = pod(devices, SwitchFabric{{BytesPerSecond{196e9}, Seconds{1e-6}}, 1}, 16);
  spec.super_node = SuperNodeSpec{24, {{BytesPerSecond{196e9}, Seconds{1e-6}}, 1}};
  return spec;
}

/// 16 nodes in each super-node: parts of one size, so that levels apply.
ClusterSpec even_super_nodes(std::int64_t devices) {
  ClusterSpec spec = super_nodes(devices);
  spec.super_node->nodes = 16;
  return spec;
}

ClusterSpec switched_rails(std::int64_t devices) {
  ClusterSpec spec = pod(devices, SwitchFabric{{BytesPerSecond{300e9}, Seconds{1e-6}}, 1}, 8);
  spec.network.kind = NetworkSpec::Kind::rail_optimized;
  spec.collectives.library = CollectiveLibrarySpec::Library::nccl;
  return spec;
}

using Build = ClusterSpec (*)(std::int64_t devices);

void plan(benchmark::State& state, Build build, CollectiveKind kind, const char* algorithm) {
  const Fabric fabric(build(state.range(0)));
  std::vector<DeviceId> members;
  for (std::uint32_t d = 0; d < fabric.devices(); ++d) members.push_back({d});
  const CollectiveCall call{kind, Bytes{1e9}};
  std::string chosen;
  for (auto _ : state) chosen = plan_collective(fabric, members, call, algorithm).algorithm;
  state.SetLabel(chosen);
}

void register_all() {
  const std::pair<const char*, Build> clusters[] = {{"mesh_nodes", mesh_nodes},
                                                    {"super_nodes", super_nodes},
                                                    {"even_super_nodes", even_super_nodes},
                                                    {"switched_rails", switched_rails}};
  const char* const algorithms[] = {"auto", "nhr", "hd", "hierarchical", "pipeline"};
  const auto add = [](auto cluster, CollectiveKind kind, const char* algorithm) {
    const std::string title = std::string(cluster.first) + "/" + name(kind) + "/" + algorithm;
    benchmark::RegisterBenchmark(title.c_str(), plan, cluster.second, kind, algorithm)
        ->Arg(1024)
        ->Arg(4096)
        ->Unit(benchmark::kMicrosecond);
  };
  for (const auto& cluster : clusters) {
    for (std::size_t k = 0; k < collective_kinds; ++k)
      add(cluster, static_cast<CollectiveKind>(k), "auto");
    for (const char* algorithm : algorithms)
      if (cluster.second != super_nodes || std::string(algorithm) != "hierarchical")
        if (std::string(algorithm) != "auto") add(cluster, CollectiveKind::all_reduce, algorithm);
    add(cluster, CollectiveKind::all_to_all, "pairwise");
  }
}

const bool registered = (register_all(), true);

}  // namespace
}  // namespace stepcast
