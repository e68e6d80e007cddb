#include <sys/resource.h>

#include <chrono>

#include "commands.hpp"
#include "stepcast/sim/report.hpp"

namespace stepcast::cli {
namespace {

std::uint64_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

Outcome run(const RunOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Scenario scenario =
      read_scenario(options.scenario, options.overrides, default_search_path(options.presets));
  const Forecast result = forecast(scenario);
  std::optional<RunTiming> timing;
  if (options.timing) {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    timing = {wall.count(), peak_rss()};
  }

  Outcome outcome = shown(report_table(scenario, result, timing), options.json,
                          options.json.empty() ? "" : report_json(scenario, result, timing));
  if (!result.fits_memory()) {
    outcome.warnings.push_back(scenario.name + " does not fit into device memory");
    if (options.fail_on_oom) outcome.exit_code = check_failed;
  }
  return outcome;
}

}  // namespace stepcast::cli
