#include <benchmark/benchmark.h>

#include "stepcast/workloads/host_queue.hpp"

namespace stepcast {
namespace {

constexpr double us = 1e-6;

/// About a transformer layer: 30 operators, three launch values.
Segment layer(double device_time) {
  std::vector<OperatorCost> operators;
  for (int i = 0; i < 30; ++i) {
    operators.push_back({8 * us, 0, (1 + i % 3) * us, device_time * (1 + i % 5) * us});
  }
  return Segment{operators};
}

void run_queue(benchmark::State& state, double device_time, const SpeedFactors& speed) {
  const Segment segment = layer(device_time);
  HostQueue queue{1024};
  Clocks clocks;
  for (auto _ : state) benchmark::DoNotOptimize(clocks = queue.run(clocks, segment, speed));
  state.counters["loops"] =
      static_cast<double>(queue.operator_loops()) / static_cast<double>(state.iterations());
}

void host_bound(benchmark::State& state) { run_queue(state, 1, {}); }
void host_bound_slowed(benchmark::State& state) { run_queue(state, 1, {1.5, 2}); }
void device_bound(benchmark::State& state) { run_queue(state, 20, {}); }
void build_segment(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(layer(20));
}

BENCHMARK(host_bound);
BENCHMARK(host_bound_slowed);
BENCHMARK(device_bound);
BENCHMARK(build_segment);

}  // namespace
}  // namespace stepcast
