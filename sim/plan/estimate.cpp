#include "estimate.hpp"

#include <algorithm>
#include <cmath>

#include "stepcast/workloads/operator_time.hpp"

namespace stepcast {
namespace {

constexpr double parameter_bytes = 2;         // bf16
constexpr double optimizer_state_bytes = 12;  // FP32 master weight and both moments
constexpr int optimizer_parts = 16;           // docs/models/offload.md

// Megatron-LM, distributed_data_parallel.py: elements of a bucket, at least and per replica
constexpr double least_bucket = 40e6, bucket_per_replica = 1e6;

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

}  // namespace

double family_bound(const Scenario& scenario, const LayerCosts& costs, UnitForm form) {
  const PieceCounts counts = model_pieces(scenario.workload.model);
  const auto part = [&](double PieceCost::*what) { return costs.part(counts, what); };
  const auto stages = static_cast<double>(scenario.workload.plan.pp);
  const auto micro_batches = static_cast<double>(scenario.micro_batches());
  const double whole = costs.device(counts);
  if (form == UnitForm::paired) return micro_batches * costs.compute(counts) / stages;
  if (form == UnitForm::plain)
    return std::max(micro_batches * whole / stages,
                    part(&PieceCost::entry_forward) + part(&PieceCost::entry_backward));
  const double split =
      part(&PieceCost::forward) + part(&PieceCost::input) + part(&PieceCost::weight);
  return micro_batches * std::min(whole, split) / stages;
}

LayoutEstimate::LayoutEstimate(const EstimateInput& input, const PlanLayout& layout)
    : input_{input},
      layout_{layout},
      placement_{input.scenario.workload.plan},
      micro_batches_{static_cast<double>(input.scenario.micro_batches()) /
                     static_cast<double>(input.scenario.workload.plan.chunk_map().copies())} {
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

double LayoutEstimate::serial(const StageLayout& stage, UnitForm form) const {
  if (form == UnitForm::paired) return stage.compute;
  return form == UnitForm::split ? std::min(stage.unit, stage.split_unit) : stage.unit;
}

/// Before a stage has its first micro-batch, a slice passes the first chunk of every stage before
/// it; after its last backward the gradient passes them back, unless weight gradients come last.
double LayoutEstimate::bound(const PipelineSchedule& schedule, std::int64_t zero) const {
  const UnitForm form = unit_form(schedule, input_.scenario);
  const bool one_entry = schedule.placement != ChunkPlacement::bidirectional;
  double busiest = 0, before = 0, whole = 0;
  for (const StageLayout& stage : layout_.stages) {
    busiest = std::max(busiest, before + micro_batches_ * serial(stage, form));
    if (form != UnitForm::paired && one_entry) before += stage.entry_forward;
    if (form == UnitForm::plain) before += stage.entry_backward;
    if (form == UnitForm::plain) whole += stage.entry;
  }
  const bool meets_all = input_.scenario.workload.plan.world() > 1;
  return std::max(busiest, whole) + (meets_all ? optimizer(zero) : 0);
}

/// Part by part over the host link: one in, the longest of each round, one out
/// (docs/models/offload.md).
double LayoutEstimate::offloaded_optimizer(std::int64_t zero) const {
  const Scenario& s = input_.scenario;
  const ParallelPlan& plan = s.workload.plan;
  const double work = optimizer(zero) / optimizer_parts;
  double parameters = 0;
  for (const StageLayout& stage : layout_.stages)
    parameters = std::max(parameters,
                          stage.dense / (zero == 0 ? 1 : static_cast<double>(plan.dp * plan.cp)) +
                              stage.expert / (zero == 0 ? 1 : static_cast<double>(plan.edp())));
  const HostSpec& host = s.cluster.host;
  const Bytes part{optimizer_state_bytes * parameters / optimizer_parts};
  const double moved = (host.device_link_latency + part / host.device_link_bandwidth).value();
  return 2 * moved + work + (optimizer_parts - 1) * std::max(moved, work);
}

/// Of the gradients that two directions update together.
double LayoutEstimate::between_directions(std::int64_t zero) const {
  const ParallelPlan& plan = input_.scenario.workload.plan;
  if (plan.chunk_map().copies() == 1 || plan.pp == 1) return 0;
  const StageLayout& stage = layout_.stages.front();
  const double own = stage.dense / (zero == 0 ? 1 : static_cast<double>(plan.dp * plan.cp)) +
                     stage.expert / (zero == 0 ? 1 : static_cast<double>(plan.edp()));
  const double gradient = gradient_bytes(input_.scenario.workload.communication);
  return input_.times.about(placement_, GroupKind::mirror,
                            {CollectiveKind::all_reduce, Bytes{gradient * own}}, Rank{0});
}

UnitForm LayoutEstimate::form_of(const PipelineSchedule& schedule, std::int64_t zero) const {
  const UnitForm form = unit_form(schedule, input_.scenario);
  return form == UnitForm::paired && zero > 1 ? UnitForm::plain : form;
}

/// What is fetched from the host hides behind a whole micro-batch, but for the first layers of a
/// backward.
double LayoutEstimate::unit(const StageLayout& stage, UnitForm form) const {
  const double whole = sum_of(stage.forward) + sum_of(stage.backward);
  double time = whole;
  if (form == UnitForm::split) time += std::max(stage.split_unit - stage.unit, 0.0);
  if (form == UnitForm::paired) time += stage.pair - stage.unit;
  return std::max(time + stage.first_fetches, stage.fetched);
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
double LayoutEstimate::paced(std::size_t s, std::int64_t zero, UnitForm form,
                             bool forwards_apart) const {
  const StageLayout& stage = layout_.stages[s];
  const double forward = sum_of(stage.forward), unit = this->unit(stage, form);
  const double backward = unit - forward;
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

/// The busiest stage, and the idle time of the schedule with the mean stage's units.
double LayoutEstimate::scheduled(const PipelineSchedule& schedule, std::int64_t zero) const {
  const Scenario& scenario = input_.scenario;
  const bool fb_pair = scenario.workload.moe.overlap == MoeSpec::Overlap::fb_pair;
  const IdleTable::Idle idle = input_.idle.of(schedule, scenario.pipeline_shape(), fb_pair);
  const UnitForm form = form_of(schedule, zero);
  const double alone =
      form == UnitForm::paired ? std::min(idle.unpaired, micro_batches_) : micro_batches_;
  const UnitForm others = form == UnitForm::paired ? UnitForm::plain : form;
  double longest = 0, mean = 0;
  for (std::size_t s = 0; s < layout_.stages.size(); ++s) {
    const double paired =
        alone < micro_batches_ ? (micro_batches_ - alone) * paced(s, zero, form, false) : 0;
    longest = std::max(longest, paired + alone * paced(s, zero, others, false));
    mean += unit(layout_.stages[s], UnitForm::plain) / static_cast<double>(layout_.stages.size());
  }
  const double copies = static_cast<double>(scenario.workload.plan.chunk_map().copies());
  return longest + idle.stages * mean / copies;
}

/// The busiest stage, and around it one micro-batch through the first chunks of the others.
double LayoutEstimate::pipeline(const PipelineSchedule& schedule, std::int64_t zero) const {
  const UnitForm form = form_of(schedule, zero);
  const bool known =
      form == UnitForm::plain &&
      (schedule.name == "gpipe" || schedule.name == "1f1b" || schedule.name == "interleaved_1f1b");
  if (!known) return scheduled(schedule, zero);
  const bool apart = schedule.name == "gpipe";
  double pass = 0;
  for (const StageLayout& stage : layout_.stages)
    pass += stage.forward.front() + stage.backward.front();
  double longest = 0;
  for (std::size_t s = 0; s < layout_.stages.size(); ++s) {
    const StageLayout& stage = layout_.stages[s];
    const double others = pass - stage.forward.front() - stage.backward.front();
    longest = std::max(longest, others + micro_batches_ * paced(s, zero, form, apart));
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
  const bool offloaded = input_.scenario.workload.training.offload_optimizer;
  return pipeline(schedule, zero) + transfers(schedule) + exposed + between_directions(zero) +
         (offloaded ? offloaded_optimizer(zero) : optimizer(zero));
}

}  // namespace stepcast
