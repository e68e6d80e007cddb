#include "program_builder.hpp"

#include <algorithm>
#include <utility>

#include "attention_time.hpp"
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
    case LaunchClass::in_kernel:
      // A collective inside a kernel is issued by the kernel, not by the host.
      break;
  }
  return Seconds{0};
}

/// What a wait for the stream counts as.
ExposedKind exposed_kind(Stream stream) {
  switch (stream) {
    case Stream::tensor:
      return ExposedKind::tensor;
    case Stream::expert:
    case Stream::expert_outer:
      return ExposedKind::expert;
    case Stream::context:
      return ExposedKind::context;
    case Stream::to_host:
    case Stream::from_host:
      return ExposedKind::offload;
    case Stream::data:
      break;
  }
  return ExposedKind::data;
}

/// Of one launch, eager. What a kernel launches that runs already costs the host nothing.
Seconds host_time(const HostSpec& host, LaunchClass launch, bool in_call) {
  // With a queue of one the host waits for every kernel (CUDA_LAUNCH_BLOCKING), which was measured
  // as one number.
  if (host.queue_depth == 1 && host.blocking_given) return host.blocking;
  const bool follows = in_call && host.library_launch_given && launch != LaunchClass::in_kernel;
  return follows ? host.library_launch : of_class(host.dispatch, launch);
}

/// Mean host time that an operator of a routed shape waits for its kernel [s].
double compile_cost(const RuntimeSpec& runtime, const HostSpec& host) {
  const bool bytecode = runtime.fusion == RuntimeSpec::Fusion::dvm;
  const Seconds one = bytecode ? host.compile_bytecode : host.compile_kernel;
  return runtime.compile_misses * one.value() / runtime.host_speed;
}

}  // namespace

Stream stream_of(GroupKind group) {
  // What belongs to a layer's own groups goes beside that layer; reductions, gathers and updates
  // share one stream, as frameworks give data parallelism one communicator stream.
  switch (group) {
    case GroupKind::tensor:
      return Stream::tensor;
    case GroupKind::context:
      return Stream::context;
    case GroupKind::expert:
    case GroupKind::expert_tensor:
    case GroupKind::expert_inner:
      return Stream::expert;
    case GroupKind::expert_outer:
      return Stream::expert_outer;
    case GroupKind::data:
    case GroupKind::pipeline:
    case GroupKind::expert_data:
    case GroupKind::dense_data:
    case GroupKind::embedding:
    case GroupKind::mirror:
    case GroupKind::world:
    case GroupKind::dense_shard:
    case GroupKind::dense_replica:
    case GroupKind::expert_shard:
    case GroupKind::expert_replica:
      break;
  }
  return Stream::data;
}

Seconds start_cost(LaunchClass launch, const DeviceSpec& device) {
  return launch == LaunchClass::in_kernel ? device.tile_task : of_class(device.launch, launch);
}

const char* name(ExposedKind kind) {
  static constexpr const char* names[] = {"tensor", "expert",  "pipeline",
                                          "data",   "context", "offload"};
  static_assert(std::size(names) == exposed_kinds);
  return names[static_cast<std::size_t>(kind)];
}

double AttentionScaling::factor(double pairs, double tokens) const {
  // What is lost at the diagonal follows the tokens, all other work the pairs that see each other.
  const double share = (pairs + half * tokens) / (1 + half);
  return (fixed + std::max(share * work, floor)) / (fixed + std::max(work, floor));
}

OperatorCost issue_cost(LaunchClass launch, const RuntimeSpec& runtime, const ClusterSpec& cluster,
                        bool in_call) {
  const HostSpec& host = cluster.host;
  const Seconds each = host_time(host, launch, in_call);
  const double dispatch = each.value() / runtime.host_speed;
  OperatorCost cost;
  switch (runtime.dispatch) {
    case RuntimeSpec::Dispatch::eager:
      cost.main = dispatch;
      break;
    // One thread hands operators over, another launches them (docs/models/segments.md).
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

OperatorCost operator_issue(const Operator& op, const RuntimeSpec& runtime,
                            const ClusterSpec& cluster, bool in_graph) {
  OperatorCost cost = issue_cost(op.launch, runtime, cluster, op.in_call);
  // The main thread compiles shapes that no cache holds before it issues them.
  if (op.begins_again)
    cost.main += static_cast<double>(runtime.recompute_statements) *
                 cluster.host.statement.value() / runtime.host_speed;
  if (op.routed) cost.compile = compile_cost(runtime, cluster.host);
  cost.main += cost.compile;
  // The first operator of a graph is launched as any other: it stands for the launch of the whole.
  if (!in_graph || !op.captured) return cost;
  // One launch for the graph, so that each operator in it costs the host a part of its own.
  cost.main *= cluster.host.graph_sink_factor;
  cost.compile *= cluster.host.graph_sink_factor;
  return cost;
}

OperatorCost exchange_issue(bool in_kernel, ExchangeKernel kernel, const RuntimeSpec& runtime,
                            const ClusterSpec& cluster) {
  // The loop that launches the pieces of a product launches their exchanges.
  return issue_cost(in_kernel ? LaunchClass::in_kernel : LaunchClass::communication, runtime,
                    cluster, kernel == ExchangeKernel::pieces);
}

ProgramBuilder::ProgramBuilder(const WorkloadSpec& spec, const ClusterSpec& cluster,
                               std::size_t variants, OperatorInventory* inventory)
    : spec_{spec}, cluster_{cluster}, device_{in_step(cluster.device)}, inventory_{inventory} {
  if (inventory_ != nullptr) inventory_->of.resize(variants);
  program_.send_issue = issue_cost(LaunchClass::communication, spec.runtime, cluster);
  program_.variants.resize(variants - 1);
}

void ProgramBuilder::lower(const std::vector<LayerItems>& variants, Instructions& out) {
  std::vector<Run> runs(variants.size());
  for (const LayerItems& items : variants)
    expects(items.size() == variants.front().size(),
            "variants differ in the work of operators only");
  bool in_graph = false;  // the operator before was launched with a graph
  // A segment is a run of operators with nothing in between that another rank or the host waits
  // for.
  const auto flush = [&] {
    if (runs.front().costs.empty()) return;
    out.push_back(Compute{segment_of(runs)});
    runs.assign(variants.size(), {});
  };
  for (std::size_t i = 0; i < variants.front().size(); ++i) {
    const LayerItem& item = variants.front()[i];
    if (const auto* op = std::get_if<Operator>(&item)) {
      // Documents differ by micro-batch, so that attention over them has a segment of its own.
      if (const auto* attention = std::get_if<AttentionWork>(&op->work);
          attention != nullptr && spec_.documents) {
        flush();
        out.push_back(Compute{scaled_segment(*op, *attention, in_graph)});
        in_graph = op->captured;
        continue;
      }
      const std::uint32_t called = name_of(op->name);
      for (std::size_t v = 0; v < variants.size(); ++v) {
        const auto& of_variant = std::get<Operator>(variants[v].at(i));
        add(of_variant, beside_communication(cost(of_variant, in_graph), of_variant), runs[v],
            of_variant.name == op->name ? called : name_of(of_variant.name));
      }
      in_graph = op->captured;
      continue;
    }
    in_graph = false;
    // A graph that runs on the device as a whole reads nothing back on its way.
    const bool to_host =
        std::holds_alternative<HostReadback>(item) || std::holds_alternative<CopyToHost>(item);
    if (to_host && !reads_back()) continue;
    flush();
    communicate(item, out);
  }
  flush();
}

void ProgramBuilder::communicate(const LayerItem& item, Instructions& out) {
  if (const auto* call = std::get_if<LayerCommunication>(&item)) {
    const std::uint32_t slot = slot_of(call->id);
    issue(call->name, call->group, call->call, slot, true, out, call->algorithm, call->in_kernel,
          call->kernel);
    // Until its WaitFor operators run beside it.
    if (call->overlapped) {
      expects(call->id.role != CommunicationRole::other, "what is waited for later has a role");
      under_way_.insert(call->id);
    } else {
      out.push_back(Wait{slot});
    }
  } else if (const auto* wait = std::get_if<WaitFor>(&item)) {
    expects(under_way_.erase(wait->id) == 1,
            "a layer waits for a communication that it has issued");
    out.push_back(Wait{slot_of(wait->id)});
  } else if (const auto* readback = std::get_if<HostReadback>(&item)) {
    out.push_back(HostSync{readback->of_copy});
  } else {
    out.push_back(HostCopy{});
  }
}

void ProgramBuilder::compute(const Operator& op, Instructions& out) {
  Run run;
  add(op, cost(op), run);
  out.push_back(Compute{segment_of({std::move(run)})});
}

void ProgramBuilder::host_work(const char* name, Seconds time, Instructions& out) {
  memory_work(name, Seconds{time.value() / spec_.runtime.host_speed}, out);
}

void ProgramBuilder::memory_work(const char* name, Seconds time, Instructions& out) {
  if (time.value() == 0) return;
  OperatorCost work;
  work.main = time.value();
  Run run;
  add(name, work, run);
  out.push_back(Compute{segment_of({std::move(run)})});
}

void ProgramBuilder::library_launches(const char* name, double count, int statements,
                                      Instructions& out) {
  OperatorCost one = issue_cost(LaunchClass::vector, spec_.runtime, cluster_, true);
  one.main += statements * cluster_.host.statement.value() / spec_.runtime.host_speed;
  // One thread alone: the launches follow each other, so that their sum is enough.
  if (one.worker == 0) return memory_work(name, Seconds{count * one.main}, out);
  Run run;  // the worker takes each as it comes
  for (int i = 0; i < static_cast<int>(count); ++i) add(name, one, run);
  out.push_back(Compute{segment_of({std::move(run)})});
}

void ProgramBuilder::issue(const std::string& name, GroupKind group, CollectiveCall call,
                           std::uint32_t slot, bool after_compute, Instructions& out,
                           const std::string& algorithm, bool in_kernel, ExchangeKernel kernel) {
  const Stream stream = stream_of(group);
  const OperatorCost cost = exchange_issue(in_kernel, kernel, spec_.runtime, cluster_);
  const StageCall stage_call{.name = name,
                             .group = group,
                             .call = std::move(call),
                             .stream = stream,
                             .kind = exposed_kind(stream),
                             .issue = cost,
                             .algorithm = algorithm,
                             .in_kernel = in_kernel,
                             .kernel = kernel};
  out.push_back(Communicate{call_of(stage_call), slot, after_compute});
}

void ProgramBuilder::blocking(const std::string& name, GroupKind group, CollectiveCall call,
                              Instructions& out) {
  const std::uint32_t slot = slot_of({});
  issue(name, group, std::move(call), slot, true, out);
  out.push_back(Wait{slot});
}

OperatorCost ProgramBuilder::cost(const Operator& op, bool in_graph) const {
  OperatorCost cost = operator_issue(op, spec_.runtime, cluster_, in_graph);
  const bool fp8 = spec_.training.precision == TrainingSpec::Precision::fp8_mixed;
  cost.device = operator_time(op, device_, fp8).value();
  // Work that another kernel does has no launch of its own.
  if (!(cost.device > 0)) return cost;
  const double start = start_cost(op.launch, cluster_.device).value();
  if (device_.power_cap) {
    // What starts a kernel takes as long at any clock.
    const double draw = power_draw(op, device_, fp8), kernel = cost.device;
    cost.draw = draw > 1 ? (kernel + start) / (kernel / draw + start) : draw;
  }
  cost.device += start;
  return cost;
}

/// A kernel that exchanges tiles itself was measured with its exchanges.
OperatorCost ProgramBuilder::beside_communication(OperatorCost cost, const Operator& op) const {
  const bool exchanges =
      op.launch == LaunchClass::in_kernel || std::holds_alternative<FusedWork>(op.work);
  // A running exchange takes memory bandwidth and cores from products; what vector kernels lose is
  // in their measured times.
  if (under_way_.empty() || exchanges) return cost;
  if (op.launch != LaunchClass::vector) cost.device *= cluster_.device.interference_matmul;
  return cost;
}

std::uint32_t ProgramBuilder::slot_of(const CommunicationId& id) {
  // Layers repeat, and a slot is free again when its communication was waited for: one for each
  // role is enough.
  const auto [place, fresh] = slots_.try_emplace(id, program_.slots);
  if (fresh) ++program_.slots;
  return place->second;
}

std::uint32_t ProgramBuilder::scaled_segment(const Operator& op, const AttentionWork& work,
                                             bool in_graph) {
  // Whatever documents leave out, the kernel reads and writes all of its operands.
  Operator traffic = op;
  traffic.work = MemoryBoundWork{};
  traffic.flops = Flops{0};
  AttentionScaling scaling;
  const Seconds ramp = attention_pass(work, device_).ramp;
  scaling.fixed = (of_class(cluster_.device.launch, op.launch) + ramp).value();
  scaling.work = attention_compute_time(op, work, device_).value();
  scaling.floor =
      std::max(operator_time(traffic, device_, false), shortest_attention(op, work, device_))
          .value();
  scaling.half = attention_loss(op, work, device_);
  Run run;
  add(op, beside_communication(cost(op, in_graph), op), run);
  return segment_of({std::move(run)}, scaling);
}

std::uint32_t ProgramBuilder::name_of(const std::string& name) {
  const auto next = static_cast<std::uint32_t>(program_.operator_names.size());
  const auto [place, fresh] = names_.try_emplace(name, next);
  if (fresh) program_.operator_names.push_back(name);
  return place->second;
}

void ProgramBuilder::add(std::uint32_t called, const OperatorCost& cost, Run& run) {
  run.costs.push_back(cost);
  run.names.push_back(called);
  if (inventory_ != nullptr) run.kept.push_back(OperatorInventory::none);
}

void ProgramBuilder::add(const std::string& name, const OperatorCost& cost, Run& run) {
  add(name_of(name), cost, run);
}

void ProgramBuilder::add(const Operator& op, const OperatorCost& cost, Run& run,
                         std::uint32_t called) {
  add(called, cost, run);
  if (inventory_ != nullptr) run.kept.back() = keep(op, cost);
}

void ProgramBuilder::add(const Operator& op, const OperatorCost& cost, Run& run) {
  add(op, cost, run, name_of(op.name));
}

std::uint32_t ProgramBuilder::keep(const Operator& op, const OperatorCost& cost) {
  const auto next = static_cast<std::uint32_t>(inventory_->operators.size());
  const auto [place, fresh] =
      kept_.try_emplace({op.name, op.flops.value(), op.bytes.value(), cost.device}, next);
  if (fresh) inventory_->operators.push_back(op);
  return place->second;
}

std::uint32_t ProgramBuilder::segment_of(std::vector<Run> variants,
                                         const AttentionScaling& scaling) {
  // All that a replay sees, so that equal segments are stored once.
  SegmentKey key{{scaling.fixed, scaling.work, scaling.floor, scaling.half, 0, 0, 0}};
  for (const Run& run : variants) {
    for (std::size_t i = 0; i < run.costs.size(); ++i) {
      const OperatorCost& c = run.costs[i];
      key.push_back({c.main, c.worker, c.launch, c.device, c.draw, c.compile,
                     static_cast<double>(run.names[i])});
    }
  }
  const auto next = static_cast<std::uint32_t>(program_.segments.size());
  const auto [place, fresh] = segments_.try_emplace(std::move(key), next);
  if (!fresh) return place->second;
  if (inventory_ != nullptr)
    for (std::size_t v = 0; v < inventory_->of.size(); ++v)
      inventory_->of[v].push_back(variants[variants.size() == 1 ? 0 : v].kept);
  // `segments` holds the first variant.
  for (std::size_t v = 0; v < program_.variants.size(); ++v)
    program_.variants[v].emplace_back(variants[variants.size() == 1 ? 0 : v + 1].costs);
  program_.segment_names.push_back(std::move(variants.front().names));
  program_.segments.emplace_back(std::move(variants.front().costs));
  if (spec_.documents) program_.attention.push_back(scaling);
  return place->second;
}

std::uint32_t ProgramBuilder::call_of(const StageCall& call) {
  const auto next = static_cast<std::uint32_t>(program_.calls.size());
  const auto [place, fresh] =
      calls_.try_emplace(CallKey{call.name, call.group, call.call.kind, call.call.bytes.value(),
                                 call.algorithm, call.call.skew, call.in_kernel},
                         next);
  if (fresh) program_.calls.push_back(call);
  return place->second;
}

bool uses_group(const std::vector<StageProgram>& programs, GroupKind kind) {
  return std::ranges::any_of(programs, [kind](const StageProgram& p) {
    return std::ranges::any_of(
        p.calls, [kind](const StageCall& c) { return c.group == kind && !c.over_host_link(); });
  });
}

}  // namespace stepcast
