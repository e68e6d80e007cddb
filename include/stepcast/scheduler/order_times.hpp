#pragma once
#include <optional>
#include <vector>

#include "stepcast/base/units.hpp"
#include "stepcast/scheduler/stage_order.hpp"

/// Here a schedule stands by itself: its orders are checked, and timed with one cost per kind of
/// unit and no contention. That serves tests, drawings and `stepcast schedule`; a forecast replays
/// orders on the network.
namespace stepcast {

/// Says what is wrong with a set of orders, one for each stage of the shape; it is empty when
/// they can run. Each unit of the shape must be there once: forward, and backward or both of its
/// parts, of each micro-batch, chunk and slice; a unit with `with_next` is a forward before a
/// backward. Then the stages, each in its order, must not wait for each other in a circle; the
/// circle is named unit by unit. There is one text per finding. It costs O(units).
std::vector<std::string> order_faults(const std::vector<StageOrder>& orders,
                                      const PipelineShape& shape);

/// The times of one unit; none is negative. They are alike on all stages, or those of each virtual
/// stage times a factor.
struct UnitCosts {
  Seconds forward{1}, backward_input{1}, backward_weight{1};
  std::optional<Seconds> backward = {};  ///< of both parts in one; else their sum
  std::optional<Seconds> pair = {};      ///< of a forward and a backward as one; else their sum
  Seconds latency{0};                    ///< from the end of a unit to its arrival on another stage
  std::vector<double> of_part = {};      ///< factor of each virtual stage; empty: 1

  Seconds whole_backward() const { return backward.value_or(backward_input + backward_weight); }
  Seconds whole_pair() const { return pair.value_or(forward + whole_backward()); }
};

/// Begin and end of one unit, from the begin of the step [s].
struct UnitTime {
  Seconds start, end;  ///< of a unit of a pair: those of the pair
};

/// When the units of all stages run if nothing but their order and costs counts. Times in seconds.
struct OrderTimes {
  std::vector<std::vector<UnitTime>> units;  ///< [stage][place in its order]
  Seconds makespan;                          ///< from 0 to the end of the last unit
  std::vector<Seconds> computing;            ///< [stage]
  std::vector<int> peak_in_flight;           ///< [stage]

  /// The time in which the stage does nothing between 0 and the makespan.
  Seconds idle(Stage stage) const { return makespan - computing[stage.value]; }
  /// The part of that time between the stage's own first and last unit.
  Seconds idle_inside(Stage stage) const;
  /// The idle time of all stages / (stages * makespan).
  double bubble_ratio() const;
};

/// Says when each unit runs if every stage works through its order without pause and a
/// transfer takes `costs.latency`, holds no stage and meets no other. A unit starts when its inputs
/// are there: a forward needs the forward of the virtual stage before it and that of its slice
/// before; a backward needs its own forward, the backward of the virtual stage after it and that of
/// its slice after; a backward_weight needs its backward_input. It costs O(units). Throws
/// InputError with all of order_faults().
OrderTimes time_orders(const std::vector<StageOrder>& orders, const PipelineShape& shape,
                       const UnitCosts& costs);

}  // namespace stepcast
