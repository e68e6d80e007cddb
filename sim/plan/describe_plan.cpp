#include "stepcast/sim/plan/plan.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"

namespace stepcast {
void describe_plan(Visitor& visitor, PlanSpec& spec, const Node*& search) {
  constexpr double most_points = 100'000;
  visitor.field({"objective",
                 choice(spec.objective, {{"step_time"}, {"tokens_per_device"}, {"pareto"}}),
                 "what is best; pareto: time against memory and devices"});
  visitor.field({"memory_reserve", &spec.memory_reserve,
                 "kept free on each device, next to cluster.device.memory.reserve", at_least(0)});
  visitor.field({"top", &spec.top, "points that are simulated at least", between(1, most_points)});
  visitor.field({"shortlist", &spec.shortlist, "points that are timed without contention",
                 between(1, most_points)});
  visitor.field(
      {"simulations", &spec.simulations,
       "points that are simulated at most to prove that none is better, and again for the "
       "frontier",
       between(1, most_points)});
  visitor.field({"placements", &spec.placements,
                 "points whose layers and recomputation an integer programme places",
                 between(0, 1000)});
  visitor.field(
      {"baseline", &spec.baseline,
       "scenario that the winner is compared with, beside the plan or on the search path"});
  visitor.section("constraints", "what a point must keep", [&](Visitor& v) {
    v.field({"tensor_in_node", &spec.tensor_in_node, "a tensor group stays inside one node"});
    v.field({"least_micro_batches", &spec.least_micro_batches, "micro-batches of a replica",
             between(1, 1 << 30)});
    v.field({"least_parameters", OptionalNumber{&spec.least_parameters, "none"}, "of the model",
             at_least(0)});
    v.field({"most_parameters", OptionalNumber{&spec.most_parameters, "none"}, "of the model",
             at_least(0)});
    v.field({"least_flops_per_token", OptionalNumber{&spec.least_flops_per_token, "none"},
             "FLOPs of training one token", at_least(0)});
    v.field({"most_flops_per_token", OptionalNumber{&spec.most_flops_per_token, "none"},
             "FLOPs of training one token", at_least(0)});
  });
  visitor.paths("search", "other keys with several values, by their paths",
                {"scenario", describe_varied_keys, true, &search});
}

}  // namespace stepcast
