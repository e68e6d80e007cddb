#pragma once
#include <map>
#include <tuple>

#include "stepcast/sim/scenario/scenario.hpp"

/// What a plan knows of a schedule whatever the model: how its units run, and how long it idles.
namespace stepcast {

/// How the units of a stage run, the strongest bound first.
enum class UnitForm : std::uint8_t {
  plain,  ///< one by one, each with all of its waits
  split,  ///< likewise, a backward may be two units
  paired  ///< some forwards run as one with a backward: only the compute stream is serial
};

/// The form of a schedule's units on a base; `moe.overlap: fb_pair` pairs those of any.
UnitForm unit_form(const PipelineSchedule& schedule, const Scenario& base);

/// The orders of all stages; `paired`: with the pairs of `moe.overlap: fb_pair`.
std::vector<StageOrder> orders_of(const PipelineSchedule& schedule, const PipelineShape& shape,
                                  bool paired);

/// A shape with as many micro-batches as show everything that more of them would.
PipelineShape telling_shape(const PipelineSchedule& schedule, const PipelineShape& shape);

/// What a schedule leaves unused, by schedule and shape.
class IdleTable {
 public:
  struct Idle {
    /// Idle time of the busiest stage in a step whose forwards, backwards for the input and
    /// backwards for the weights take equally long, over what one micro-batch takes on a stage.
    double stages = 0;
    double unpaired = 0;  ///< micro-batches of a chunk outside pairs, on the mean stage
  };
  Idle of(const PipelineSchedule& schedule, const PipelineShape& shape, bool paired);

 private:
  using Key = std::tuple<std::string_view, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, bool>;
  std::map<Key, Idle> known_;
};

/// A bound of points with several schedules has to hold for each of them: the weakest form counts.
UnitForm weakest_form(const std::vector<const PipelineSchedule*>& schedules,
                      const Scenario& scenario);

}  // namespace stepcast
