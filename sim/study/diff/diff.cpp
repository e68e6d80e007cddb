#include "stepcast/sim/study/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "stepcast/base/text.hpp"
#include "stepcast/base/version.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/report/report.hpp"
#include "stepcast/sim/scenario/breakdown.hpp"

namespace stepcast {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// `parallel: {tp: 8}` -> `parallel.tp`, `8`; the name and the hash say nothing of what is asked.
void flatten(const OrderedJson& json, const std::string& path,
             std::vector<std::pair<std::string, std::string>>& out) {
  for (const auto& [key, value] : json.items()) {
    if (path.empty() && (key == "name" || key == "sha256")) continue;
    const std::string inner = path.empty() ? key : path + "." + key;
    if (value.is_structured()) {
      flatten(value, inner, out);
    } else {
      out.emplace_back(inner, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
}

std::vector<std::pair<std::string, std::string>> keys_of(const std::string& content) {
  std::vector<std::pair<std::string, std::string>> keys;
  std::istringstream lines{content};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = std::min(line.find('='), line.size());
    keys.emplace_back(line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
  }
  return keys;
}

std::optional<double> peak_of(const OrderedJson& stages) {
  std::optional<double> peak;
  for (const OrderedJson& stage : stages)
    if (stage.contains("memory_bytes"))
      peak = std::max(peak.value_or(0), stage["memory_bytes"].at("peak").get<double>());
  return peak;
}

DiffSide side_of(const OrderedJson& json) {
  DiffSide side;
  const OrderedJson &scenario = json.at("scenario"), &result = json.at("result");
  side.name = scenario.at("name");
  flatten(scenario, "", side.inputs);
  side.step_time = result.at("step_time_s");
  if (!result.at("mfu").is_null()) side.mfu = result.at("mfu").get<double>();
  side.peak_memory = peak_of(result.at("stages"));
  for (const std::string& part : breakdown_names()) {
    const bool exposed = is_exposed_part(side.parts.size());
    const OrderedJson& section = result.at(exposed ? "exposed_by_kind_s" : "breakdown_s");
    side.parts.push_back(section.value(part, 0.0));
  }
  return side;
}

/// A result file; nothing when the text is no JSON object.
std::optional<DiffSide> result_side(const std::string& path, const std::string& text) {
  const OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  try {
    return side_of(json);
  } catch (const OrderedJson::exception&) {
    throw InputError({Diagnostic{
        {path}, {}, "is JSON but no result of a step, allowed: what stepcast run --json wrote"}});
  }
}

DiffSide simulated_side(const Scenario& scenario, const std::string& report) {
  DiffSide side = side_of(OrderedJson::parse(report));
  side.inputs = keys_of(scenario.content);
  side.whole = true;
  return side;
}

double percent(double before, double after) { return 100 * (after - before) / before; }

std::string signed_time(double seconds) {
  return (seconds < 0 ? "-" : "+") + human(Seconds{std::abs(seconds)});
}

std::string row(const std::string& name, double before, double after, double step) {
  return fmt::format("  {:<24}{:>11}{:>11}{:>12}{:>9.1f}%\n", name, human(Seconds{before}),
                     human(Seconds{after}), signed_time(after - before),
                     100 * (after - before) / step);
}

}  // namespace

std::pair<DiffSide, DiffSide> read_sides(const std::string& before, const std::string& after,
                                         const SearchPath& search) {
  const std::string* paths[] = {&before, &after};
  std::optional<DiffSide> sides[2];
  std::vector<std::pair<std::size_t, Scenario>> scenarios;
  for (std::size_t i = 0; i < 2; ++i) {
    sides[i] = result_side(*paths[i], read_document_text(*paths[i], search));
    if (!sides[i]) scenarios.emplace_back(i, prepare_scenario(*paths[i], {}, search));
  }
  const auto job = [&](std::size_t i) {
    const Scenario& scenario = scenarios[i].second;
    return report_json(scenario, forecast(scenario), {});
  };
  run_in_workers(scenarios.size(), usable_processors(), job, [&](const WorkerAnswer& answer) {
    const auto& [place, scenario] = scenarios[answer.index];
    if (answer.failed()) throw EngineError(*paths[place] + ": " + answer.failure);
    sides[place] = simulated_side(scenario, answer.text);
  });
  return {std::move(*sides[0]), std::move(*sides[1])};
}

std::vector<InputChange> changed_inputs(const DiffSide& before, const DiffSide& after) {
  if (before.whole != after.whole) return {};  // their keys have different names
  const std::map<std::string, std::string> old(before.inputs.begin(), before.inputs.end());
  const std::map<std::string, std::string> now(after.inputs.begin(), after.inputs.end());
  std::vector<InputChange> changes;
  for (const auto& [path, value] : before.inputs) {
    const auto found = now.find(path);
    if (found == now.end()) {
      changes.push_back({path, value, {}});
    } else if (found->second != value) {
      changes.push_back({path, value, found->second});
    }
  }
  for (const auto& [path, value] : after.inputs)
    if (!old.contains(path)) changes.push_back({path, {}, value});
  return changes;
}

std::string diff_table(const DiffSide& before, const DiffSide& after) {
  std::string text = fmt::format("{} -> {}\n\n", before.name, after.name);
  const std::vector<InputChange> changes = changed_inputs(before, after);
  if (before.whole != after.whole) {
    text += "  inputs: not compared, a result does not hold those of a scenario\n";
  } else {
    text += changes.empty() ? "  inputs: none differs\n" : "  inputs that differ\n";
  }
  for (const InputChange& change : changes)
    text += fmt::format("    {:<40} {} -> {}\n", change.path, change.before.value_or("-"),
                        change.after.value_or("-"));
  text += fmt::format("\n  {:<24}{:>11}{:>11}{:>12}{:>10}\n", "where the time went", "before",
                      "after", "change", "of step");
  for (std::size_t p = 0; p < before.parts.size(); ++p) {
    if (before.parts[p] == 0 && after.parts[p] == 0) continue;
    text += row((is_exposed_part(p) ? "exposed " : "") + breakdown_names()[p], before.parts[p],
                after.parts[p], before.step_time);
  }
  text += row("step time", before.step_time, after.step_time, before.step_time);
  if (before.mfu && after.mfu)
    text += fmt::format("  {:<24}{:>10.1f}%{:>10.1f}%{:>+11.1f}%\n", "MFU", 100 * *before.mfu,
                        100 * *after.mfu, 100 * (*after.mfu - *before.mfu));
  if (before.peak_memory && after.peak_memory)
    text += fmt::format("  {:<24}{:>11}{:>11}{:>+11.1f}%\n", "memory peak",
                        human(Bytes{*before.peak_memory}), human(Bytes{*after.peak_memory}),
                        percent(*before.peak_memory, *after.peak_memory));
  return text;
}

std::string diff_json(const DiffSide& before, const DiffSide& after) {
  const auto optional = [](const auto& value) {
    return value ? OrderedJson(*value) : OrderedJson(nullptr);
  };
  OrderedJson inputs = OrderedJson::array(), parts = OrderedJson::object();
  for (const InputChange& change : changed_inputs(before, after))
    inputs.push_back({{"path", change.path},
                      {"before", optional(change.before)},
                      {"after", optional(change.after)}});
  for (std::size_t p = 0; p < before.parts.size(); ++p)
    parts[breakdown_names()[p]] = after.parts[p] - before.parts[p];
  const auto side = [&](const DiffSide& s) {
    return OrderedJson{{"name", s.name},
                       {"step_time_s", s.step_time},
                       {"mfu", optional(s.mfu)},
                       {"peak_memory_bytes", optional(s.peak_memory)}};
  };
  return OrderedJson{{"stepcast", {{"format", 1}, {"version", version}}},
                     {"before", side(before)},
                     {"after", side(after)},
                     {"inputs", inputs},
                     {"change_s", parts}}
             .dump(2, ' ', false, OrderedJson::error_handler_t::replace) +
         "\n";
}

}  // namespace stepcast
