#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "document.hpp"
#include "stepcast/sim/plan/plan.hpp"
#include "stepcast/sim/scenario/searched_keys.hpp"

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

inline constexpr const char *schedule_key = "schedule.pipeline", *devices_key = "cluster.devices";
/// A slow key makes a base of each value. `searched` is what `search` stands for; empty: the words
/// that are built.
struct SlowKey {
  const char* path;
  std::array<const char*, 3> searched = {};
};
inline constexpr SlowKey slow_keys[] = {{"training.recompute"},
                                        {"training.offload.activations", {"0", "0.5", "1"}},
                                        {"training.offload.optimizer", {"false", "true"}},
                                        {"moe.dispatch"},
                                        {"moe.overlap"},
                                        {"schedule.slices", {"1", "2", "4"}}};
// What the search can vary is what a plan may list.
static_assert(std::ranges::all_of(fast_keys, is_searched_key, &FastKey::path));
static_assert(std::ranges::all_of(slow_keys, is_searched_key, &SlowKey::path));
static_assert(is_searched_key(schedule_key) && is_searched_key(devices_key));
static_assert(std::size(searched_keys) == fast_key_count + std::size(slow_keys) + 2);

/// The words that `search` stands for at the key.
inline std::vector<std::string> words_of(const SlowKey& key) {
  if (key.searched.front() == nullptr) return built_words(key.path);
  std::vector<std::string> words;
  for (const char* word : key.searched)
    if (word != nullptr) words.emplace_back(word);
  return words;
}

}  // namespace stepcast
