#include <benchmark/benchmark.h>

#include <ctime>

#include "sim/plan/enumerate.hpp"

/// The arithmetic of a plan: GPT-3 175B on 512 devices.
namespace stepcast {
namespace {

const char* const file = STEPCAST_SOURCE_DIR "/scenarios/plans/gpt3-175b-512.yaml";

PlanSpace read_space() { return read_plan(file, {}, {}, default_search_path({})); }

using Work = double (*)(const PlanSpace&, std::vector<BaseCosts>&);

/// Processor seconds per point of work on the whole space, on one core, tables filled on the way.
void per_point(benchmark::State& state, Work work) {
  const PlanSpace space = read_space();
  for (auto _ : state) {
    std::vector<BaseCosts> costs;
    for (const PlanBase& base : space.bases) costs.emplace_back(base);
    const std::clock_t begin = std::clock();
    const double points = work(space, costs);
    const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    state.SetIterationTime(took / points);
    state.counters["points"] = points;
  }
}

/// The branch and bound: points decided, by rule, bound or estimate.
double decide_all(const PlanSpace& space, std::vector<BaseCosts>& costs) {
  return enumerate(space, costs).counts.points;
}

/// Every feasible point is estimated, nothing pruned.
BENCHMARK_CAPTURE(per_point, estimate, estimate_all)->UseManualTime()->Iterations(1);
BENCHMARK_CAPTURE(per_point, decide, decide_all)->UseManualTime()->Iterations(1);

}  // namespace
}  // namespace stepcast
