#include <algorithm>
#include <filesystem>
#include <map>

#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/format_version.hpp"
#include "stepcast/base/section.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// Step times of all files that the ratios name; those of rows are known.
std::map<std::string, double> step_times(const std::string& folder,
                                         const std::vector<Ratio>& ratios,
                                         const std::vector<MeasuredRow>& rows,
                                         const SearchPath& search, int workers) {
  std::map<std::string, double> times;
  for (const MeasuredRow& row : rows) times[row.file] = row.forecast;
  std::vector<std::string> missing;
  std::vector<Scenario> scenarios;
  for (const Ratio& ratio : ratios)
    for (const std::string& file : {ratio.of, ratio.to})
      if (!times.contains(file) && std::ranges::find(missing, file) == missing.end()) {
        missing.push_back(file);
        scenarios.push_back(prepare_scenario((fs::path(folder) / file).string(), {}, search));
      }
  std::vector<const Scenario*> given;
  given.reserve(scenarios.size());
  for (const Scenario& s : scenarios) given.push_back(&s);
  const std::vector<RowForecast> forecasts = forecast_all(given, workers);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (!forecasts[i].failure.empty()) throw EngineError(missing[i] + ": " + forecasts[i].failure);
    times[missing[i]] = forecasts[i].step_time;
  }
  return times;
}

/// Reports scenarios that do not stand in `folder`.
void find_scenarios(const std::vector<Ratio>& ratios, const fs::path& folder, const Node& root,
                    Reading& reading) {
  for (std::size_t i = 0; i < ratios.size(); ++i)
    for (const auto& [key, file] : {std::pair{"of", ratios[i].of}, {"to", ratios[i].to}}) {
      const std::string path = "ratios." + std::to_string(i) + "." + key;
      if (reading.failed.contains(path) || file.empty() || is_there(folder / file)) continue;
      reading.report(
          place_of(root, path), path,
          "names '" + shortened(file) + "', which does not exist, allowed: a scenario file");
    }
}

}  // namespace

std::vector<Ratio> read_ratios(const std::string& path, const SearchPath& search) {
  Reading reading;
  const Node root =
      load_document_text(read_document_text(path, search), path, search, &reading.diagnostics);
  require_kind(file_kind(root), FileKind::ratios, path);
  std::vector<Ratio> ratios;
  read_mapping(root, {}, reading, [&](Visitor& v) { describe(v, ratios); });
  // Both scenarios must be rows of the folder: a ratio has no forecast of its own.
  find_scenarios(ratios, fs::path(path).parent_path(), root, reading);
  if (!reading.diagnostics.empty()) throw InputError(std::move(reading.diagnostics));
  return ratios;
}

void describe(Visitor& visitor, std::vector<Ratio>& ratios) {
  describe_format_version(visitor, true);
  visitor.list(
      "ratios", "published ratios of step times", ratios.size(),
      [&](std::size_t size) { ratios.resize(size); },
      [&](Visitor& v, std::size_t i) {
        Ratio& r = ratios[i];
        v.field({"name", &r.name, "what changes", any_number(), true});
        v.field({"of", &r.of, "scenario file, relative to the folder", any_number(), true});
        v.field({"to", &r.to, "the scenario it is compared to", any_number(), true});
        v.field(
            {"published", &r.published, "step time of the one over the other", positive(), true});
        v.field({"source", &r.source, "where it is published", any_number(), true});
      });
}

std::vector<Ratio> measure_ratios(const std::string& folder, const std::vector<MeasuredRow>& rows,
                                  const SearchPath& search, int workers) {
  const std::string path = (fs::path(folder) / "ratios.yaml").string();
  if (!is_there(path)) return {};
  std::vector<Ratio> ratios = read_ratios(path, search);
  const auto times = step_times(folder, ratios, rows, search, workers);
  for (Ratio& ratio : ratios) ratio.forecast = times.at(ratio.of) / times.at(ratio.to);
  return ratios;
}

}  // namespace stepcast
