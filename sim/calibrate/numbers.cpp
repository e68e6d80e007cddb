#include <array>

#include "stepcast/sim/calibrate/calibrate.hpp"

namespace stepcast {
namespace {

double fabric_efficiency(const ClusterSpec& c) {
  return std::visit([](const auto& fabric) { return fabric.efficiency; }, c.node_fabric);
}
void set_fabric_efficiency(ClusterSpec& c, double value) {
  std::visit([&](auto& fabric) { fabric.efficiency = value; }, c.node_fabric);
}

constexpr double us = 1e-6;
// Bounds are what a kernel, a link or a host of any generation can be, not what is expected.
// Doubts: shares of a datasheet's number are usually known to a fifth, times to a factor of two,
// overheads of a framework hardly.

/// What steps alone show; a type with few rows fits the first ones only.
constexpr std::array<FittedNumber, 4> of_steps{{
    {"device.step_clock", false, 0.5, 1, 0.1,
     [](const ClusterSpec& c) { return c.device.step_clock; },
     [](ClusterSpec& c, double v) { c.device.step_clock = v; }},
    {"host.step_overhead", true, 100 * us, 2, 1,
     [](const ClusterSpec& c) { return c.host.step_overhead.value(); },
     [](ClusterSpec& c, double v) { c.host.step_overhead = Seconds{v}; }},
    {"host.blocking", true, us, 1000 * us, 0.7,
     [](const ClusterSpec& c) {
       return (c.host.blocking_given ? c.host.blocking : c.host.dispatch.vector).value();
     },
     [](ClusterSpec& c, double v) {
       c.host.blocking = Seconds{v};
       c.host.blocking_given = true;
     }},
    // Last, since traces of launches see it better than steps do (docs/calibration.md).
    {"host.dispatch.vector",
     true,
     us,
     300 * us,
     0.7,
     [](const ClusterSpec& c) { return c.host.dispatch.vector.value(); },
     [](ClusterSpec& c, double v) {
       c.host.dispatch = {Seconds{v}, Seconds{v}, Seconds{v}};
     },
     {"host.dispatch.matmul", "host.dispatch.communication"}},
}};

/// What kernels and transfers of a profile show, one by one.
constexpr std::array<FittedNumber, 13> of_kernels{{
    {"device.efficiency.matmul.fill", false, 1, 2048, 0.7,
     [](const ClusterSpec& c) { return c.device.efficiency.matmul.fill; },
     [](ClusterSpec& c, double v) { c.device.efficiency.matmul.fill = v; }},
    {"device.efficiency.matmul.peak", false, 0.3, 1, 0.1,
     [](const ClusterSpec& c) { return c.device.efficiency.matmul.peak; },
     [](ClusterSpec& c, double v) { c.device.efficiency.matmul.peak = v; }},
    {"device.efficiency.grouped_matmul.peak", false, 0.1, 1, 0.4,
     [](const ClusterSpec& c) { return c.device.efficiency.grouped_matmul.peak; },
     [](ClusterSpec& c, double v) { c.device.efficiency.grouped_matmul.peak = v; }},
    {"device.efficiency.attention.fused.forward.cube", false, 0.1, 1, 0.2,
     [](const ClusterSpec& c) { return c.device.efficiency.attention.fused.forward.cube; },
     [](ClusterSpec& c, double v) { c.device.efficiency.attention.fused.forward.cube = v; }},
    {"device.efficiency.attention.fused.backward.cube", false, 0.1, 1, 0.2,
     [](const ClusterSpec& c) { return c.device.efficiency.attention.fused.backward.cube; },
     [](ClusterSpec& c, double v) { c.device.efficiency.attention.fused.backward.cube = v; }},
    {"device.efficiency.attention.fused.forward.vector", false, 1, 1000, 0.5,
     [](const ClusterSpec& c) { return c.device.efficiency.attention.fused.forward.vector; },
     [](ClusterSpec& c, double v) { c.device.efficiency.attention.fused.forward.vector = v; }},
    {"device.efficiency.attention.fused.backward.vector", false, 1, 1000, 0.5,
     [](const ClusterSpec& c) { return c.device.efficiency.attention.fused.backward.vector; },
     [](ClusterSpec& c, double v) { c.device.efficiency.attention.fused.backward.vector = v; }},
    {"device.efficiency.memory.peak", false, 0.2, 1, 0.25,
     [](const ClusterSpec& c) { return c.device.efficiency.memory.peak; },
     [](ClusterSpec& c, double v) { c.device.efficiency.memory.peak = v; }},
    {"device.launch.vector", true, 0.5 * us, 30 * us, 0.5,
     [](const ClusterSpec& c) { return c.device.launch.vector.value(); },
     [](ClusterSpec& c, double v) { c.device.launch.vector = Seconds{v}; }},
    {"node.fabric.efficiency", false, 0.2, 1, 0.2, fabric_efficiency, set_fabric_efficiency},
    {"network.nic.efficiency", false, 0.2, 1, 0.2,
     [](const ClusterSpec& c) { return c.network.nic.efficiency; },
     [](ClusterSpec& c, double v) { c.network.nic.efficiency = v; }},
    {"collectives.node_step_latency", true, 0.5 * us, 200 * us, 0.7,
     [](const ClusterSpec& c) { return c.collectives.node_step_latency.value(); },
     [](ClusterSpec& c, double v) { c.collectives.node_step_latency = Seconds{v}; }},
    {"collectives.step_latency", true, us, 200 * us, 0.7,
     [](const ClusterSpec& c) { return c.collectives.step_latency.value(); },
     [](ClusterSpec& c, double v) { c.collectives.step_latency = Seconds{v}; }},
}};

constexpr std::size_t few_rows = 12;  // below it, rows cannot tell four numbers apart
constexpr std::size_t of_few_rows = 2;

}  // namespace

std::span<const FittedNumber> numbers_of_kernels() { return of_kernels; }

std::span<const FittedNumber> numbers_of_steps(std::size_t rows) {
  const std::span<const FittedNumber> all{of_steps};
  return rows < few_rows ? all.first(of_few_rows) : all;
}

}  // namespace stepcast
