#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "diff_text.hpp"
#include "stepcast/base/build.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/engine/workers.hpp"
#include "stepcast/sim/explain/diff.hpp"
#include "stepcast/sim/forecast/prepare.hpp"
#include "stepcast/sim/import/launched.hpp"
#include "stepcast/sim/report/report.hpp"
#include "stepcast/sim/scenario/breakdown.hpp"

namespace stepcast {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Inputs = std::vector<std::pair<std::string, std::string>>;

/// `parallel: {tp: 8}` -> `parallel.tp`, `8`; the name and the hash say nothing of what is asked.
void flatten(const OrderedJson& json, const std::string& path, Inputs& out) {
  for (const auto& [key, value] : json.items()) {
    if (path.empty() && (key == "name" || key == "sha256")) continue;
    const std::string inner = path_below(path, key);
    if (value.is_structured()) {
      flatten(value, inner, out);
    } else {
      out.emplace_back(inner, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
}

// Of the fullest stage, which decides whether the job fits. Results of given times have no memory.
std::optional<double> peak_of(const OrderedJson& stages) {
  std::optional<double> peak;
  for (const OrderedJson& stage : stages)
    if (stage.contains("memory_bytes"))
      peak = std::max(peak.value_or(0), stage["memory_bytes"].at("peak").get<double>());
  return peak;
}

std::vector<std::string> layers_of(const OrderedJson& stages) {
  std::vector<std::string> all;
  for (const OrderedJson& stage : stages) {
    if (!stage.contains("layers")) return {};
    std::string text;
    for (const OrderedJson& chunk : stage["layers"])
      text += (text.empty() ? "" : "+") + chunk.dump();
    all.push_back(text);
  }
  return all;
}

std::string build_of(const OrderedJson& json) {
  if (!json.contains("stepcast")) return {};
  std::string text;
  for (const char* key : {"version", "commit", "fingerprint"}) {
    const OrderedJson& head = json["stepcast"];
    if (head.contains(key) && head[key].is_string())
      text += (text.empty() ? "" : " ") + head[key].get<std::string>();
  }
  return text;
}

std::optional<double> number_or_none(const OrderedJson& json, const char* key) {
  const OrderedJson& value = json.at(key);
  return value.is_null() ? std::nullopt : std::optional{value.get<double>()};
}

DiffSide side_of(const OrderedJson& json) {
  DiffSide side;
  const OrderedJson &scenario = json.at("scenario"), &result = json.at("result");
  side.name = side.label = scenario.at("name");
  side.build = build_of(json);
  // Results of early versions have no list of inputs: what differs is then read from their summary.
  side.whole = scenario.contains("inputs");
  if (scenario.contains("framework")) {
    const OrderedJson& framework = scenario["framework"];
    const bool assumed = framework.at("assumed").get<bool>();
    side.inputs.emplace_back(
        "framework", framework.at("label").get<std::string>() + (assumed ? ", assumed" : ""));
  }
  if (side.whole) {
    for (const auto& [path, value] : scenario["inputs"].items())
      side.inputs.emplace_back(path, value.get<std::string>());
  } else {
    flatten(scenario, "", side.inputs);
  }
  for (const char* section : {"sources", "presets"})
    if (scenario.contains(section))
      for (const auto& [path, text] : scenario[section].items())
        // `sources` and `presets` differ in their first letter.
        (section[0] == 's' ? side.sources : side.presets)[path] = text.get<std::string>();
  side.step_time = result.at("step_time_s");
  side.mfu = number_or_none(result, "mfu");
  side.tokens_per_s = number_or_none(result, "tokens_per_s");
  side.device_tokens_per_s = number_or_none(result, "tokens_per_s_per_device");
  side.peak_memory = peak_of(result.at("stages"));
  side.layers = layers_of(result.at("stages"));
  if (const auto cost = result.find("cost"); cost != result.end()) {
    side.cost = SideCost{cost->at("currency"), cost->at("step"), {}};
    if (!cost->at("token").is_null()) side.cost->token = cost->at("token").get<double>();
  }
  for (const std::string& part : breakdown_names()) {
    const bool exposed = is_exposed_part(side.parts.size());
    const OrderedJson& section = result.at(exposed ? "exposed_by_kind_s" : "breakdown_s");
    side.parts.push_back(section.contains(part) ? std::optional{section[part].get<double>()}
                                                : std::nullopt);
  }
  return side;
}

/// A result file; nothing when the text is no JSON object.
std::optional<DiffSide> result_side(const SideRequest& request, const std::string& text) {
  // Every file is tried as JSON first: a result may have any name.
  const OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  const auto refuse = [&](const char* what) -> DiffSide { refuse_input({request.file}, {}, what); };
  try {
    DiffSide side = side_of(json);
    if (request.overrides.empty()) return side;
  } catch (const OrderedJson::exception&) {
    return refuse("is JSON but no result of a step, allowed: what stepcast run --json wrote");
  }
  return refuse("is a result, which --set cannot change, allowed: a scenario file");
}

template <class Value>
OrderedJson optional_json(const std::optional<Value>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

/// Only where the side has one.
void add_cost(OrderedJson& json, const std::optional<SideCost>& cost) {
  if (!cost) return;
  json["cost"] = {
      {"currency", cost->currency}, {"step", cost->step}, {"token", optional_json(cost->token)}};
}

/// What published pairs say; null without any.
OrderedJson pairs_json(const std::optional<PairCount>& count) {
  if (!count) return nullptr;
  OrderedJson json{{"kind", count->kind}, {"low", count->low}};
  json["high"] = count->high <= 1 ? OrderedJson(count->high) : OrderedJson(nullptr);
  json.update(
      {{"right", count->right}, {"total", count->total}, {"too_close", count->too_close()}});
  return json;
}

OrderedJson rows_json(const std::vector<InputRow>& rows, const char* name) {
  OrderedJson json = OrderedJson::array();
  for (const InputRow& row : rows) {
    OrderedJson values = OrderedJson::array();
    for (const auto& value : row.values) values.push_back(optional_json(value));
    json.push_back({{name, row.path}, {"values", values}});
  }
  return json;
}

}  // namespace

std::vector<DiffSide> read_sides(const std::vector<SideRequest>& requests, const SearchPath& search,
                                 int workers) {
  std::vector<DiffSide> sides(requests.size());
  std::vector<std::pair<std::size_t, Scenario>> scenarios;
  std::map<std::string, std::string> texts;  // standard input reads once
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const SideRequest& request = requests[i];
    const auto [text, fresh] = texts.try_emplace(request.file);
    if (fresh) text->second = read_document_text(request.file, search);
    if (auto side = result_side(request, text->second)) {
      sides[i] = std::move(*side);
    } else {
      std::vector<std::string> all = request.common;
      all.insert(all.end(), request.overrides.begin(), request.overrides.end());
      // Sizes and clusters that a launch file leaves open are no keys of a scenario.
      if (is_launched(request.file, all, search))
        all.insert(all.end(), request.launch.begin(), request.launch.end());
      scenarios.emplace_back(i, prepare_scenario(request.file, all, search));
    }
  }
  const auto job = [&](std::size_t i) {
    const Scenario& scenario = scenarios[i].second;
    return report_json(scenario, forecast(scenario), {});
  };
  run_in_workers(scenarios.size(), workers, job, [&](const WorkerAnswer& answer) {
    const std::size_t place = scenarios[answer.index].first;
    const SideRequest& request = requests[place];
    if (answer.failed()) throw_failure(request.file, answer);
    sides[place] = side_of(OrderedJson::parse(answer.text));
    if (!request.overrides.empty()) sides[place].label = joined(request.overrides);
  });
  // Files of one name are told apart by their paths.
  std::map<std::string, std::set<std::string>> files;
  for (std::size_t i = 0; i < sides.size(); ++i) files[sides[i].label].insert(requests[i].file);
  for (std::size_t i = 0; i < sides.size(); ++i)
    if (files[sides[i].label].size() > 1) sides[i].label = requests[i].file;
  return sides;
}

std::string diff_json(const DiffSide& before, const DiffSide& after,
                      const std::vector<PublishedPair>& pairs) {
  const std::vector<DiffSide> sides{before, after};
  OrderedJson parts = OrderedJson::object();
  const auto rows = [&](const std::vector<InputRow>& list, const char* name) {
    OrderedJson json = OrderedJson::array();
    for (const InputRow& row : list)
      json.push_back({{name, row.path},
                      {"before", optional_json(row.values[0])},
                      {"after", optional_json(row.values[1])}});
    return json;
  };
  for (std::size_t p = 0; p < before.parts.size(); ++p)
    parts[breakdown_names()[p]] = optional_json(change(before.parts[p], after.parts[p]));
  const auto side = [&](const DiffSide& s) {
    OrderedJson json{{"name", s.name},
                     {"label", s.label},
                     {"build", s.build},
                     {"step_time_s", s.step_time},
                     {"tokens_per_s_per_device", optional_json(s.device_tokens_per_s)},
                     {"mfu", optional_json(s.mfu)},
                     {"peak_memory_bytes", optional_json(s.peak_memory)}};
    add_cost(json, s.cost);
    return json;
  };
  return OrderedJson{{"stepcast", program_head<OrderedJson>()},
                     {"before", side(before)},
                     {"after", side(after)},
                     {"inputs_compared", comparable(sides)},
                     {"inputs", rows(differing_inputs(sides), "path")},
                     {"inputs_shown", rows(shown_inputs(sides).rows, "path")},
                     {"layers", rows(differing_layers(sides), "stage")},
                     {"change_s", parts},
                     {"pairs", pairs_json(pairs_of(before, after, pairs))}}
             .dump(2, ' ', false, OrderedJson::error_handler_t::replace) +
         "\n";
}

std::string compare_json(const std::vector<DiffSide>& sides,
                         const std::vector<PublishedPair>& pairs) {
  OrderedJson list = OrderedJson::array();
  for (const DiffSide& side : sides) {
    OrderedJson parts = OrderedJson::object(), changes = OrderedJson::object();
    for (std::size_t p = 0; p < side.parts.size(); ++p) {
      parts[breakdown_names()[p]] = optional_json(side.parts[p]);
      changes[breakdown_names()[p]] = optional_json(change(sides[0].parts[p], side.parts[p]));
    }
    list.push_back({{"label", side.label},
                    {"name", side.name},
                    {"build", side.build},
                    {"step_time_s", side.step_time},
                    {"step_time_change_s", side.step_time - sides[0].step_time},
                    {"tokens_per_s_per_device", optional_json(side.device_tokens_per_s)},
                    {"mfu", optional_json(side.mfu)},
                    {"peak_memory_bytes", optional_json(side.peak_memory)},
                    {"parts_s", parts},
                    {"change_s", changes}});
    if (&side != &sides.front())
      list.back()["pairs"] = pairs_json(pairs_of(sides.front(), side, pairs));
    add_cost(list.back(), side.cost);
  }
  return OrderedJson{{"stepcast", program_head<OrderedJson>()},
                     {"sides", list},
                     {"inputs_compared", comparable(sides)},
                     {"inputs", rows_json(differing_inputs(sides), "path")},
                     {"inputs_shown", rows_json(shown_inputs(sides).rows, "path")},
                     {"layers", rows_json(differing_layers(sides), "stage")}}
             .dump(2, ' ', false, OrderedJson::error_handler_t::replace) +
         "\n";
}

}  // namespace stepcast
