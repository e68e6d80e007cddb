#pragma once
#include <cstdint>

#include "stepcast/base/units.hpp"
#include "stepcast/topology/device_spec.hpp"

/// `host` of a cluster file as values.
namespace stepcast {

/// PCIe between the devices of a node and the root complex of their host. Model:
/// docs/models/offload.md.
struct PcieTree {
  /// Where the NIC of a device is: on the device itself, behind its PCIe switch, or below the root.
  enum class Nic { device, pcie_switch, root };
  std::int64_t switch_devices = 1;     ///< devices behind one switch
  BytesPerSecond switch_bandwidth{0};  ///< of its uplink, per direction; 0: there is no tree
  Nic nic = Nic::device;

  bool known() const { return switch_bandwidth.value() > 0; }
};

/// What drives the devices of a node. Times in seconds per operator, bandwidths per direction.
struct HostSpec {
  std::int64_t devices_per_host = 8;
  OperatorClassTimes dispatch;  ///< host time per operator, eager
  /// Host time per operator of launches that block until the device has finished (queue_depth 1).
  Seconds blocking{0};
  bool blocking_given = false;  ///< else `dispatch`
  /// Host time of a launch behind the first within one call of a library.
  Seconds library_launch{0};
  bool library_launch_given = false;  ///< else `dispatch`
  Seconds statement{0};               ///< host time of one that launches nothing
  double task_queue_main = 1;    ///< fraction of `dispatch` left on the main thread with task_queue
  double task_queue_worker = 0;  ///< fraction of `dispatch` on the second thread
  double graph_sink_factor = 0;  ///< fraction of `dispatch` per operator when a graph is sunk
  Seconds graph_launch{0};       ///< host time to launch one sunk graph (one per step)
  /// The host time to make a kernel for a new shape: as bytecode (DVM), or compiled.
  Seconds compile_bytecode{0}, compile_kernel{0};
  std::int64_t queue_depth = 1024;  ///< operators that the host may run ahead of the compute stream
  Seconds synchronise{0};           ///< host time of one stream synchronisation
  Seconds step_overhead{0};  ///< host time between two steps: next batch, loss, logging, clean-up
  /// Factors on host time where threads wander over the cores, and where they and their
  /// memory are on different NUMA nodes; 0 means that they are not known.
  double affinity_unbound = 0, affinity_cross_numa = 0;
  BytesPerSecond device_link_bandwidth{0};
  Seconds device_link_latency{0};
  /// The links of `shared_devices` devices have this bandwidth together, per direction; 0 means no
  /// limit.
  BytesPerSecond shared_bandwidth{0};
  std::int64_t shared_devices = 1;
  PcieTree pcie;
  std::int64_t cores = 0;            ///< of one host; 0: not known
  BytesPerSecond core_bandwidth{0};  ///< of host memory, that one core draws; 0: no limit
  Bytes memory_capacity{0};          ///< of one host; 0: not known
  BytesPerSecond memory_bandwidth{0};
  double memory_efficiency = 1;                      ///< part of it that updates of states reach
  Bytes storage_capacity{0};                         ///< of the drives of one host; 0: not known
  BytesPerSecond storage_read{0}, storage_write{0};  ///< of all of them together; 0: there are none

  /// The host memory that passes by the update of one device's states in a second, while
  /// those of all devices of the host are updated (docs/models/offload.md).
  BytesPerSecond update_bandwidth() const;
  /// The bandwidth of each device while all that share offload at once: the least of its
  /// link and an even share (docs/models/offload.md). With a PCIe tree it is that of a device whose
  /// neighbours are idle; what they take, the fabric knows.
  BytesPerSecond offload_bandwidth() const;
  /// Even shares of a device in what the drives of its host read and write.
  BytesPerSecond storage_read_bandwidth() const;
  BytesPerSecond storage_write_bandwidth() const;
};

}  // namespace stepcast
