#include "schedule_form.hpp"

#include <algorithm>

#include "stepcast/scheduler/order_times.hpp"

namespace stepcast {
namespace {

/// Its warm-up is over after 2p micro-batches and then repeats with the group, whatever follows.
/// The cycles of sliced schedules depend on all of them.
bool repeats(const PipelineSchedule& schedule) {
  return schedule.turns != Turns::apart && schedule.slices == CountRange{};
}

/// Timed micro-batches of a shape: its idle time does not grow with more.
PipelineShape timed_shape(PipelineShape shape) {
  const std::int64_t period = std::max({shape.stages, shape.group, std::int64_t{2}});
  shape.micro_batches = std::min(shape.micro_batches, 4 * period + shape.micro_batches % period);
  return shape;
}

/// Forwards outside pairs, over those of one micro-batch on a stage.
double outside_pairs(const std::vector<StageOrder>& orders, double per_micro_batch) {
  double units = 0;
  for (const StageOrder& order : orders)
    units += static_cast<double>(std::ranges::count_if(
        order, [](const Unit& unit) { return unit.kind == UnitKind::forward && !unit.with_next; }));
  return units / (static_cast<double>(orders.size()) * per_micro_batch);
}

}  // namespace

/// A schedule that pairs by itself keeps its own pairs.
std::vector<StageOrder> orders_of(const PipelineSchedule& schedule, const PipelineShape& shape,
                                  bool paired) {
  const bool adds_pairs = paired && !schedule.pairs;
  return adds_pairs ? paired_orders(schedule, shape) : stage_orders(schedule, shape);
}

/// Pairs come first: where units run as one, neither whole nor split backwards bound the stage.
UnitForm unit_form(const PipelineSchedule& schedule, const Scenario& base) {
  if (schedule.pairs || base.workload.moe.overlap == MoeSpec::Overlap::fb_pair)
    return UnitForm::paired;
  return schedule.splits_backward ? UnitForm::split : UnitForm::plain;
}

/// The rest of the last round stays, because it shifts what is held at the end.
PipelineShape telling_shape(const PipelineSchedule& schedule, const PipelineShape& given) {
  PipelineShape shape = given;
  if (!repeats(schedule)) return shape;
  const std::int64_t period = std::max(shape.stages, shape.group);
  const std::int64_t extra = (shape.warm_up.extra / period + 1) * period;
  const std::int64_t enough = 4 * period + extra + shape.micro_batches % period;
  shape.micro_batches = std::min(shape.micro_batches, enough);
  return shape;
}

/// Orders are timed with equal units, since only their idle time in units of a stage is wanted.
IdleTable::Idle IdleTable::of(const PipelineSchedule& schedule, const PipelineShape& given,
                              bool paired) {
  const PipelineShape shape = timed_shape(given);
  const auto [place, fresh] =
      known_.try_emplace(Key{schedule.name, shape.stages, shape.chunks, shape.micro_batches,
                             shape.group, shape.slices, paired},
                         Idle{});
  if (!fresh || !schedule.rule(shape).empty()) return place->second;
  const std::vector<StageOrder> orders = orders_of(schedule, shape, paired);
  const OrderTimes times = time_orders(orders, shape, UnitCosts{});
  const Seconds busiest = *std::ranges::max_element(times.computing);
  const double whole = busiest.value() / static_cast<double>(shape.micro_batches);
  place->second = {(times.makespan - busiest).value() / whole,
                   outside_pairs(orders, static_cast<double>(shape.chunks * shape.slices))};
  return place->second;
}

UnitForm weakest_form(const std::vector<const PipelineSchedule*>& schedules,
                      const Scenario& scenario) {
  UnitForm weakest = UnitForm::plain;
  for (const PipelineSchedule* schedule : schedules)
    weakest = std::max(weakest, unit_form(*schedule, scenario));
  return weakest;
}

}  // namespace stepcast
