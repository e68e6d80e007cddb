#include "program_builder.hpp"

#include <utility>

#include "stepcast/base/errors.hpp"
#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {

namespace {

Seconds of_class(const OperatorClassTimes& times, LaunchClass launch) {
  switch (launch) {
    case LaunchClass::matmul:
      return times.matmul;
    case LaunchClass::vector:
      return times.vector;
    case LaunchClass::communication:
      return times.communication;
  }
  return Seconds{0};
}

Stream stream_of(GroupKind group) {
  switch (group) {
    case GroupKind::tensor:
      return Stream::tensor;
    case GroupKind::context:
      return Stream::context;
    case GroupKind::expert:
    case GroupKind::expert_tensor:
      return Stream::expert;
    default:
      return Stream::data;
  }
}

ExposedKind exposed_kind(Stream stream) {
  switch (stream) {
    case Stream::tensor:
      return ExposedKind::tensor;
    case Stream::expert:
      return ExposedKind::expert;
    case Stream::context:
      return ExposedKind::context;
    case Stream::data:
      break;
  }
  return ExposedKind::data;
}

}  // namespace

const char* name(ExposedKind kind) {
  static constexpr const char* names[] = {"tensor", "expert", "pipeline", "data", "context"};
  static_assert(std::size(names) == exposed_kinds);
  return names[static_cast<std::size_t>(kind)];
}

OperatorCost issue_cost(LaunchClass launch, const RuntimeSpec& runtime,
                        const ClusterSpec& cluster) {
  const HostSpec& host = cluster.host;
  const double dispatch = of_class(host.dispatch, launch).value() / runtime.host_speed;
  OperatorCost cost;
  switch (runtime.dispatch) {
    case RuntimeSpec::Dispatch::eager:
      cost.main = dispatch;
      break;
    case RuntimeSpec::Dispatch::task_queue:
      cost.main = host.task_queue_main * dispatch;
      cost.worker = host.task_queue_worker * dispatch;
      break;
    case RuntimeSpec::Dispatch::graph_sink:
      cost.main = host.graph_sink_factor * dispatch;
      break;
  }
  return cost;
}

double group_size(const ParallelPlan& plan, GroupKind group) {
  const auto size = [&]() -> std::int64_t {
    switch (group) {
      case GroupKind::tensor:
        return plan.tp;
      case GroupKind::context:
        return plan.cp;
      case GroupKind::data:
        return plan.dp;
      case GroupKind::pipeline:
        return plan.pp;
      case GroupKind::expert:
        return plan.ep;
      case GroupKind::expert_tensor:
        return plan.etp;
      case GroupKind::expert_data:
        return plan.edp();
      case GroupKind::dense_data:
        return plan.dp * plan.cp;
      case GroupKind::embedding:
        return plan.pp > 1 ? 2 : 1;
      case GroupKind::world:
        return plan.world();
    }
    return 1;
  };
  return static_cast<double>(size());
}

ProgramBuilder::ProgramBuilder(const WorkloadSpec& spec, const ClusterSpec& cluster)
    : spec_{spec}, cluster_{cluster} {
  program_.send_issue = issue_cost(LaunchClass::communication, spec.runtime, cluster);
}

void ProgramBuilder::lower(const LayerItems& items, Instructions& out) {
  std::vector<OperatorCost> run;
  const auto flush = [&] {
    if (!run.empty()) out.push_back(Compute{segment_of(std::exchange(run, {}))});
  };
  for (const LayerItem& item : items) {
    if (const auto* op = std::get_if<Operator>(&item)) {
      run.push_back(cost(*op));
      continue;
    }
    if (std::holds_alternative<HostReadback>(item) && !reads_back()) continue;
    flush();
    if (const auto* call = std::get_if<LayerCommunication>(&item)) {
      const std::uint32_t slot = slot_of(call->name);
      issue(call->name, call->group, call->call, slot, true, out, call->algorithm);
      if (!call->overlapped) out.push_back(Wait{slot});
    } else if (const auto* wait = std::get_if<WaitFor>(&item)) {
      expects(slots_.contains(wait->name), "a layer waits for a communication that it has issued");
      out.push_back(Wait{slot_of(wait->name)});
    } else {
      out.push_back(HostSync{});
    }
  }
  flush();
}

void ProgramBuilder::compute(const Operator& op, Instructions& out) {
  out.push_back(Compute{segment_of({cost(op)})});
}

void ProgramBuilder::host_work(Seconds time, Instructions& out) {
  if (time.value() == 0) return;
  OperatorCost work;
  work.main = time.value() / spec_.runtime.host_speed;
  out.push_back(Compute{segment_of({work})});
}

void ProgramBuilder::issue(const std::string& name, GroupKind group, CollectiveCall call,
                           std::uint32_t slot, bool after_compute, Instructions& out,
                           const std::string& algorithm) {
  out.push_back(Communicate{call_of(name, group, call, algorithm), slot, after_compute});
}

void ProgramBuilder::blocking(const std::string& name, GroupKind group, CollectiveCall call,
                              Instructions& out) {
  const std::uint32_t slot = slot_of(name);
  issue(name, group, call, slot, true, out);
  out.push_back(Wait{slot});
}

OperatorCost ProgramBuilder::cost(const Operator& op) const {
  OperatorCost cost = issue_cost(op.launch, spec_.runtime, cluster_);
  const bool fp8 = spec_.training.precision == TrainingSpec::Precision::fp8_mixed;
  cost.device = operator_time(op, cluster_.device, fp8).value();
  if (cost.device > 0) cost.device += of_class(cluster_.device.launch, op.launch).value();
  return cost;
}

std::uint32_t ProgramBuilder::slot_of(const std::string& name) {
  const auto [place, fresh] = slots_.try_emplace(name, program_.slots);
  if (fresh) ++program_.slots;
  return place->second;
}

std::uint32_t ProgramBuilder::segment_of(std::vector<OperatorCost> operators) {
  SegmentKey key;
  for (const OperatorCost& c : operators) key.push_back({c.main, c.worker, c.launch, c.device});
  const auto next = static_cast<std::uint32_t>(program_.segments.size());
  const auto [place, fresh] = segments_.try_emplace(std::move(key), next);
  if (fresh) program_.segments.emplace_back(std::move(operators));
  return place->second;
}

std::uint32_t ProgramBuilder::call_of(const std::string& name, GroupKind group, CollectiveCall call,
                                      const std::string& algorithm) {
  const auto next = static_cast<std::uint32_t>(program_.calls.size());
  const auto [place, fresh] =
      calls_.try_emplace(CallKey{name, group, call.kind, call.bytes.value(), algorithm}, next);
  if (fresh) {
    const Stream stream = stream_of(group);
    program_.calls.push_back({name, group, call, stream, exposed_kind(stream),
                              issue_cost(LaunchClass::communication, spec_.runtime, cluster_),
                              algorithm});
  }
  return place->second;
}

}  // namespace stepcast
