#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stepcast/sim/forecast/forecast.hpp"

namespace stepcast {

/// The table has points with named columns. A cell is nothing, a number or a text.
struct PageTable {
  using Cell = std::variant<std::monostate, double, std::string>;
  std::string name;      ///< of the sweep
  std::string question;  ///< may be empty
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;  ///< each as long as `columns`
  std::string label = "values";         ///< column that names a point
  /// Efficiency over devices of curves that others published.
  struct Curve {
    std::string name;
    std::vector<std::pair<double, double>> points;
  };
  std::vector<Curve> published = {};
};

/// The points as one HTML page that needs no network: throughput over devices with the
/// ideal line (the best point of each number of devices, from columns `devices` and `tokens_per_s`
/// or `samples_per_s`), step time against memory (`step_time_s`, `peak_memory_bytes`,
/// `memory_capacity_bytes`), and a table that sorts and filters. A chart without its columns, or
/// with less than two points, is left out. Throws ContractError when a row is not as long as
/// `columns`.
std::string sweep_page(const PageTable& table);

/// A recorded run as one HTML page that needs no network: headline numbers, breakdown,
/// pipeline, memory, links, critical path, assumptions and the resolved scenario. What it shows:
/// docs/report.md. Every rank class must be recorded.
std::string report_page(const Scenario& scenario, const RecordedRun& run);

/// The timeline of that page as a JSON object: `end` and `shortest_wait` in seconds, and `rows[]`
/// with `name`, `units` (flat: start, end, kind, micro-batch, chunk) and `waits` (flat: start, end,
/// kind). Kinds: docs/formats.md.
std::string timeline_json(const Scenario& scenario, const RecordedRun& run);

/// What a page of a study says above its charts.
struct StudyHead {
  std::string title, lead, verdict;
};

/// The answers of `compare`, `explain` and `check` (the JSON that each writes) as one
/// HTML page that needs no network; `kind` is the name of the command, or `profile` for compare
/// with a profile. Throws ContractError for
/// another one.
std::string study_page(const std::string& kind, const StudyHead& head, const std::string& json);

}  // namespace stepcast
