#include "stepcast/workloads/operator_forecast.hpp"

#include <algorithm>
#include <array>

#include "stepcast/base/overloaded.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

bool is_fp8(const OperatorRequest& request) { return request.shape.type == ElementType::fp8; }

Seconds time_of_kernels(std::span<const Operator> kernels, const DeviceSpec& device, bool fp8) {
  Seconds sum{0};
  for (const Operator& op : kernels) sum += operator_time(op, device, fp8);
  return sum;
}

/// Resources are made faster by this part: too little to make another one the bound.
constexpr double small_step = 1e-4;

/// The part of the time that a faster resource takes away: whatever the form of the time is, this
/// says what it follows.
OperatorBound bound_of_kernels(std::span<const Operator> kernels, const DeviceSpec& device,
                               bool fp8, Seconds time) {
  const auto share = [&](auto make_faster) {
    DeviceSpec faster = device;
    make_faster(faster);
    // To first order: a resource on which all of the time depends takes off as much as it gains.
    return (1 - time_of_kernels(kernels, faster, fp8) / time) / small_step;
  };
  const double compute = share([](DeviceSpec& d) {
    d.matmul_peak = (1 + small_step) * d.matmul_peak;
    d.matmul_peak_fp8 = (1 + small_step) * d.matmul_peak_fp8;
  });
  const double memory =
      share([](DeviceSpec& d) { d.memory_bandwidth = (1 + small_step) * d.memory_bandwidth; });
  const double vector =
      share([](DeviceSpec& d) { d.vector_peak = (1 + small_step) * d.vector_peak; });
  // What no resource explains is the start of the kernels.
  const std::array shares{compute, memory, vector, 1 - compute - memory - vector};
  constexpr std::array bounds{OperatorBound::compute, OperatorBound::memory, OperatorBound::vector,
                              OperatorBound::launch};
  return bounds[static_cast<std::size_t>(std::ranges::max_element(shares) - shares.begin())];
}

/// What the data sheet allows: every FLOP at the peak of its cores, every byte at full bandwidth.
Seconds least_kernel_time(std::span<const Operator> kernels, const DeviceSpec& device, bool fp8) {
  const FlopsPerSecond matmul = fp8 ? device.matmul_peak_fp8 : device.matmul_peak;
  Seconds sum{0};
  for (const Operator& op : kernels) {
    const bool vector = std::holds_alternative<MemoryBoundWork>(op.work);
    const Seconds compute =
        op.flops.value() > 0 ? op.flops / (vector ? device.vector_peak : matmul) : Seconds{0};
    sum += std::max(compute, op.bytes / device.memory_bandwidth);
  }
  return sum;
}

/// The first devices of the cluster.
std::vector<DeviceId> first_devices(const OperatorRequest& request) {
  std::vector<DeviceId> members;
  for (std::int64_t i = 0; i < request.ranks; ++i)
    members.push_back(DeviceId{static_cast<std::uint32_t>(i)});
  return members;
}

CollectiveCall collective_call(const OperatorRequest& request) {
  return {*request.kind->collective, Bytes{request.shape.m}};
}

Seconds collective_time(const Fabric& fabric, const OperatorRequest& request) {
  const auto members = first_devices(request);
  return lone_time(fabric, plan_collective(fabric, members, collective_call(request), "auto"));
}

/// What the port of a device would need without loss. The bound of an all-reduce is that of
/// switches that reduce; ranks that do it themselves pass on what nccl-tests count.
Seconds least_collective_time(const Fabric& fabric, const OperatorRequest& request) {
  const auto members = first_devices(request);
  const CollectiveCall call = collective_call(request);
  const bool reduces = call.kind == CollectiveKind::all_reduce;
  const double passes = reduces ? bus_factor(call.kind, members.size()) : 1;
  return passes * node_efficiency(fabric.cluster().node_fabric) *
         bandwidth_bound(fabric, members, call);
}

/// The same cluster with links that are faster by that.
ClusterSpec with_faster_links(ClusterSpec cluster) {
  // A small step and not a factor of two: the time with faster links says what bounds it here, not
  // elsewhere.
  const auto hurry = [](LinkSpec& link) { link.bandwidth = (1 + small_step) * link.bandwidth; };
  std::visit(
      Overloaded{[&](MeshFabric& f) { hurry(f.link); }, [&](SwitchFabric& f) { hurry(f.port); },
                 [&](GroupFabric& f) {
                   hurry(f.link);
                   hurry(f.bridge);
                 },
                 [&](TorusFabric& f) {
                   for (GridDimension& side : f.dimensions) hurry(side.link);
                 },
                 [&](FullMeshFabric& f) {
                   for (GridDimension& side : f.dimensions) hurry(side.link);
                 },
                 [&](GraphFabric& f) {
                   for (GraphLink& wire : f.links) hurry(wire.link);
                 },
                 [](PlatformFabric& f) { f.efficiency *= 1 + small_step; }},
      cluster.node_fabric);
  if (cluster.super_node) hurry(cluster.super_node->fabric.port);
  hurry(cluster.network.nic.link);
  hurry(cluster.network.dragonfly.local);
  hurry(cluster.network.dragonfly.global);
  return cluster;
}

}  // namespace

const char* name(OperatorBound bound) {
  constexpr std::array names{"compute", "memory", "vector", "launch", "link", "latency"};
  return names[static_cast<std::size_t>(bound)];
}

OperatorForecaster::OperatorForecaster(const ClusterSpec& cluster) : fabric_{cluster} {}

std::int64_t OperatorForecaster::most_ranks() const {
  const ClusterSpec& c = cluster();
  const std::int64_t nodes = c.super_node ? c.super_node->nodes : 1;
  return std::min(nodes * c.node_devices, c.devices);
}

bool OperatorForecaster::has(ElementType type) const {
  return type != ElementType::fp8 || cluster().device.matmul_peak_fp8.value() > 0;
}

Seconds OperatorForecaster::time(const OperatorRequest& request) const {
  if (request.kind->kernels == nullptr) return collective_time(fabric_, request);
  return time_of_kernels(request.kind->kernels(request.shape), cluster().device, is_fp8(request));
}

OperatorForecast forecast_kernels(std::span<const Operator> all, const DeviceSpec& device,
                                  bool fp8) {
  OperatorForecast forecast;
  for (const Operator& op : all) {
    forecast.flops += op.flops;
    forecast.bytes += op.bytes;
    forecast.launch +=
        op.launch == LaunchClass::vector ? device.launch.vector : device.launch.matmul;
  }
  forecast.time = time_of_kernels(all, device, fp8);
  forecast.bound = bound_of_kernels(all, device, fp8, forecast.time);
  forecast.efficiency = least_kernel_time(all, device, fp8) / forecast.time;
  return forecast;
}

OperatorForecast OperatorForecaster::kernels(const OperatorRequest& request) const {
  return forecast_kernels(request.kind->kernels(request.shape), cluster().device, is_fp8(request));
}

OperatorForecast OperatorForecaster::collective(const OperatorRequest& request) const {
  OperatorForecast forecast;
  forecast.bytes = Bytes{request.shape.m};
  forecast.time = collective_time(fabric_, request);
  forecast.launch = cluster().device.launch.communication;
  const Fabric faster(with_faster_links(cluster()));
  // Latencies bound the time where faster links would save less than half of what they gain.
  const double share = (1 - collective_time(faster, request) / forecast.time) / small_step;
  forecast.bound = share >= 0.5 ? OperatorBound::link : OperatorBound::latency;
  forecast.efficiency = least_collective_time(fabric_, request) / forecast.time;
  return forecast;
}

OperatorForecast OperatorForecaster::forecast(const OperatorRequest& request) const {
  return request.kind->kernels == nullptr ? collective(request) : kernels(request);
}

}  // namespace stepcast
