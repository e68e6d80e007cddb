#pragma once
#include <array>

#include "stepcast/sim/plan/plan.hpp"

namespace stepcast {

/// A key of which every point has a value of its own, and how a scenario holds it.
struct FastKey {
  const char* path;
  const char* placeholder;
  std::vector<std::int64_t> PlanDimensions::*values;
  std::int64_t (*of)(const Scenario&);
};

inline constexpr std::size_t fast_key_count = 9;
inline constexpr FastKey fast_keys[fast_key_count] = {
    {"parallel.tp", "1", &PlanDimensions::tp, [](const Scenario& s) { return s.workload.plan.tp; }},
    {"parallel.pp", "1", &PlanDimensions::pp, [](const Scenario& s) { return s.workload.plan.pp; }},
    {"parallel.vpp", "1", &PlanDimensions::vpp,
     [](const Scenario& s) { return s.workload.plan.vpp; }},
    {"parallel.cp", "1", &PlanDimensions::cp, [](const Scenario& s) { return s.workload.plan.cp; }},
    {"parallel.ep", "1", &PlanDimensions::ep, [](const Scenario& s) { return s.workload.plan.ep; }},
    {"parallel.etp", "1", &PlanDimensions::etp,
     [](const Scenario& s) { return s.workload.plan.etp; }},
    {"parallel.zero", "1", &PlanDimensions::zero,
     [](const Scenario& s) { return s.workload.plan.zero; }},
    {"training.micro_batch", "1", &PlanDimensions::micro_batch,
     [](const Scenario& s) { return s.workload.training.micro_batch; }},
    {"parallel.sequence_parallel", "false", &PlanDimensions::sequence_parallel,
     [](const Scenario& s) -> std::int64_t { return s.workload.plan.sequence_parallel ? 1 : 0; }},
};

/// The values of a strategy, in the order of `fast_keys`.
inline std::array<std::int64_t, fast_key_count> values_of(const Strategy& s) {
  return {s.tp, s.pp, s.vpp, s.cp, s.ep, s.etp, s.zero, s.micro_batch, s.sequence_parallel};
}

}  // namespace stepcast
