#include "describe_host.hpp"

#include <algorithm>

#include "node_fabric.hpp"

namespace stepcast {
namespace {

constexpr Range host_devices = between(1, max_devices);
constexpr Range host_rate = between(0, 1e24);
constexpr Range host_size = between(0, 1e18);

}  // namespace

void describe(Visitor& visitor, OperatorClassTimes& times) {
  visitor.field({"matmul", &times.matmul, "cube operators", time_range});
  visitor.field({"vector", &times.vector, "vector operators", time_range});
  visitor.field({"communication", &times.communication, "collectives and transfers", time_range});
}

void describe(Visitor& visitor, PcieTree& tree) {
  // Bandwidth 0 stands for no tree, since most data sheets do not say how devices share their root.
  visitor.field(
      {"switch_devices", &tree.switch_devices, "devices behind one switch", host_devices});
  visitor.field(
      {"switch_bandwidth", &tree.switch_bandwidth,
       "of its uplink to the root complex, per direction, which the copies of its devices "
       "share as they meet; 0B/s: there is no tree",
       host_rate});
  visitor.field({"nic", choice(tree.nic, {{"device"}, {"switch"}, {"root"}}),
                 "where the NIC of a device is: on it; behind its switch, so that what it sends "
                 "shares the device's own link; below the root, so that it shares the uplink too"});
}

void describe(Visitor& visitor, HostSpec& spec) {
  visitor.field(
      {"devices_per_host", &spec.devices_per_host, "devices that one host drives", host_devices});
  visitor.section("dispatch", "host time of one operator, eager, per class",
                  [&](Visitor& v) { describe(v, spec.dispatch); });
  visitor.field({"blocking", OptionalTime{&spec.blocking, &spec.blocking_given, "none"},
                 "host time of one operator whose launch blocks (queue_depth 1), its wait apart; "
                 "none: dispatch",
                 time_range});
  const OptionalTime library{&spec.library_launch, &spec.library_launch_given, "none"};
  visitor.field({"library_launch", library, "the same behind the first of a call", time_range});
  visitor.field({"statement", &spec.statement,
                 "host time of a statement of the framework that launches nothing", time_range});
  visitor.section("task_queue", "runtime.dispatch task_queue", [&](Visitor& v) {
    v.field(
        {"main", &spec.task_queue_main, "part of dispatch left on the main thread", between(0, 1)});
    v.field({"worker", &spec.task_queue_worker, "part of dispatch on the second thread",
             between(0, 1)});
  });
  visitor.section("graph_sink", "runtime.dispatch graph_sink", [&](Visitor& v) {
    v.field({"factor", &spec.graph_sink_factor,
             "part of dispatch left per operator of a sunk graph", between(0, 1)});
    v.field({"launch", &spec.graph_launch, "host time to launch one sunk graph", time_range});
  });
  visitor.section("compile", "host time to make a kernel for a new shape", [&](Visitor& v) {
    v.field({"bytecode", &spec.compile_bytecode, "with runtime.fusion dvm", time_range});
    v.field({"kernel", &spec.compile_kernel, "with any other fusion", time_range});
  });
  visitor.field({"queue_depth", &spec.queue_depth, "operators the host may run ahead of the device",
                 between(1, 1e9)});
  visitor.field(
      {"synchronise", &spec.synchronise, "host time of one stream synchronisation", time_range});
  visitor.field({"step_overhead", &spec.step_overhead,
                 "host time between two steps: next batch, loss, logging, clean-up", time_range});
  visitor.section("affinity", "what slow_hosts takes for an affinity, as factors on host time",
                  [&](Visitor& v) {
                    v.field({"unbound", &spec.affinity_unbound,
                             "threads wander over the cores; 0: not known", between(0, 1000)});
                    v.field({"cross_numa", &spec.affinity_cross_numa,
                             "threads and their memory on different NUMA nodes; 0: not known",
                             between(0, 1000)});
                  });
  visitor.section("device_link", "link between host and device", [&](Visitor& v) {
    v.field({"bandwidth", &spec.device_link_bandwidth, "per direction", host_rate});
    v.field({"latency", &spec.device_link_latency, "of one transfer", time_range});
    v.section(
        "shared", "where the links of several devices meet: PCIe root, switch, host memory",
        [&](Visitor& w) {
          w.field({"bandwidth", &spec.shared_bandwidth,
                   "of all of them together, per direction; 0B/s: they meet nowhere", host_rate});
          w.field({"devices", &spec.shared_devices, "devices that meet there", host_devices});
        });
  });
  visitor.section("pcie", "switches between devices and their host (docs/models/offload.md)",
                  [&](Visitor& v) { describe(v, spec.pcie); });
  visitor.section("cores", "of one host, as its updates of states find them", [&](Visitor& v) {
    v.field({"count", &spec.cores, "0: not known", between(0, max_devices)});
    v.field({"bandwidth", &spec.core_bandwidth,
             "of the host's memory, that one core draws; 0B/s: cores are not the limit",
             host_rate});
  });
  visitor.section("memory", "of one host (docs/models/offload.md)", [&](Visitor& v) {
    v.field({"capacity", &spec.memory_capacity, "what is offloaded must fit into it; 0B: not known",
             host_size});
    v.field({"bandwidth", &spec.memory_bandwidth,
             "reading and writing together; training.offload.update host needs it", host_rate});
    v.field({"efficiency", &spec.memory_efficiency,
             "part of the bandwidth that updates of states reach", fraction()});
  });
  visitor.section("storage", "drives of one host (docs/models/offload.md)", [&](Visitor& v) {
    v.field({"capacity", &spec.storage_capacity, "what lives there must fit into it; 0B: not known",
             host_size});
    v.field({"read", &spec.storage_read,
             "of all drives together; training.offload.store storage needs it", host_rate});
    v.field({"write", &spec.storage_write, "as read", host_rate});
  });
}

BytesPerSecond HostSpec::update_bandwidth() const {
  BytesPerSecond whole = memory_efficiency * memory_bandwidth;
  // The cores of a host may be too few to fill its memory.
  if (cores > 0 && core_bandwidth.value() > 0)
    whole = std::min(whole, static_cast<double>(cores) * core_bandwidth);
  // All devices of a host update at once and have equal parts.
  return whole / static_cast<double>(devices_per_host);
}

BytesPerSecond HostSpec::storage_read_bandwidth() const {
  return storage_read / static_cast<double>(devices_per_host);
}

BytesPerSecond HostSpec::storage_write_bandwidth() const {
  return storage_write / static_cast<double>(devices_per_host);
}

/// The narrowest place that a copy passes while every device of the host copies too.
BytesPerSecond HostSpec::offload_bandwidth() const {
  BytesPerSecond least = device_link_bandwidth;
  if (shared_bandwidth.value() > 0)
    least = std::min(least, shared_bandwidth / static_cast<double>(shared_devices));
  if (pcie.known()) least = std::min(least, pcie.switch_bandwidth);
  return least;
}

}  // namespace stepcast
