#include "stepcast/sim/plan/plan.hpp"

namespace stepcast {

/// The product is a double, because a space may be larger than any integer type.
double PlanDimensions::size() const {
  double size = static_cast<double>(schedules.size());
  for (const auto* values :
       {&tp, &pp, &vpp, &cp, &ep, &etp, &zero, &micro_batch, &sequence_parallel})
    size *= static_cast<double>(values->size());
  return size;
}

/// Devices times time is the price of a step, which compares sizes of a cluster without prices.
double plan_score(const PlanSpec& spec, const PlanPoint& point, Seconds time) {
  if (spec.objective == PlanSpec::Objective::cost) {
    const bool known = point.cost && point.simulated == time;
    return known ? point.cost->token : point.cost_rate * time.value();
  }
  const bool per_device = spec.objective == PlanSpec::Objective::tokens_per_device;
  return per_device ? time.value() * static_cast<double>(point.devices) : time.value();
}

}  // namespace stepcast
