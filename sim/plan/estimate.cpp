#include "estimate.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

constexpr double parameter_bytes = 2;  // bf16

// Megatron-LM, distributed_data_parallel.py: elements of a bucket, at least and per replica
constexpr double least_bucket = 40e6, bucket_per_replica = 1e6;

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

}  // namespace

bool plain_units(const PipelineSchedule& schedule) {
  return !schedule.pairs && !schedule.splits_backward && schedule.placement == ChunkPlacement::loop;
}

double family_bound(const Scenario& scenario, const LayerCosts& costs, bool plain) {
  const PieceCounts counts = model_pieces(scenario.workload.model);
  const auto stages = static_cast<double>(scenario.workload.plan.pp);
  const double unit = plain ? costs.device(counts) : costs.compute(counts);
  const auto micro_batches = static_cast<double>(scenario.micro_batches());
  return std::max(micro_batches * unit / stages, plain ? unit : 0);
}

LayoutEstimate::LayoutEstimate(const EstimateInput& input, const PlanLayout& layout)
    : input_{input},
      layout_{layout},
      placement_{input.scenario.workload.plan},
      micro_batches_{static_cast<double>(input.scenario.micro_batches())} {
  if (layout.stages.size() > 1) {
    const auto hop = input.times.hop(placement_.first_of(Stage{0}), placement_.first_of(Stage{1}),
                                     input.costs.boundary);
    hop_ = hop.latency + hop.alone;
  }
  const double gradient = gradient_bytes(input.scenario.workload.communication);
  for (const StageLayout& stage : layout.stages) {
    reduce_.push_back(
        data_time(CollectiveKind::reduce_scatter, gradient, stage.dense, stage.expert));
    gather_.push_back(
        data_time(CollectiveKind::all_gather, parameter_bytes, stage.dense, stage.expert));
  }
}

double LayoutEstimate::data_time(CollectiveKind kind, double bytes_each, double dense,
                                 double expert) const {
  const auto part = [&](GroupKind group, double parameters) {
    return input_.times.about(placement_, group, {kind, Bytes{bytes_each * parameters}}, Rank{0});
  };
  return part(GroupKind::dense_data, dense) + part(GroupKind::expert_data, expert);
}

double LayoutEstimate::optimizer(std::int64_t zero) const {
  const Scenario& s = input_.scenario;
  const ParallelPlan& plan = s.workload.plan;
  const double dense = zero == 0 ? 1 : static_cast<double>(plan.dp * plan.cp);
  const double expert = zero == 0 ? 1 : static_cast<double>(plan.edp());
  double longest = 0;
  for (const StageLayout& stage : layout_.stages) {
    const Operator step = optimizer_step(stage.dense / dense + stage.expert / expert);
    longest = std::max(longest, operator_time(step, s.cluster.device, false).value());
  }
  return longest;
}

/// Before a stage has its first micro-batch, and after its last one, a micro-batch passes the first
/// chunk of every stage before it.
double LayoutEstimate::bound(const PipelineSchedule& schedule, std::int64_t zero) const {
  double busiest = 0, before = 0, compute = 0, whole = 0;
  for (const StageLayout& stage : layout_.stages) {
    busiest = std::max(busiest, before + micro_batches_ * stage.unit);
    before += stage.first_chunk;
    whole += stage.unit;
    compute += stage.compute / static_cast<double>(layout_.stages.size());
  }
  const double pipeline =
      plain_units(schedule) ? std::max(busiest, whole) : micro_batches_ * compute;
  const bool meets_all = input_.scenario.workload.plan.world() > 1;
  return pipeline + (meets_all ? optimizer(zero) : 0);
}

double LayoutEstimate::contention(const StageLayout& stage, double unit, double moved) const {
  const ParallelPlan& plan = input_.scenario.workload.plan;
  const std::int64_t node = input_.scenario.cluster.node_devices;
  const double shared = stage.near + (plan.stage_ranks() > node ? stage.wide : 0);
  return unit > 0 ? std::min(moved, unit) * std::min(shared / unit, 1.0) : 0;
}

double LayoutEstimate::gathered_units(std::size_t s) const {
  const double gradient = gradient_bytes(input_.scenario.workload.communication);
  double time = 0;
  for (const PieceCounts& counts : layout_.stages[s].pieces) {
    double first = 0;
    for (std::size_t k = 0; k < plan_pieces; ++k) {
      if (counts[k] == 0) continue;
      const PieceCost& piece = input_.costs.pieces[k];
      const double gather =
          data_time(CollectiveKind::all_gather, parameter_bytes, piece.dense, piece.expert);
      const double reduce =
          data_time(CollectiveKind::reduce_scatter, gradient, piece.dense, piece.expert);
      time +=
          counts[k] * (std::max(piece.forward, gather) + std::max(piece.backward, gather + reduce));
      first = std::max(first, gather);
    }
    time += 2 * first;
  }
  return time;
}

/// `forwards_apart`: the schedule has no backward between its forwards that could be reduced.
double LayoutEstimate::paced(std::size_t s, std::int64_t zero, bool forwards_apart) const {
  const StageLayout& stage = layout_.stages[s];
  const double forward = sum_of(stage.forward), backward = sum_of(stage.backward);
  const double unit = forward + backward;
  if (zero < 2) return unit;
  const double moved = reduce_[s] + (zero == 3 ? 2 * gather_[s] : 0);
  if (!input_.scenario.workload.communication.gradient_overlap) return unit + moved;
  const double busy = zero == 3        ? std::max(unit, gathered_units(s))
                      : forwards_apart ? forward + std::max(backward, moved)
                                       : std::max(unit, moved);
  return busy + contention(stage, unit, moved);
}

/// Transfers that the pipeline waits for, as docs/models/pipeline.md has them for equal stages.
double LayoutEstimate::transfers(const PipelineSchedule& schedule) const {
  const auto p = static_cast<double>(layout_.stages.size());
  const double m = micro_batches_;
  if (p <= 1) return 0;
  const auto v = static_cast<double>(layout_.stages.front().forward.size());
  if (schedule.name == "1f1b" && m >= 2)
    return (2 * (m + p - 3) - 2 * std::floor((m - 2) / p)) * hop_;
  return 2 * (v * p - 1) * hop_;
}

/// The busiest stage, and around it one micro-batch through the first chunks of the others. A split
/// backward leaves about a third of that.
double LayoutEstimate::pipeline(const PipelineSchedule& schedule, std::int64_t zero) const {
  const bool apart = schedule.name == "gpipe";
  double pass = 0;
  for (const StageLayout& stage : layout_.stages)
    pass += stage.forward.front() + stage.backward.front();
  double longest = 0;
  for (std::size_t s = 0; s < layout_.stages.size(); ++s) {
    const StageLayout& stage = layout_.stages[s];
    const double others = pass - stage.forward.front() - stage.backward.front();
    const double bubble = schedule.splits_backward ? others / 3 : others;
    longest = std::max(longest, bubble + micro_batches_ * paced(s, zero, apart));
  }
  return longest;
}

/// What of the gathers before and the reductions behind the work of a stage nothing hides: the last
/// bucket, or what is left when the chunks have ended, which they do a round of stages apart.
double LayoutEstimate::gradients(std::size_t s, std::int64_t zero) const {
  const auto& spec = input_.scenario.workload;
  const StageLayout& stage = layout_.stages[s];
  const double reduced = (zero == 0 ? 2 : 1) * reduce_[s];
  const double gathered = zero == 0 || zero == 3 ? 0 : gather_[s];
  if (!spec.communication.gradient_overlap) return (zero < 2 ? reduced : 0) + gathered;
  const double replicas = static_cast<double>(spec.plan.dp * spec.plan.cp);
  const double bucket = spec.communication.bucket
                            ? static_cast<double>(*spec.communication.bucket)
                            : std::max(least_bucket, bucket_per_replica * replicas);
  const auto chunks = static_cast<double>(stage.forward.size());
  const double buckets = std::max(chunks, (stage.dense + stage.expert) / bucket);
  const double rounds = (chunks - 1) * static_cast<double>(layout_.stages.size()) + 1;
  const double tail = std::max(reduced / buckets, reduced - rounds * stage.backward.front());
  const double ahead = std::max(gathered / buckets, gathered / chunks - stage.forward.front());
  return (zero < 2 ? tail : reduced / buckets) + (s == 0 ? ahead : 0);
}

double LayoutEstimate::estimate(const PipelineSchedule& schedule, std::int64_t zero) const {
  double exposed = 0;
  for (std::size_t s = 0; s < layout_.stages.size(); ++s)
    exposed = std::max(exposed, gradients(s, zero));
  return pipeline(schedule, zero) + transfers(schedule) + exposed + optimizer(zero);
}

}  // namespace stepcast
