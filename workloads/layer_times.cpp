#include <algorithm>
#include <array>
#include <map>

#include "layer_order.hpp"
#include "program_builder.hpp"
#include "stage_pieces.hpp"
#include "stepcast/workloads/expert_loads.hpp"
#include "stepcast/workloads/operator_time.hpp"
#include "stepcast/workloads/program.hpp"

/// What a balanced split looks at: docs/models/operators.md, "Layers on stages".
namespace stepcast {

namespace {

/// What the pass computes on the device [s].
double device_time(const LayerItems& items, const DeviceSpec& device, bool fp8) {
  double sum = 0;
  for (const LayerItem& item : items)
    if (const auto* op = std::get_if<Operator>(&item))
      sum += operator_time(*op, device, fp8).value();
  return sum;
}

/// What issuing the items takes of the busier host thread [s]; what stands between them, as offload
/// and transfers of the pipeline, is left out.
double host_time(const LayerItems& items, const RuntimeSpec& runtime, const ClusterSpec& cluster) {
  double main = 0, worker = 0;
  bool in_graph = false;  // as ProgramBuilder::lower has it
  for (const LayerItem& item : items) {
    OperatorCost cost;
    const auto* op = std::get_if<Operator>(&item);
    if (op != nullptr) cost = operator_issue(*op, runtime, cluster, in_graph);
    in_graph = op != nullptr && op->captured;
    if (const auto* call = std::get_if<LayerCommunication>(&item))
      cost = exchange_issue(call->in_kernel, call->kernel, runtime, cluster);
    main += cost.main;
    worker += cost.worker;
  }
  return std::max(main, worker);
}

/// What the pass takes a device beyond its computing when the host is ahead [s]: starts of kernels,
/// and waits for communications, from an estimate of these.
double waits_of(const LayerItems& items, const std::vector<double>& times, double computing) {
  double device = 0;
  std::array<double, streams> free{};
  std::map<CommunicationId, double> under_way;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (const auto* call = std::get_if<LayerCommunication>(&items[i])) {
      double& stream = free[static_cast<std::size_t>(stream_of(call->group))];
      stream = std::max(stream, device) + times[i];
      // Others than overlapped ones are waited for at once.
      (call->overlapped ? under_way[call->id] : device) = stream;
    } else if (const auto* wait = std::get_if<WaitFor>(&items[i])) {
      device = std::max(device, under_way[wait->id]);
    } else {
      device += times[i];
    }
  }
  return std::max(device - computing, 0.0);
}

struct PassTime {
  double device = 0, host = 0;

  PassTime& operator+=(const PassTime& other) {
    device += other.device;
    host += other.host;
    return *this;
  }
  friend PassTime operator+(PassTime a, const PassTime& b) { return a += b; }
};

class PassTimes {
 public:
  PassTimes(const WorkloadSpec& spec, const ClusterSpec& cluster)
      : spec_{spec}, cluster_{cluster}, device_{in_step(cluster.device)} {}

  /// Forward and backward time of a piece over all slices, its recomputed forward included.
  PassTime piece(PieceKey key) const {
    const ExpertLoads loads = expert_loads(spec_);
    // the slowest rank sets the pace of its expert group
    PassTime time;
    for (key.slice = 0; key.slice < spec_.plan.slices; ++key.slice) {
      const Passes passes = build_passes(spec_, device_, key, loads, loads.largest());
      time += of(passes.forward) + of(passes.backward);
      if (spec_.training.recompute == TrainingSpec::Recompute::full) time += of(passes.recomputed);
    }
    return time;
  }

 private:
  /// What a device waits for is left out of its time, and off that of the host, which gets so much
  /// further ahead meanwhile. A host that waits in a pass cannot run ahead of the next one, so that
  /// the pass takes the longer of the two by itself; one that blocks at each launch
  /// (`host.queue_depth: 1`) takes both.
  PassTime of(const LayerItems& items) const {
    const bool fp8 = spec_.training.precision == TrainingSpec::Precision::fp8_mixed;
    const double device = device_time(items, device_, fp8);
    const double issued = host_time(items, spec_.runtime, cluster_);
    if (cluster_.host.queue_depth == 1) return {device + issued, device + issued};
    const auto times = expected_times(items, cluster_, spec_.plan, device_, fp8);
    const double host = std::max(issued - waits_of(items, times, device), 0.0);
    const double longer = std::max(device, host);
    return drained(items) ? PassTime{longer, longer} : PassTime{device, host};
  }

  /// Whether the host waits for the device somewhere in it.
  bool drained(const LayerItems& items) const {
    return spec_.runtime.dispatch != RuntimeSpec::Dispatch::graph_sink &&
           std::ranges::any_of(items, [](const LayerItem& item) {
             return std::holds_alternative<HostReadback>(item);
           });
  }

  const WorkloadSpec& spec_;
  const ClusterSpec& cluster_;
  const DeviceSpec device_;
};

}  // namespace

LayerTimes layer_times(const WorkloadSpec& spec, const ClusterSpec& cluster) {
  const PassTimes passes(spec, cluster);
  LayerTimes times;
  times.host.prefix = {0};
  // Layers that are alike are timed once.
  std::map<PieceKey, PassTime> known;
  for (std::int64_t layer = 0; layer < spec.model.layers; ++layer) {
    const PieceKey key = layer_key(spec.model, layer);
    const auto [place, fresh] = known.try_emplace(key);
    if (fresh) place->second = passes.piece(key);
    times.prefix.push_back(times.prefix.back() + place->second.device);
    times.host.prefix.push_back(times.host.prefix.back() + place->second.host);
  }
  const PassTime before = passes.piece({PieceKind::embedding});
  const PassTime after = passes.piece({PieceKind::head});
  times.before = before.device;
  times.host.before = before.host;
  times.after = after.device;
  times.host.after = after.host;
  if (spec.model.mtp_layers > 0) {
    const PassTime module = passes.piece({PieceKind::mtp_module});
    const auto modules = static_cast<double>(spec.model.mtp_layers);
    times.after += modules * module.device;
    times.host.after += modules * module.host;
  }
  if (times.prefix.back() > 0 || times.host.prefix.back() > 0) return times;
  // on an ideal device nothing takes time: balance the number of layers
  for (std::size_t i = 1; i < times.prefix.size(); ++i) times.prefix[i] = static_cast<double>(i);
  return times;
}

}  // namespace stepcast
