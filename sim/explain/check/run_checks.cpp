#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "check_words.hpp"
#include "stepcast/base/confined_files.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/base/node_at.hpp"
#include "stepcast/base/suggest.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/explain/check.hpp"
#include "stepcast/sim/forecast/metrics.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/import/import.hpp"
#include "stepcast/sim/scenario/file_kind.hpp"

namespace stepcast {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::optional<double> peak_memory(const Forecast& forecast, MemoryCount count) {
  std::optional<double> peak;
  for (const StageForecast& stage : forecast.stages)
    if (stage.memory) peak = std::max(peak.value_or(0), counted(*stage.memory, count).value());
  return peak;
}

/// The line of an expectation in the file itself; 0 where it stands in another.
int line_of(const Scenario& scenario, const std::string& key, const std::string& file) {
  const Node* node = node_at(*scenario.document, "expect." + key);
  return node != nullptr && node->place.file == file ? node->place.line : 0;
}

std::vector<CheckedValue> compare(const Scenario& scenario, const Forecast& forecast) {
  const ExpectSpec& expect = *scenario.expect;
  const Metrics m = metrics_of(scenario, forecast);
  std::vector<CheckedValue> values;
  // Only what the file expects is compared.
  const auto add = [&](std::string key, const std::optional<Expectation>& expected,
                       std::optional<double> found) {
    if (expected) values.push_back({std::move(key), *expected, found});
  };
  add("step_time", expect.step_time, m.step_time);
  add("mfu", expect.mfu, m.has_model ? std::optional{m.mfu} : std::nullopt);
  add("peak_memory", expect.peak_memory, peak_memory(forecast, expect.memory_count));
  add("bubble_ratio", expect.bubble_ratio, forecast.bubble_ratio());
  for (std::size_t k = 0; k < exposed_kinds; ++k)
    add(std::string("exposed.") + name(static_cast<ExposedKind>(k)), expect.exposed[k],
        forecast.mean.exposed[k].value());
  return values;
}

/// The breakdown as the file gives it: a part that is not written is not known, rather than 0.
std::vector<std::optional<double>> golden_of(const Scenario& scenario) {
  std::vector<std::optional<double>> golden;
  for (std::size_t i = 0; i < scenario.expect->breakdown.size(); ++i) {
    const bool written =
        node_at(*scenario.document, "expect.breakdown." + breakdown_names()[i]) != nullptr;
    golden.push_back(written ? std::optional{scenario.expect->breakdown[i]} : std::nullopt);
  }
  return golden;
}

CheckResult check_one(const std::string& file, const SearchPath& search,
                      const std::vector<std::string>& overrides) {
  CheckResult result{.file = file};
  const auto begin = std::chrono::steady_clock::now();
  try {
    const Scenario scenario = prepare_scenario(file, overrides, search);
    result.name = scenario.name;
    if (!scenario.expect) refuse_input({file}, "expect", "is missing");
    const Forecast outcome = forecast(scenario);
    result.values = compare(scenario, outcome);
    for (CheckedValue& v : result.values) v.line = line_of(scenario, v.key, file);
    result.breakdown = breakdown_of(outcome);
    result.golden = golden_of(scenario);
  } catch (const InputError& error) {
    result.error = error.what();
    result.bad_input = true;
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

Json to_json(const CheckResult& r) {
  Json values = Json::array();
  for (const CheckedValue& v : r.values)
    values.push_back({v.key, v.expected.value, v.expected.tolerance, v.expected.relative,
                      v.found ? Json(*v.found) : Json(nullptr), v.line});
  Json golden = Json::array();
  for (const auto& part : r.golden) golden.push_back(part ? Json(*part) : Json(nullptr));
  return {r.name, r.error, r.bad_input, values, r.breakdown, golden, r.seconds};
}

CheckResult from_json(const Json& json) {
  // By position, as the worker of the same build wrote it.
  CheckResult r{.name = json[0], .error = json[1], .bad_input = json[2]};
  for (const Json& v : json[3]) {
    r.values.push_back({v[0], {v[1], v[2], v[3]}, {}, v[5]});
    if (!v[4].is_null()) r.values.back().found = v[4].get<double>();
  }
  r.breakdown = json[4].get<std::vector<double>>();
  for (const Json& part : json[5])
    r.golden.push_back(part.is_null() ? std::nullopt : std::optional{part.get<double>()});
  r.seconds = json[6];
  return r;
}

/// Whether a mapping has a key that was meant to be `expect`: its file is no check by its keys.
bool misspells_expect(const Node& root) {
  static const std::vector<std::string> names{"expect"};
  return std::ranges::any_of(root.entries, [](const Node::Entry& entry) {
    return entry.key != names.front() && !suggestions(entry.key, names).empty();
  });
}

/// What a file is; what cannot be read is left to the check.
FileKind kind_of(const std::string& file, const SearchPath& search) {
  std::vector<Diagnostic> repeated;
  try {
    const Node root = load_document_text(read_document_text(file, search), file, search, &repeated);
    const bool whole = std::ranges::find(repeated, "extends", &Diagnostic::path) == repeated.end();
    const FileKind kind = whole ? file_kind(root).value_or(FileKind::scenario) : FileKind::check;
    return kind == FileKind::scenario && misspells_expect(root) ? FileKind::check : kind;
  } catch (const InputError&) {
    return FileKind::check;
  }
}

/// As a command says it that reads one scenario: with names that are near.
Diagnostic missing(const std::string& path, const SearchPath& search) {
  try {
    read_document_text(path, search);
  } catch (const InputError& error) {
    const Diagnostic& said = error.diagnostics().front();
    if (said.message.find("did you mean") != std::string::npos) return said;
  }
  return {{path}, {}, "does not exist, allowed: a scenario file or a folder"};
}

/// A file or folder as it is named, or below a folder of the search path.
std::optional<std::string> found_path(const std::string& path, const SearchPath& search) {
  if (is_there(path)) return path;
  for (const fs::path& folder : search.directories)
    if (is_there(folder / path)) return (folder / path).string();
  return {};
}

}  // namespace

std::vector<double> breakdown_of(const Forecast& forecast) {
  const RankTimes& mean = forecast.mean;
  std::vector<double> parts{mean.computing.value()};
  for (const Seconds& exposed : mean.exposed) parts.push_back(exposed.value());
  for (const Seconds& part :
       {mean.bubble, mean.host_stall, mean.compile_stall, mean.other_idle, mean.fleet})
    parts.push_back(part.value());
  return parts;
}

std::vector<std::string> find_checks(const std::vector<std::string>& paths,
                                     const SearchPath& search) {
  std::vector<std::string> files;
  std::vector<Diagnostic> wrong;
  for (const std::string& named : paths) {
    const std::size_t before = files.size();
    const std::optional<std::string> found = found_path(named, search);
    if (!found) {
      wrong.push_back(missing(named, search));
      continue;
    }
    const std::string& path = *found;
    if (is_folder(path)) {
      for (const fs::path& file : files_below(path, ".yaml"))
        if (kind_of(file.string(), search) == FileKind::check) files.push_back(file.string());
    } else {
      const FileKind kind = kind_of(path, search);
      if (kind != FileKind::scenario) require_kind(kind, FileKind::check, path);
      if (kind == FileKind::check) files.push_back(path);
    }
    if (files.size() == before)
      wrong.push_back({{path},
                       "expect",
                       std::string("is missing, allowed: a scenario with expectations") +
                           (is_launch_file(path, search)
                                ? ", also one with launch: {file: " + path + ", cluster: PRESET}"
                                : "")});
  }
  if (!wrong.empty()) throw InputError(std::move(wrong));
  return files;
}

std::vector<CheckResult> run_checks(const std::vector<std::string>& files, int workers,
                                    const SearchPath& search,
                                    const std::vector<std::string>& overrides) {
  std::vector<CheckResult> results(files.size());
  const auto job = [&](std::size_t i) {
    return to_json(check_one(files[i], search, overrides))
        .dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  run_in_workers(files.size(), workers, job, [&](const WorkerAnswer& answer) {
    CheckResult& result = results[answer.index];
    if (answer.failed()) {
      result.error = answer.failure;
    } else {
      result = from_json(Json::parse(answer.text));
    }
    result.file = files[answer.index];
    if (result.name.empty()) result.name = result.file;
  });
  return results;
}

std::string check_json(const std::vector<CheckResult>& results) {
  Json checks = Json::array();
  for (const CheckResult& r : results) {
    // Texts beside the numbers, so that pages round as the table does.
    Json values = Json::array();
    for (const CheckedValue& v : r.values) {
      const ValueWords words = words_of(v);
      values.push_back({{"key", v.key},
                        {"found", v.found ? Json(*v.found) : Json(nullptr)},
                        {"expected", v.expected.value},
                        {"tolerance", v.expected.tolerance},
                        {"relative", v.expected.relative},
                        {"holds", v.holds()},
                        {"found_text", words.found},
                        {"expected_text", words.expected},
                        {"tolerance_text", words.tolerance},
                        {"difference", words.difference}});
    }
    checks.push_back({{"name", r.name},
                      {"file", r.file},
                      {"passed", r.passed()},
                      {"why", failure_line(r)},
                      {"values", values}});
  }
  return Json{{"checks", checks}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace stepcast
