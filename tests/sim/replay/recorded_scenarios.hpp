#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// Small runs in which all kinds of waiting occur.
namespace stepcast::testing {

struct RecordedCase {
  std::string file;  ///< below scenarios/
  std::vector<std::string> overrides;
};

inline Scenario scenario_of(const RecordedCase& c) {
  return prepare_scenario(std::string(STEPCAST_SOURCE_DIR) + "/scenarios/" + c.file, c.overrides,
                          default_search_path({}));
}

inline std::vector<RecordedCase> recorded_cases() {
  const std::vector<std::string> small{"cluster.devices=64", "parallel.dp=auto",
                                       "training.global_batch=32"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = small;
    all.insert(all.end(), more.begin(), more.end());
    return RecordedCase{"telechat3-36b-2048.yaml", all};
  };
  return {
      {"ideal-pipeline.yaml", {}},
      with({}),
      with({"runtime.dispatch=eager", "runtime.host_speed=0.25"}),
      with({"runtime.dispatch=task_queue", "runtime.host_speed=0.1"}),
      with({"schedule.pipeline=1f1b", "parallel.vpp=1", "schedule.p2p=blocking"}),
      with({"stalls.slow_devices=[{devices: [3], factor: 1.3}]",
            "stalls.gc_pauses={duration: 20ms, period: 300ms, synchronised: false}",
            "runtime.dispatch=eager", "cluster.host.queue_depth=32"}),
      with({"stalls.compute_jitter.sigma=0.05", "simulate.fold=off", "parallel.pp=4",
            "stalls.host_sync=unit"}),
      with({"simulate.steps=3", "stalls.data_loader={time_per_step: 2s, prefetch: 1}"}),
      {"mixtral-8x7b.yaml", {"training.global_batch=64"}},
  };
}

/// Those, and larger runs with schedules, experts and documents of all kinds.
inline std::vector<RecordedCase> all_recorded_cases() {
  std::vector<RecordedCase> all = recorded_cases();
  const std::vector<RecordedCase> more{
      {"what-if/gpt3-175b-zb-h1.yaml", {}},
      {"what-if/telechat3-105b-zipf.yaml", {}},
      {"what-if/telechat3-105b-dvm-new-shapes.yaml", {}},
      {"what-if/telechat3-105b-ep64-chunks.yaml", {}},
      {"what-if/deepseek-v3-dualpipe.yaml", {}},
      {"what-if/telechat3-36b-seqpipe.yaml", {}},
      {"what-if/telechat3-36b-packed-8k.yaml",
       {"cluster.devices=64", "parallel.dp=auto", "training.global_batch=32"}},
  };
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace stepcast::testing
