#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/units.hpp"
#include "stepcast/topology/device_spec.hpp"
#include "stepcast/topology/host_spec.hpp"
#include "stepcast/topology/network_spec.hpp"

/// The cluster file as values.
namespace stepcast {

/// Quotients of published over forecast step time, or memory: docs/accuracy.md, Intervals.
struct QuotientRange {
  double low = 1, high = 1;
};

/// A range with the measured rows that it was taken from.
struct ClassRange : QuotientRange {
  std::string of;      ///< the class ("dense, H100"); empty: not told
  bool wider = false;  ///< the class has other types of hardware: this type has too few rows
  std::vector<std::string> devices;  ///< of this type that rows were measured on
};

/// Between these quotients lie 80 % of the measured steps of this hardware that no fit has seen.
struct ForecastInterval {
  ClassRange steps;
  std::optional<ClassRange> experts;  ///< of models with experts; none: as `steps`
  std::optional<ClassRange> memory;   ///< of the memory of the fullest device
  /// Of questions whose framework is not known in full, as both above; none: as those.
  std::optional<ClassRange> plain, plain_experts;

  /// The one that a model's step has; `exact` questions say what their framework launches.
  const ClassRange& of(bool with_experts, bool exact) const {
    if (!exact && with_experts && plain_experts) return *plain_experts;
    if (!exact && plain) return *plain;
    return with_experts && experts ? *experts : steps;
  }
};

/// What one kind of part costs to buy and takes to run. Prices are the user's data: no preset has
/// any. Model: docs/models/costs.md.
struct CostItem {
  double price = 0;  ///< of one, in the currency of the section
  double power = 0;  ///< that one takes all the time [W]
  bool free() const { return price == 0 && power == 0; }
};

/// The keys of `cluster.costs`.
struct CostSpec {
  std::string currency;
  Seconds amortisation{0};         ///< time over which the prices are written off
  double electricity = 0;          ///< price of a kilowatt-hour
  double facility = 1;             ///< power of the building over that of what stands in it
  CostItem device, node, nic;      ///< a node without its devices and NICs
  CostItem network_switch, cable;  ///< a cable with what is plugged in at both ends
  CostItem super_node;             ///< what joins its nodes, switches and cables together
  std::int64_t switch_ports = 0;   ///< of one switch, as fast as a NIC; 0: not known
};

/// How the devices of a cluster differ, for as long as a job runs. The step of a job is its
/// expectation over all such fleets. Laws and sources: docs/models/spread.md.
struct FleetSpec {
  struct SlowNodes {
    double share = 0;   ///< of the nodes
    double factor = 1;  ///< on device and host time of a slow one
    friend bool operator==(const SlowNodes&, const SlowNodes&) = default;
  };
  /// An event slows one device for some minutes; a step falls into it or does not.
  struct Throttled {
    double share = 0;   ///< of the time of a device
    double factor = 1;  ///< on device time meanwhile
    friend bool operator==(const Throttled&, const Throttled&) = default;
  };

  double device_sigma = 0;  ///< of the logarithm of the factor on device time, whose mean is 1
  SlowNodes slow_nodes;
  bool screened = false;  ///< slow nodes were found and left out
  Throttled throttled;

  /// The nodes that are slow in a job.
  double slow_share() const { return screened ? 0 : slow_nodes.share; }
  /// Says whether all devices are alike.
  bool flawless() const;
  friend bool operator==(const FleetSpec&, const FleetSpec&) = default;
};

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
