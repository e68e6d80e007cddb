#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "scenario_files.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/topology/hardware_id.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;

/// The files beside rows that are no scenarios.
bool is_list(const fs::path& file) {
  return file.filename() == "ratios.yaml" || file.filename() == "labels.yaml" ||
         file.filename() == "gallery.yaml" || file.filename() == "differs.yaml";
}

}  // namespace

std::vector<fs::path> scenario_files(const std::string& folder) {
  std::vector<fs::path> files = files_below(folder, ".yaml");
  std::erase_if(files, is_list);
  return files;
}

namespace {

/// The folder of a file below the one that was searched, where its superseded rows stand in a
/// folder of their own: the source of its row.
std::string family_of(const fs::path& relative) {
  const fs::path folder = relative.parent_path();
  const fs::path family = folder.filename() == superseded_folder ? folder.parent_path() : folder;
  return family.empty() ? "." : family.generic_string();
}

PublishedRow published_row(const fs::path& relative, const SourceLabels& labels,
                           Scenario scenario) {
  const std::string file = relative.generic_string(), family = family_of(relative);
  const RowLabel label = label_of(labels, file, scenario.name);
  std::string framework;
  for (const SourceLabels::Framework& f : labels.frameworks)
    if (std::ranges::find(f.folders, family) != f.folders.end()) framework = f.name;
  return {file, family, std::move(scenario), label, std::move(framework)};
}

/// The answer of a worker process, which forecast_all() reads.
std::string answer(const Scenario& scenario) {
  const Forecast f = forecast(scenario);
  const MemoryCount count = scenario.expect ? scenario.expect->memory_count : MemoryCount::budget;
  nlohmann::json json{{"step", f.step_time.value()}, {"fits", f.fits_memory()}};
  if (f.experts)
    json["expert_module"] = (f.experts->module.forward + f.experts->module.backward).value();
  for (const StageForecast& stage : f.stages) {
    if (!stage.memory) continue;
    const double peak = counted(*stage.memory, count).value();
    json["memory"] = std::max(peak, json.value("memory", 0.0));
  }
  return json.dump();
}

MeasuredRow measured(const PublishedRow& row, const RowForecast& forecast) {
  const Scenario& s = row.scenario;
  MeasuredRow result;
  result.name = s.name;
  result.family = row.family;
  result.file = row.file;
  result.device = s.cluster.device.name;
  // An id of the data sheet, so that rows of two presets of one device fall together.
  result.hardware = hardware_id(s.cluster.device);
  result.framework = row.framework;
  result.label = row.label;
  result.model = !s.synthetic;
  result.ranks = s.cluster.devices;
  result.zero = s.workload.plan.zero;
  result.experts = result.model && s.workload.model.moe;
  // A row is one by its expected step time.
  result.published = s.expect->step_time->value;
  result.forecast = forecast.step_time;
  result.failure = forecast.failure;
  if (s.expect->peak_memory) result.published_memory = s.expect->peak_memory->value;
  result.forecast_memory = forecast.peak_memory;
  return result;
}

}  // namespace

std::vector<PublishedRow> published_rows(const std::string& folder, const SearchPath& search) {
  if (!is_folder(folder))
    refuse_input({folder}, {}, "is no folder, allowed: one of scenarios with published steps");
  const SourceLabels labels = read_labels(folder, search);
  std::vector<PublishedRow> rows;
  std::vector<Diagnostic> wrong;
  for (const fs::path& file : scenario_files(folder)) {
    try {
      Scenario scenario = prepare_scenario(file.string(), {}, search);
      // A scenario without a published step is no row.
      if (!scenario.expect || !scenario.expect->step_time) continue;
      rows.push_back(published_row(file.lexically_relative(folder), labels, std::move(scenario)));
    } catch (const InputError& error) {
      wrong.insert(wrong.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
  if (rows.empty())
    refuse_input({folder}, {},
                 "holds no scenario that expects a step time, give a folder "
                 "such as scenarios/validation");
  return rows;
}

std::vector<RowForecast> forecast_all(const std::vector<const Scenario*>& scenarios, int workers) {
  std::vector<RowForecast> result(scenarios.size());
  run_in_workers(
      scenarios.size(), workers, [&](std::size_t i) { return answer(*scenarios[i]); },
      [&](const WorkerAnswer& a) {
        RowForecast& row = result[a.index];
        // A failure is a result of its row; others go on.
        row.failure = a.failure;
        if (a.failed()) return;
        const auto json = nlohmann::json::parse(a.text);
        row.step_time = json.at("step");
        row.expert_module = json.value("expert_module", 0.0);
        row.fits = json.at("fits");
        if (json.contains("memory")) row.peak_memory = json.at("memory").get<double>();
      });
  return result;
}

std::vector<MeasuredRow> measure(const std::vector<PublishedRow>& rows, int workers) {
  std::vector<const Scenario*> scenarios;
  scenarios.reserve(rows.size());
  for (const PublishedRow& row : rows) scenarios.push_back(&row.scenario);
  const std::vector<RowForecast> forecasts = forecast_all(scenarios, workers);
  std::vector<MeasuredRow> result;
  for (std::size_t i = 0; i < rows.size(); ++i) result.push_back(measured(rows[i], forecasts[i]));
  return result;
}

}  // namespace stepcast
