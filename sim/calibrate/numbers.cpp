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
// The first five are seen by kernels and exchanges alone, the last by steps alone: the fill of a
// tile pipeline hides behind the peak in a step, a step cannot tell links from hosts, and a host
// that keeps ahead shows in no kernel.
constexpr std::array<FittedNumber, 13> numbers{{
    {"device.efficiency.matmul.fill", false, 1, 2048, 0.7,
     [](const ClusterSpec& c) { return c.device.efficiency.matmul.fill; },
     [](ClusterSpec& c, double v) { c.device.efficiency.matmul.fill = v; }},
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
    {"device.efficiency.matmul.peak", false, 0.3, 1, 0.1,
     [](const ClusterSpec& c) { return c.device.efficiency.matmul.peak; },
     [](ClusterSpec& c, double v) { c.device.efficiency.matmul.peak = v; }},
    {"device.efficiency.grouped_matmul.peak", false, 0.1, 1, 0.4,
     [](const ClusterSpec& c) { return c.device.efficiency.grouped_matmul.peak; },
     [](ClusterSpec& c, double v) { c.device.efficiency.grouped_matmul.peak = v; }},
    {"device.efficiency.attention.forward", false, 0.1, 1, 0.2,
     [](const ClusterSpec& c) { return c.device.efficiency.attention.forward; },
     [](ClusterSpec& c, double v) { c.device.efficiency.attention.forward = v; }},
    {"device.efficiency.attention.backward", false, 0.1, 1, 0.2,
     [](const ClusterSpec& c) { return c.device.efficiency.attention.backward; },
     [](ClusterSpec& c, double v) { c.device.efficiency.attention.backward = v; }},
    {"device.efficiency.memory.peak", false, 0.2, 1, 0.25,
     [](const ClusterSpec& c) { return c.device.efficiency.memory.peak; },
     [](ClusterSpec& c, double v) { c.device.efficiency.memory.peak = v; }},
    {"device.launch.vector", true, 0.5 * us, 30 * us, 0.5,
     [](const ClusterSpec& c) { return c.device.launch.vector.value(); },
     [](ClusterSpec& c, double v) { c.device.launch.vector = Seconds{v}; }},
    {"host.step_overhead", true, 100 * us, 2, 1,
     [](const ClusterSpec& c) { return c.host.step_overhead.value(); },
     [](ClusterSpec& c, double v) { c.host.step_overhead = Seconds{v}; }},
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

}  // namespace

std::span<const FittedNumber> fitted_numbers(Evidence evidence) {
  const std::span<const FittedNumber> all{numbers};
  return evidence == Evidence::steps ? all.subspan(5) : all.first(numbers.size() - 1);
}

}  // namespace stepcast
