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

FamilyNetwork::FamilyNetwork(const Scenario& scenario, const LayerCosts& costs,
                             CollectiveTimes& times)
    : times_{times}, gradient_{gradient_bytes(scenario.workload.communication)} {
  const Placement placement(scenario.workload.plan);
  dense_ = times.members(placement, GroupKind::dense_data, Rank{0});
  expert_ = times.members(placement, GroupKind::expert_data, Rank{0});
  if (scenario.workload.plan.pp > 1) {
    const auto hop =
        times.hop(placement.first_of(Stage{0}), placement.first_of(Stage{1}), costs.boundary);
    hop_ = hop.latency + hop.alone;
  }
  for (std::size_t k = 0; k < plan_pieces; ++k) {
    const PieceCost& piece = costs.pieces[k];
    pieces_[k] = {gather(piece.dense, piece.expert), reduce(piece.dense, piece.expert)};
  }
}

double FamilyNetwork::moved(CollectiveKind kind, double bytes_each, double dense, double expert) {
  return times_.about(dense_, {kind, Bytes{bytes_each * dense}}) +
         times_.about(expert_, {kind, Bytes{bytes_each * expert}});
}

double FamilyNetwork::reduce(double dense, double expert) {
  return moved(CollectiveKind::reduce_scatter, gradient_, dense, expert);
}

double FamilyNetwork::gather(double dense, double expert) {
  return moved(CollectiveKind::all_gather, parameter_bytes, dense, expert);
}

LayoutEstimate::LayoutEstimate(const EstimateInput& input, const PlanLayout& layout)
    : input_{input},
      layout_{layout},
      micro_batches_{static_cast<double>(input.scenario.micro_batches())} {
  for (const StageLayout& stage : layout.kinds)
    moved_.push_back({input.network.reduce(stage.dense, stage.expert),
                      input.network.gather(stage.dense, stage.expert), gathered_units(stage),
                      sum_of(stage.forward), sum_of(stage.backward)});
  const ParallelPlan& plan = input.scenario.workload.plan;
  whole_step_ = longest_step(1, 1);
  sharded_step_ =
      longest_step(static_cast<double>(plan.dp * plan.cp), static_cast<double>(plan.edp()));
  bound_pipeline();
}

double LayoutEstimate::longest_step(double dense_ranks, double expert_ranks) const {
  double longest = 0;
  for (const StageLayout& stage : layout_.kinds) {
    const Operator step = optimizer_step(stage.dense / dense_ranks + stage.expert / expert_ranks);
    longest = std::max(longest, operator_time(step, input_.scenario.cluster.device, false).value());
  }
  return longest;
}

/// Before a stage has its first micro-batch, and after its last one, a micro-batch passes the first
/// chunk of every stage before it.
void LayoutEstimate::bound_pipeline() {
  double busiest = 0, before = 0, compute = 0, whole = 0;
  for (const std::size_t kind : layout_.kind_of) {
    const StageLayout& stage = layout_.kinds[kind];
    busiest = std::max(busiest, before + micro_batches_ * stage.unit);
    before += stage.first_chunk;
    whole += stage.unit;
    compute += stage.compute / static_cast<double>(layout_.stages());
    pass_ += stage.forward.front() + stage.backward.front();
  }
  plain_bound_ = std::max(busiest, whole);
  any_bound_ = micro_batches_ * compute;
}

double LayoutEstimate::bound(const PipelineSchedule& schedule, std::int64_t zero) const {
  const bool meets_all = input_.scenario.workload.plan.world() > 1;
  return (plain_units(schedule) ? plain_bound_ : any_bound_) + (meets_all ? optimizer(zero) : 0);
}

double LayoutEstimate::contention(const StageLayout& stage, double unit, double moved) const {
  const ParallelPlan& plan = input_.scenario.workload.plan;
  const std::int64_t node = input_.scenario.cluster.node_devices;
  const double shared = stage.near + (plan.stage_ranks() > node ? stage.wide : 0);
  return unit > 0 ? std::min(moved, unit) * std::min(shared / unit, 1.0) : 0;
}

double LayoutEstimate::gathered_units(const StageLayout& stage) const {
  double time = 0;
  for (const PieceCounts& counts : stage.pieces) {
    double first = 0;
    for (std::size_t k = 0; k < plan_pieces; ++k) {
      if (counts[k] == 0) continue;
      const PieceCost& piece = input_.costs.pieces[k];
      const auto [gather, reduce] = input_.network.pieces()[k];
      time +=
          counts[k] * (std::max(piece.forward, gather) + std::max(piece.backward, gather + reduce));
      first = std::max(first, gather);
    }
    time += 2 * first;
  }
  return time;
}

/// `forwards_apart`: the schedule has no backward between its forwards that could be reduced.
double LayoutEstimate::paced(std::size_t kind, std::int64_t zero, bool forwards_apart) const {
  const Moved& of = moved_[kind];
  const double unit = of.forward + of.backward;
  if (zero < 2) return unit;
  const double moved = of.reduce + (zero == 3 ? 2 * of.gather : 0);
  if (!input_.scenario.workload.communication.gradient_overlap) return unit + moved;
  const double busy = zero == 3        ? std::max(unit, of.gathered_units)
                      : forwards_apart ? of.forward + std::max(of.backward, moved)
                                       : std::max(unit, moved);
  return busy + contention(layout_.kinds[kind], unit, moved);
}

/// Transfers that the pipeline waits for, as docs/models/pipeline.md has them for equal stages.
double LayoutEstimate::transfers(const PipelineSchedule& schedule) const {
  const auto p = static_cast<double>(layout_.stages());
  const double m = micro_batches_;
  if (p <= 1) return 0;
  const auto v = static_cast<double>(layout_.kinds.front().forward.size());
  const double hop = input_.network.hop();
  if (schedule.name == "1f1b" && m >= 2)
    return (2 * (m + p - 3) - 2 * std::floor((m - 2) / p)) * hop;
  return 2 * (v * p - 1) * hop;
}

/// The busiest stage, and around it one micro-batch through the first chunks of the others. A split
/// backward leaves about a third of that.
double LayoutEstimate::pipeline(const PipelineSchedule& schedule, std::int64_t zero) const {
  const bool apart = schedule.name == "gpipe";
  double longest = 0;
  for (std::size_t k = 0; k < layout_.kinds.size(); ++k) {
    const StageLayout& stage = layout_.kinds[k];
    const double others = pass_ - stage.forward.front() - stage.backward.front();
    const double bubble = schedule.splits_backward ? others / 3 : others;
    longest = std::max(longest, bubble + micro_batches_ * paced(k, zero, apart));
  }
  return longest;
}

/// What of the gathers before and the reductions behind the work of a stage nothing hides: the last
/// bucket, or what is left when the chunks have ended, which they do a round of stages apart.
double LayoutEstimate::gradients(std::size_t kind, bool first, std::int64_t zero) const {
  const auto& spec = input_.scenario.workload;
  const StageLayout& stage = layout_.kinds[kind];
  const double reduced = (zero == 0 ? 2 : 1) * moved_[kind].reduce;
  const double gathered = zero == 0 || zero == 3 ? 0 : moved_[kind].gather;
  if (!spec.communication.gradient_overlap) return (zero < 2 ? reduced : 0) + gathered;
  const double replicas = static_cast<double>(spec.plan.dp * spec.plan.cp);
  const double bucket = spec.communication.bucket
                            ? static_cast<double>(*spec.communication.bucket)
                            : std::max(least_bucket, bucket_per_replica * replicas);
  const auto chunks = static_cast<double>(stage.forward.size());
  const double buckets = std::max(chunks, (stage.dense + stage.expert) / bucket);
  const double rounds = (chunks - 1) * static_cast<double>(layout_.stages()) + 1;
  const double tail = std::max(reduced / buckets, reduced - rounds * stage.backward.front());
  const double ahead = std::max(gathered / buckets, gathered / chunks - stage.forward.front());
  return (zero < 2 ? tail : reduced / buckets) + (first ? ahead : 0);
}

double LayoutEstimate::estimate(const PipelineSchedule& schedule, std::int64_t zero) const {
  double exposed = gradients(layout_.kind_of.front(), true, zero);
  for (std::size_t k = 0; k < layout_.kinds.size(); ++k)
    exposed = std::max(exposed, gradients(k, false, zero));
  return pipeline(schedule, zero) + transfers(schedule) + exposed + optimizer(zero);
}

}  // namespace stepcast
