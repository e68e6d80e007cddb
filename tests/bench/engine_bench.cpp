#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "flow_pairs.hpp"
#include "sim/in_child.hpp"
#include "stepcast/sim/engine/engine.hpp"

/// Flows that meet pairwise, through Engine and on SimGrid alone. `--flows=N` adds a size. Each run
/// has a process of its own, because SimGrid's clock is not reset.
namespace stepcast {
namespace {

using bench::FlowPairs;
using bench::LoopTime;

constexpr std::size_t links = 64;

class PairsOnEngine : public EngineClient {
 public:
  explicit PairsOnEngine(const FlowPairs& load)
      : load_{load}, engine_{std::vector<double>(load.links, FlowPairs::bandwidth)} {}

  LoopTime run() {
    const auto begin = std::chrono::steady_clock::now();
    engine_.post(0, 0);
    engine_.run(*this);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    return {wall.count(), engine_.now()};
  }

  void on_event(double, std::uint64_t) override {
    for (std::size_t i = 0; i < load_.at_once() && i < load_.flows; ++i) start(i);
  }
  void on_flow_end(double, std::uint64_t flow) override {
    const std::size_t next = flow + load_.at_once();
    if (next < load_.flows) start(next);
  }

 private:
  void start(std::size_t flow) {
    const LinkUse use[] = {{static_cast<std::uint32_t>(load_.link_of(flow)), 1}};
    engine_.start_flow(use, FlowPairs::bytes(flow), flow);
  }

  FlowPairs load_;
  Engine engine_;
};

LoopTime run_engine(const FlowPairs& load) { return PairsOnEngine(load).run(); }

void run(benchmark::State& state, LoopTime (*once)(const FlowPairs&), std::size_t flows) {
  const FlowPairs load{flows, links};
  double end = 0;
  for (auto _ : state) {
    const std::vector<double> numbers = testing::in_child([&] {
      const LoopTime time = once(load);
      return std::vector{time.wall, time.end};
    });
    if (numbers.size() != 2) {
      state.SkipWithError("the run failed");
      return;
    }
    state.SetIterationTime(numbers[0]);
    end = numbers[1];
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(flows));
  state.counters["simulated_s"] = end;
}

void add(const char* name, LoopTime (*once)(const FlowPairs&), std::size_t flows) {
  benchmark::RegisterBenchmark((std::string(name) + "/" + std::to_string(flows)).c_str(), run, once,
                               flows)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace stepcast

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<std::size_t> sizes = {10'000, 100'000};
  const std::string option = "--flows=";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(option, 0) != 0 ||
        argument.find_first_not_of("0123456789", option.size()) != std::string::npos ||
        argument.size() == option.size()) {
      std::fprintf(stderr, "engine_bench: %s is not known, --flows=N is\n", argv[i]);
      return 2;
    }
    sizes.push_back(std::stoul(argument.substr(option.size())));
  }
  for (const std::size_t flows : sizes) {
    stepcast::add("engine", stepcast::run_engine, flows);
    stepcast::add("bare_simgrid", stepcast::bench::run_simgrid_loop, flows);
  }
  benchmark::RunSpecifiedBenchmarks();
}
