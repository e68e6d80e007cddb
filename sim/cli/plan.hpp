#pragma once
#include "commands.hpp"

namespace stepcast::cli {

struct PlanOptions : PresetOptions {
  std::string scenario;
  std::vector<std::string> overrides;  ///< --set
  std::vector<std::string> devices;
  std::string top, jobs;  ///< empty: as the file says, all processors
  std::string output;     ///< file for the winning scenario
  std::string report;     ///< file for the page
  std::string csv, json;  ///< as for run
  bool verbose = false;   ///< the whole table and the launch file
  std::string store;      ///< where a search that is ended goes on; empty: nowhere
};
Outcome plan(const PlanOptions& options);

}  // namespace stepcast::cli
