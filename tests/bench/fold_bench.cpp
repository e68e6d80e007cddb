#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/network/refinement.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/forecast/stage_programs.hpp"
#include "stepcast/sim/network/solitary.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// Finding the classes of ranks that behave alike: TeleChat3-105B (TP8 PP8 VPP2 EP16), 64
/// micro-batches per replica.
namespace stepcast {
namespace {

constexpr std::uint64_t slow = 1000;  ///< key that is no stage

struct Job {
  explicit Job(std::int64_t ranks)
      : scenario{prepare_scenario(STEPCAST_SOURCE_DIR "/scenarios/telechat3-105b-4096.yaml",
                                  {"cluster.devices=" + std::to_string(ranks),
                                   "training.global_batch=" + std::to_string(ranks)},
                                  default_search_path({}))},
        fabric{scenario.cluster},
        placement{scenario.workload.plan},
        programs{stage_programs(scenario, assign_layers(scenario.workload, scenario.cluster))} {
    for (std::uint32_t r = 0; r < placement.world(); ++r)
      keys.push_back(placement.stage_of(Rank{r}).value);
  }
  NetworkMapInput input() const {
    return {placement, fabric, programs, scenario.workload.communication.algorithms};
  }

  Scenario scenario;
  Fabric fabric;
  Placement placement;
  std::vector<StageProgram> programs;
  std::vector<std::uint64_t> keys;  ///< by rank: what tells ranks apart from the start, the stage
};

void refine_colours(benchmark::State& state, std::size_t slow_ranks) {
  Job job(state.range(0));
  for (std::size_t r = 0; r < slow_ranks; ++r) job.keys[r] = slow;
  const NetworkMapInput input = job.input();
  const JobGraph graph(input, world_runs_alone(job.programs));
  Colours colours;
  for (auto _ : state) benchmark::DoNotOptimize(colours = refine(graph, job.keys));
  state.counters["rank_classes"] = colours.ranks;
}

void build_map(benchmark::State& state) {
  const Job job(state.range(0));
  std::size_t classes = 0;
  for (auto _ : state) classes = build_network_map(job.input()).classes.representative.size();
  state.counters["rank_classes"] = static_cast<double>(classes);
}

BENCHMARK_CAPTURE(refine_colours, alike, 0)->Arg(8192)->Arg(131072)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(refine_colours, straggler, 1)
    ->Arg(8192)
    ->Arg(131072)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(build_map)->Arg(8192)->Arg(131072)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stepcast
