#pragma once
#include "layout.hpp"
#include "stepcast/sim/plan.hpp"

/// The two numbers of a point by arithmetic over unit times. Forms: docs/models/plan.md.
namespace stepcast {

struct EstimateInput {
  const Scenario& scenario;
  const LayerCosts& costs;
  CollectiveTimes& times;
  IdleTable& idle;
};

/// No point with these costs and sizes is faster, whatever its chunks and zero, under schedules
/// whose units run in this form or one before it [s].
double family_bound(const Scenario& scenario, const LayerCosts& costs, UnitForm form);

/// A layout under one schedule: what a point of it takes.
class LayoutEstimate {
 public:
  LayoutEstimate(const EstimateInput& input, const PlanLayout& layout);

  /// No simulation is faster [s].
  double bound(const PipelineSchedule& schedule, std::int64_t zero) const;
  /// Closed form with exposed transfers, gathers and reductions [s].
  double estimate(const PipelineSchedule& schedule, std::int64_t zero) const;

 private:
  /// Least time of a micro-batch on a stage that is never idle [s].
  double serial(const StageLayout& stage, UnitForm form) const;
  /// Time of a micro-batch on a stage, as far as nothing hides it [s].
  double unit(const StageLayout& stage, UnitForm form) const;
  /// How the units run where sharded gradients keep them from pairs.
  UnitForm form_of(const PipelineSchedule& schedule, std::int64_t zero) const;
  double pipeline(const PipelineSchedule& schedule, std::int64_t zero) const;
  double scheduled(const PipelineSchedule& schedule, std::int64_t zero) const;
  double transfers(const PipelineSchedule& schedule) const;
  double gradients(std::size_t stage, std::int64_t zero) const;
  double optimizer(std::int64_t zero) const;
  double offloaded_optimizer(std::int64_t zero) const;
  double between_directions(std::int64_t zero) const;
  /// Time of a micro-batch on a stage, with what ZeRO moves for each [s].
  double paced(std::size_t stage, std::int64_t zero, UnitForm form, bool forwards_apart) const;
  /// Of all pieces of a stage when each gathers the next one and reduces what it leaves [s].
  double gathered_units(std::size_t stage) const;
  /// Time that `moved` seconds of gradients and parameters take from the collectives of a unit.
  double contention(const StageLayout& stage, double unit, double moved) const;
  double data_time(CollectiveKind kind, double bytes_each, double dense, double expert) const;

  const EstimateInput& input_;
  const PlanLayout& layout_;
  Placement placement_;
  double micro_batches_, hop_ = 0;       ///< micro-batches that a chunk sees
  std::vector<double> reduce_, gather_;  ///< [stage] of all gradients and parameters [s]
};

}  // namespace stepcast
