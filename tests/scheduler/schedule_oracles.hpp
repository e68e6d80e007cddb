#pragma once
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "stepcast/scheduler/stage_order.hpp"

/// Reference schedules with unit costs F = b = w = 1 (tests/golden/schedule_oracles.json).
namespace stepcast::testing {

struct ScheduleOracle {
  std::string name, schedule;
  PipelineShape shape;
  double makespan, makespan_latency;
  std::vector<double> idle;
  std::vector<int> peak_in_flight;
  std::vector<std::string> orders;
};

inline std::vector<ScheduleOracle> schedule_oracles() {
  std::ifstream file(STEPCAST_SOURCE_DIR "/tests/golden/schedule_oracles.json");
  std::vector<ScheduleOracle> oracles;
  const auto document = nlohmann::json::parse(file);
  for (const auto& c : document.at("cases")) {
    oracles.push_back({c.at("name"),
                       c.at("schedule"),
                       {c.at("stages"), c.at("chunks"), c.at("micro_batches"), c.at("group")},
                       c.at("makespan"),
                       c.at("makespan_latency_0.1"),
                       c.at("idle"),
                       c.at("peak_in_flight"),
                       c.at("orders")});
  }
  return oracles;
}

inline std::string order_text(const StageOrder& order, std::int64_t chunks) {
  std::string text;
  for (const Unit& unit : order) text += (text.empty() ? "" : " ") + to_string(unit, chunks);
  return text;
}

}  // namespace stepcast::testing
