#pragma once
#include "layout.hpp"
#include "stepcast/sim/plan/plan.hpp"

/// The two numbers of a point by arithmetic over unit times. Forms: docs/models/plan.md.
namespace stepcast {

/// What all layouts of a family ask of the network: a transfer between stages, and collectives over
/// the ranks that hold the same parameters.
class FamilyNetwork {
 public:
  /// The scenario's chunks, schedule and zero are left aside. `times` must outlive this.
  FamilyNetwork(const Scenario& scenario, const LayerCosts& costs, CollectiveTimes& times);

  double hop() const { return hop_; }  ///< [s]
  /// Gradients and parameters of one rank that has so many dense and expert parameters [s].
  double reduce(double dense, double expert);
  double gather(double dense, double expert);
  /// All gradients of one rank between the two stages that hold the same [s].
  double mirror(double parameters);
  struct Piece {
    double gather = 0, reduce = 0;
  };
  const std::array<Piece, plan_pieces>& pieces() const { return pieces_; }

 private:
  double moved(CollectiveKind kind, double bytes_each, double dense, double expert);

  CollectiveTimes& times_;
  CollectiveTimes::Members dense_, expert_, mirror_;
  double gradient_, gathered_, hop_ = 0;
  std::array<Piece, plan_pieces> pieces_;
};

struct EstimateInput {
  const Scenario& scenario;
  const LayerCosts& costs;
  FamilyNetwork& network;
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
  double unit(std::size_t kind, UnitForm form) const;
  /// How the units run where sharded gradients keep them from pairs.
  UnitForm form_of(const PipelineSchedule& schedule, std::int64_t zero) const;
  double pipeline(const PipelineSchedule& schedule, std::int64_t zero) const;
  double scheduled(const PipelineSchedule& schedule, std::int64_t zero) const;
  double transfers(const PipelineSchedule& schedule) const;
  double gradients(std::size_t kind, bool first, std::int64_t zero) const;
  double bucket(const StageLayout& stage) const;
  /// Of what a chunk and those beside it move, what shows [s]; below 0: nothing does.
  double unhidden(std::size_t chunk, std::size_t chunks, double moved, double pass,
                  std::int64_t zero) const;
  double stalled(const StageLayout& stage, double moved, double passes) const;
  double last_stall(std::size_t kind, std::int64_t zero) const;
  double optimizer(std::int64_t zero) const { return zero == 0 ? whole_step_ : sharded_step_; }
  double longest_step(double dense_ranks, double expert_ranks) const;
  double offloaded_optimizer(std::int64_t zero) const;
  /// The part of the parameters of the fullest stage whose states live on the host.
  double away(std::int64_t zero) const;
  double between_directions(std::int64_t zero) const;
  /// Time of a micro-batch on a kind of stage, with what ZeRO moves for each [s].
  double paced(std::size_t kind, std::int64_t zero, UnitForm form, bool forwards_apart) const;
  /// Of all pieces of a stage when each gathers the next one and reduces what it leaves [s].
  double gathered_units(const StageLayout& stage) const;
  /// Time that `moved` seconds of gradients and parameters take from the collectives of a unit.
  double contention(const StageLayout& stage, double unit, double moved) const;

  /// Of all gradients and parameters of a kind of stage, and its passes over all chunks [s].
  struct Moved {
    double reduce = 0, gather = 0, gathered_units = 0, forward = 0, backward = 0;
  };
  const EstimateInput& input_;
  const PlanLayout& layout_;
  double micro_batches_;                      ///< that a chunk sees
  std::vector<Moved> moved_;                  ///< [kind]
  double whole_step_ = 0, sharded_step_ = 0;  ///< of the optimizer [s]
  double pass_ = 0, mean_ = 0;  ///< a micro-batch through the first chunks, on the mean stage [s]
};

}  // namespace stepcast
