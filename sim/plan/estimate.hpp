#pragma once
#include "layout.hpp"
#include "stepcast/sim/plan.hpp"

/// The two numbers of a point by arithmetic over unit times. Forms: docs/models/plan.md.
namespace stepcast {

struct EstimateInput {
  const Scenario& scenario;
  const LayerCosts& costs;
  CollectiveTimes& times;
};

/// The units of a stage run one by one, each with all of its waits: a schedule without pairs and
/// split backwards, in loop placement.
bool plain_units(const PipelineSchedule& schedule);

/// No point with these costs and sizes is faster, whatever its chunks and zero [s]. `plain`: under
/// schedules of plain units; otherwise under any.
double family_bound(const Scenario& scenario, const LayerCosts& costs, bool plain);

/// A layout under one schedule: what a point of it takes.
class LayoutEstimate {
 public:
  LayoutEstimate(const EstimateInput& input, const PlanLayout& layout);

  /// No simulation is faster [s].
  double bound(const PipelineSchedule& schedule, std::int64_t zero) const;
  /// Closed form with exposed transfers, gathers and reductions [s].
  double estimate(const PipelineSchedule& schedule, std::int64_t zero) const;

 private:
  double pipeline(const PipelineSchedule& schedule, std::int64_t zero) const;
  double transfers(const PipelineSchedule& schedule) const;
  double gradients(std::size_t stage, std::int64_t zero) const;
  double optimizer(std::int64_t zero) const;
  /// Time of a micro-batch on a stage, with what ZeRO moves for each [s].
  double paced(std::size_t stage, std::int64_t zero, bool forwards_apart) const;
  /// Of all pieces of a stage when each gathers the next one and reduces what it leaves [s].
  double gathered_units(std::size_t stage) const;
  /// Time that `moved` seconds of gradients and parameters take from the collectives of a unit.
  double contention(const StageLayout& stage, double unit, double moved) const;
  double data_time(CollectiveKind kind, double bytes_each, double dense, double expert) const;

  const EstimateInput& input_;
  const PlanLayout& layout_;
  Placement placement_;
  double micro_batches_, hop_ = 0;
  std::vector<double> reduce_, gather_;  ///< [stage] of all gradients and parameters [s]
};

}  // namespace stepcast
