#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/topology/costs.hpp"
#include "stepcast/topology/device_spec.hpp"
#include "stepcast/topology/fleet_spec.hpp"
#include "stepcast/topology/forecast_interval.hpp"
#include "stepcast/topology/host_spec.hpp"
#include "stepcast/topology/network_spec.hpp"

/// The cluster file as values.
namespace stepcast {

/// One kind of node of a cluster that has several; what is not here is the whole cluster's.
struct NodeKind {
  std::int64_t nodes = 1;  ///< that many, behind those of the kinds before
  std::string name;
  DeviceSpec device;
  HostSpec host;
  std::int64_t node_devices = 8;
  NodeFabric node_fabric;
  NicSpec nic;
  std::optional<SuperNodeSpec> super_node;
};

/// Nodes of a machine that follow each other.
struct NodeRun {
  std::int64_t first = 0;  ///< number in the machine
  std::int64_t nodes = 1;
};

/// Devices, hosts and network of a job, as a cluster file describes them.
struct ClusterSpec {
  std::string name;
  DeviceSpec device;
  HostSpec host;
  std::int64_t node_devices = 8;
  NodeFabric node_fabric;
  std::optional<SuperNodeSpec> super_node;
  NetworkSpec network;
  CollectiveLibrarySpec collectives;
  std::optional<ForecastInterval> interval;
  std::optional<FleetSpec> fleet;   ///< none: flawless, all devices are alike
  std::optional<CostSpec> costs;    ///< none: no bill, and steps have no price
  std::int64_t devices = 8;         ///< size of this cluster
  std::vector<NodeRun> allocation;  ///< its nodes among those of the machine; empty: the first ones
  std::vector<NodeKind> kinds;      ///< empty: all nodes are as above

  /// The index into `kinds` of the kind of a device's node; it is 0 without kinds.
  std::uint32_t kind_of(std::int64_t which) const;
  /// The cluster as a program of that kind sees it: with its device and its host.
  ClusterSpec as_kind(std::size_t kind) const;
  std::int64_t nodes() const { return (devices + node_devices - 1) / node_devices; }
  /// The number in the machine of each node; empty where they are the first ones.
  std::vector<std::uint32_t> node_places() const;
};

inline constexpr double max_devices = 1048576;  ///< the largest cluster that is accepted

/// With kinds this gives the cluster the fastest links of all, so that the fabric is sized for
/// them.
void take_fastest_links(ClusterSpec& spec);

/// The device as the kernels of a step find it: its cores at `step_clock`, its memory as it is.
DeviceSpec in_step(const DeviceSpec& device);

/// The keys of a cluster file.
void describe(Visitor& visitor, ClusterSpec& spec);

}  // namespace stepcast
