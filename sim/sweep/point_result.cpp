#include "stepcast/sim/sweep/point_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/build.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/forecast/metrics.hpp"
#include "stepcast/sim/forecast/step_cost.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::json;

struct Named {
  std::string name;
  std::optional<double> value;
};

const MemoryBudget* fullest(const Forecast& forecast) {
  const MemoryBudget* worst = nullptr;
  for (const StageForecast& stage : forecast.stages)
    if (stage.memory && (!worst || stage.memory->peak() > worst->peak())) worst = &*stage.memory;
  return worst;
}

std::vector<Named> inputs(const Scenario& s) {
  const ParallelPlan& p = s.workload.plan;
  const TrainingSpec& t = s.workload.training;
  const auto number = [](std::int64_t n) { return std::optional{static_cast<double>(n)}; };
  const bool counted = p.dp > 0 && t.micro_batch > 0;  // not so in a draft that was never read
  // The order of these and of outputs() is that of the columns of stores and tables.
  return {{"devices", number(s.cluster.devices)},
          {"tp", number(p.tp)},
          {"pp", number(p.pp)},
          {"vpp", number(p.vpp)},
          {"cp", number(p.cp)},
          {"ep", number(p.ep)},
          {"etp", number(p.etp)},
          {"dp", number(p.dp)},
          {"global_batch", number(t.global_batch)},
          {"sequence", number(t.sequence)},
          {"micro_batch", number(t.micro_batch)},
          {"micro_batches", counted ? number(s.micro_batches()) : std::nullopt}};
}

/// Of a cluster with prices.
void add_costs(const Scenario& s, const Forecast& f, std::vector<Named>& list) {
  const std::optional<StepCost> cost = step_cost(s, f);
  const auto of_token = [&](double step) {
    return cost->tokens ? std::optional{step / *cost->tokens} : std::nullopt;
  };
  // Columns are the same in every table, also where nothing has a price.
  list.push_back({"cost_per_step", cost ? std::optional{cost->step} : std::nullopt});
  list.push_back({"cost_per_token", cost ? of_token(cost->step) : std::nullopt});
  list.push_back({"joules_per_token", cost ? of_token(cost->joules) : std::nullopt});
}

std::vector<Named> outputs(const Scenario& s, const Forecast& f) {
  const Metrics m = metrics_of(s, f);
  // Given times have no tokens or FLOPs.
  const auto of_model = [&](double v) { return m.has_model ? std::optional{v} : std::nullopt; };
  const RankTimes& mean = f.mean;
  std::vector<Named> list{{"step_time_s", m.step_time},
                          {"tokens_per_s", of_model(m.tokens_per_s)},
                          {"tokens_per_s_per_device", of_model(m.tokens_per_s_per_device)},
                          {"samples_per_s", m.samples_per_s},
                          {"tflops_per_device", of_model(m.tflops_per_device)},
                          {"mfu", of_model(m.mfu)},
                          {"hfu", of_model(m.hfu)},
                          {"bubble_ratio", f.bubble_ratio()},
                          {"computing_s", mean.computing.value()},
                          {"communication_exposed_s", mean.exposed_total().value()}};
  for (std::size_t k = 0; k < exposed_kinds; ++k)
    list.push_back(
        {fmt::format("exposed_{}_s", name(static_cast<ExposedKind>(k))), mean.exposed[k].value()});
  list.push_back({"bubble_s", mean.bubble.value()});
  list.push_back({"host_stall_s", mean.host_stall.value()});
  list.push_back({"compile_stall_s", mean.compile_stall.value()});
  list.push_back({"other_idle_s", mean.other_idle.value()});
  list.push_back({"fleet_s", mean.fleet.value()});
  // A column exists in every row, empty where the point has no such number.
  const auto of_fleet = [&](Seconds FleetForecast::*end) {
    return f.fleet ? std::optional{((*f.fleet).*end).value()} : std::nullopt;
  };
  list.push_back({"fleet_p10_s", of_fleet(&FleetForecast::low)});
  list.push_back({"fleet_p90_s", of_fleet(&FleetForecast::high)});
  const MemoryBudget* worst = fullest(f);
  list.push_back(
      {"peak_memory_bytes", worst ? std::optional{worst->peak().value()} : std::nullopt});
  list.push_back(
      {"memory_capacity_bytes", worst ? std::optional{worst->capacity.value()} : std::nullopt});
  const auto of_seeds = [&](double Quantiles::*quantile) {
    return f.seeds ? std::optional{f.seeds->step_time.*quantile} : std::nullopt;
  };
  list.push_back(
      {"seeds", f.seeds ? std::optional{static_cast<double>(f.seeds->count)} : std::nullopt});
  list.push_back({"step_time_mean_s", of_seeds(&Quantiles::mean)});
  list.push_back({"step_time_p10_s", of_seeds(&Quantiles::p10)});
  list.push_back({"step_time_p50_s", of_seeds(&Quantiles::p50)});
  list.push_back({"step_time_p90_s", of_seeds(&Quantiles::p90)});
  add_costs(s, f, list);
  return list;
}

std::vector<Named> all_of(const Scenario& scenario, const Forecast& forecast) {
  std::vector<Named> all = inputs(scenario);
  for (Named& named : outputs(scenario, forecast)) all.push_back(std::move(named));
  return all;
}

constexpr const char* status_names[] = {"ok", "out_of_memory", "invalid", "failed"};

}  // namespace

const char* name(PointStatus status) { return status_names[static_cast<std::size_t>(status)]; }

bool PointResult::of_this_build() const {
  return version == std::string_view(stepcast::version) && fingerprint == build_fingerprint();
}

const std::vector<std::string>& number_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    // Names come from the same list as the numbers, so that none can be of the wrong column.
    for (const Named& named : all_of(Scenario{}, Forecast{})) list.push_back(named.name);
    return list;
  }();
  return names;
}

std::size_t number_place(std::string_view name) {
  const std::vector<std::string>& names = number_names();
  const auto found = std::ranges::find(names, name);
  expects(found != names.end(), "a number is asked for by its name");
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<std::optional<double>> numbers_of(const Scenario& scenario, const Forecast& forecast) {
  std::vector<std::optional<double>> numbers;
  for (const Named& named : all_of(scenario, forecast)) numbers.push_back(named.value);
  return numbers;
}

std::vector<std::optional<double>> numbers_without_step(
    std::vector<std::optional<double>> numbers) {
  const auto asked = number_place("step_time_s");  // what was asked stands before it
  const auto peak = number_place("peak_memory_bytes");
  const auto capacity = number_place("memory_capacity_bytes");
  for (std::size_t i = asked; i < numbers.size(); ++i)
    if (i != peak && i != capacity) numbers[i].reset();
  return numbers;
}

std::string memory_excess(const Forecast& forecast) {
  // The stage that lacks most, so that the words agree with the peak of the job beside them.
  struct Lack {
    Bytes needs{0}, has{0};
    const char* where = "";
    std::size_t stage = 0;
  } most;
  const auto consider = [&most](Lack lack) {
    if (lack.needs - lack.has > most.needs - most.has) most = lack;
  };
  for (std::size_t s = 0; s < forecast.stages.size(); ++s) {
    const auto& memory = forecast.stages[s].memory;
    if (!memory || memory->fits()) continue;
    if (!memory->fits_storage())
      consider({memory->storage, memory->storage_capacity, "on the drives of a host", s});
    else if (!memory->fits_memory())
      consider({memory->host, memory->host_capacity, "per host", s});
    else
      consider({memory->peak(), memory->capacity, "per device", s});
  }
  if (most.needs <= most.has) return "";
  return fmt::format("stage {} needs {} of {} {}", most.stage, human(most.needs), human(most.has),
                     most.where);
}

std::string to_line(const PointResult& r) {
  Json numbers = Json::array();
  for (const auto& number : r.numbers) numbers.push_back(number ? Json(*number) : Json(nullptr));
  return Json{{"key", r.key},           {"version", r.version},     {"fingerprint", r.fingerprint},
              {"sweep", r.sweep},       {"point", r.point},         {"values", r.values},
              {"varied", r.varied},     {"status", name(r.status)}, {"reason", r.reason},
              {"schedule", r.schedule}, {"numbers", numbers}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

PointResult from_line(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    PointResult r{.key = json.at("key"),
                  .version = json.at("version"),
                  .fingerprint = json.at("fingerprint"),
                  .sweep = json.at("sweep"),
                  .point = json.at("point"),
                  .values = json.at("values"),
                  .varied = json.at("varied"),
                  .reason = json.at("reason"),
                  .schedule = json.at("schedule")};
    // Lines are written by a worker of the same build: anything else is a broken promise.
    const auto status = std::ranges::find(status_names, json.at("status").get<std::string>());
    expects(status != std::end(status_names), "a status has a name");
    r.status = static_cast<PointStatus>(status - std::begin(status_names));
    for (const Json& number : json.at("numbers")) {
      if (number.is_null()) {
        r.numbers.emplace_back();
      } else {
        r.numbers.emplace_back(number.get<double>());
      }
    }
    expects(r.numbers.size() == number_names().size(), "a point has all its numbers");
    return r;
  } catch (const Json::exception& error) {
    throw ContractError(std::string("the line of a point: ") + error.what());
  }
}

std::string plain_value(const std::string& text) {
  const auto count = parse_count(text);
  const auto number = count ? count : parse_number(text);
  return number ? plain_number(*number) : text;
}

std::vector<std::string> varied_keys(const std::vector<PointResult>& rows) {
  std::vector<std::string> keys;
  for (const PointResult& row : rows)
    for (const auto& [key, unused] : row.varied)
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  return keys;
}

std::optional<std::string> varied_value(const PointResult& row, std::string_view key) {
  for (const auto& [path, value] : row.varied)
    if (path == key) return value;
  return {};
}

std::string varied_json(const PointResult& result) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [key, value] : result.varied) {
    // Whole numbers stay whole, so that a query can compare them.
    if (const auto count = parse_count(value)) {
      json[key] = static_cast<std::int64_t>(*count);
    } else if (const auto number = parse_number(value)) {
      json[key] = *number;
    } else {
      json[key] = value;
    }
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::pair<std::string, std::string>> varied_from(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> varied;
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) return varied;
  for (const auto& [key, value] : json.items())
    varied.emplace_back(
        key, value.is_string() ? value.get<std::string>() : plain_number(value.get<double>()));
  return varied;
}

std::string plain_number(double value) {
  constexpr double exact = 9007199254740992.0;  // 2^53: whole numbers below are exact
  if (value == std::floor(value) && std::abs(value) < exact) return fmt::format("{:.0f}", value);
  return shortest(value);
}

}  // namespace stepcast
