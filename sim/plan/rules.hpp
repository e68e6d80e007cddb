#pragma once
#include <cstdint>

#include "stepcast/sim/plan/plan.hpp"
#include "stepcast/sim/scenario/feasibility.hpp"

/// Which combinations of sizes can run at all. The rules of the scenario reader (feasibility.hpp),
/// ordered so that whole branches fall at once; the reader itself has the last word on what is
/// timed.
namespace stepcast {

/// The sizes of a strategy, and the replicas that they leave.
void take_sizes(ParallelPlan& plan, const Strategy& s, std::int64_t devices);

/// Why these sizes fit no scenario of the base, whatever the other keys: nullptr when they may.
/// They look at tp, cp, pp.
Misfit wrong_sizes(const Scenario& base, const Strategy& s, const PlanSpec& spec);
/// At ep and etp as well.
Misfit wrong_experts(const Scenario& base, const Strategy& s);
/// At micro_batch and sequence_parallel as well.
Misfit wrong_batch(const Scenario& base, const Strategy& s, const PlanSpec& spec);
/// The first of these three that does not hold.
Misfit wrong_point(const Scenario& base, const Strategy& s, const PlanSpec& spec);
/// At vpp and the schedule as well; `scenario` is that of the strategy.
Misfit wrong_schedule(const Scenario& scenario);
/// At zero as well; the plan of `workload` has all other sizes.
Misfit wrong_zero(const WorkloadSpec& workload, std::int64_t zero);

/// Whether model and cluster of a base keep the constraints on their size.
bool keeps_constraints(const Scenario& base, const PlanSpec& spec);

}  // namespace stepcast
