#pragma once
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"

/// Reference schedules with unit costs F = b = w = 1 (tests/scheduler/schedule_oracles.json).
namespace stepcast::testing {

struct ScheduleOracle {
  std::string name, schedule;
  PipelineShape shape;
  double makespan, makespan_latency;
  std::vector<double> idle, start, end;
  std::vector<int> peak_in_flight;
  std::vector<std::string> orders;
};

inline PipelineShape oracle_shape(const nlohmann::json& c) {
  PipelineShape shape{c.at("stages"), c.at("chunks"), c.at("micro_batches"), c.at("group")};
  shape.slices = c.at("slices");
  const std::string warm_up = c.at("warmup");
  if (warm_up == "extra") shape.warm_up = {WarmUp::Kind::extra, 1};
  if (warm_up == "less_memory") shape.warm_up.kind = WarmUp::Kind::less_memory;
  shape.placement = pipeline_schedule(c.at("schedule").get<std::string>()).placement;
  return shape;
}

inline std::vector<ScheduleOracle> schedule_oracles() {
  std::ifstream file(STEPCAST_SOURCE_DIR "/tests/scheduler/schedule_oracles.json");
  std::vector<ScheduleOracle> oracles;
  const auto document = nlohmann::json::parse(file);
  for (const auto& c : document.at("cases")) {
    oracles.push_back({c.at("name"), c.at("schedule"), oracle_shape(c), c.at("makespan"),
                       c.at("makespan_latency_0.1"), c.at("idle"), c.at("start"), c.at("end"),
                       c.at("peak_in_flight"), c.at("orders")});
  }
  return oracles;
}

}  // namespace stepcast::testing
