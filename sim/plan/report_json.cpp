#include <cmath>
#include <nlohmann/json.hpp>

#include "plan_cost.hpp"
#include "stepcast/base/build.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/plan/plan_report.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

Json point_json(const PlanSpace& space, const PlanPoint& p) {
  // Settings are strings `path=value`, as the command line takes them; `plan` only says which file
  // they came from.
  Json settings = Json::object();
  for (const std::string& setting : settings_of(space, p.strategy, p.placement)) {
    const std::size_t equals = setting.find('=');
    settings[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  settings.erase("plan");
  Json json{{"settings", settings},
            // A time that was not asked for is null and not left out, so that tables have the same
            // columns in each row.
            {"devices", p.devices},
            {"simulated_s", nullptr},
            {"alone_s", nullptr},
            {"unit_bound_s", nullptr},
            {"bound_s", p.bound.value()},
            {"estimate_s", p.estimate.value()},
            {"peak_memory_bytes", p.peak.value()},
            {"capacity_bytes", p.capacity.value()}};
  if (p.simulated) json["simulated_s"] = p.simulated->value();
  if (p.cost) {
    json["cost_per_token"] = p.cost->token;
    json["joules_per_token"] = p.cost->joules;
  }
  if (p.energy && looks_at(space.spec, PlanMeasure::energy)) json["energy_per_token_j"] = *p.energy;
  if (looks_at(space.spec, PlanMeasure::throughput))
    json["tokens_per_s"] = 1 / measured(PlanMeasure::throughput, p);
  if (p.unit_bound) json["unit_bound_s"] = p.unit_bound->value();
  // What the reader refuses takes forever (plan_score), and JSON has no number for that.
  if (p.alone && std::isfinite(p.alone->value())) json["alone_s"] = p.alone->value();
  return json;
}

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json run_json(const PlanRun& run) {
  Json parts = Json::object();
  for (std::size_t i = 0; i < run.parts.size(); ++i) parts[plan_part_names()[i]] = run.parts[i];
  return {{"strategy", run.strategy},
          {"devices", run.devices},
          {"tokens", run.tokens},
          {"step_time_s", run.step_time.value()},
          {"peak_memory_bytes", run.peak.value()},
          {"parts_s", parts}};
}

Json comparison_json(const PlanResult& result) {
  if (!result.comparison) return nullptr;
  const PlanComparison& c = *result.comparison;
  // By name, because differences() follows plan_part_names() and readers of the JSON do not know
  // that order.
  Json parts = Json::object();
  const std::vector<double> differences = c.differences();
  for (std::size_t i = 0; i < differences.size(); ++i) parts[plan_part_names()[i]] = differences[i];
  return {{"file", c.file},
          {"difference", c.difference()},
          {"parts", parts},
          {"baseline", run_json(c.baseline)},
          {"winner", run_json(c.winner)}};
}

/// With seeds alone: plans without them say what they said before there were any.
Json finalists_json(const PlanSpace& space, const PlanResult& result) {
  Json finalists = Json::array();
  for (const PlanPoint& p : result.finalists) {
    Json point = point_json(space, p);
    const PlanSeeds& seeds = *p.seeds;
    point["seeds"] = space.spec.seeds;
    point["quantile"] = space.spec.quantile;
    point["quantile_s"] = seeds.decides.value();
    point["first_seed"] = seeds.first_seed;
    point["first_seed_s"] = seeds.first_step.value();
    point["mean_s"] = seeds.step_time.mean;
    point["p10_s"] = seeds.step_time.p10;
    point["p50_s"] = seeds.step_time.p50;
    point["p90_s"] = seeds.step_time.p90;
    point["interval_s"] = {seeds.interval.low, seeds.interval.high};
    point["memory_margin_bytes"] = (p.capacity - p.peak).value();
    finalists.push_back(point);
  }
  return finalists;
}

Json counts_json(const PlanCounts& counts) {
  Json infeasible = Json::object();
  for (const auto& [reason, points] : counts.infeasible) infeasible[reason] = points;
  return {{"points", counts.points},
          {"infeasible", infeasible},
          {"bounded", counts.bounded},
          {"estimated", counts.estimated},
          {"unit_bounded", counts.unit_bounded},
          {"timed", counts.timed},
          {"simulated", counts.simulated}};
}

/// Points that no other beats, and for each other one by whom it is beaten.
void add_frontier(Json& json, const PlanSpace& space, const PlanResult& result) {
  json["frontier"] = Json::array();
  json["dominated"] = Json::array();
  for (const FrontierEntry& entry : frontier(result)) {
    Json point = point_json(space, *entry.point);
    if (entry.dominator == nullptr) {
      json["frontier"].push_back(point);
    } else {
      point["dominated_by"] = strategy_text(space, entry.dominator->strategy);
      point["because"] = beaten_by(entry);
      json["dominated"].push_back(point);
    }
  }
}

}  // namespace

std::string plan_json(const PlanSpace& space, const PlanResult& result) {
  const Json head = program_head<Json>();
  Json json{{"stepcast", version},
            {"commit", head.at("commit")},
            {"fingerprint", head.at("fingerprint")},
            {"file", space.file}};
  json["proven"] = result.proven;
  json["least_bound"] = optional_json(result.least_bound);
  json["rank_correlation"] = optional_json(result.rank_correlation);
  json["counts"] = counts_json(result.counts);
  json["comparison"] = comparison_json(result);
  json["best"] = Json::array();
  for (const PlanPoint& p : result.best) json["best"].push_back(point_json(space, p));
  json["placed"] = Json::array();
  // Placed points are simulated with a placement of their own and stand apart from balanced ones.
  for (const PlanPoint& p : result.placed) {
    Json point = point_json(space, p);
    point["solver"] = p.placement->solver;
    point["status"] = p.placement->status;
    point["gap"] = p.placement->gap;
    json["placed"].push_back(point);
  }
  if (space.spec.seeds > 0) json["finalists"] = finalists_json(space, result);
  if (!space.spec.frontier.empty()) json["frontier_of"] = space.spec.frontier;
  add_frontier(json, space, result);
  return json.dump(2) + "\n";
}

std::string plan_csv(const PlanSpace& space, const PlanResult& result) {
  const bool money = looks_at(space.spec, PlanMeasure::cost);
  std::string text =
      "strategy,devices,simulated_s,alone_s,bound_s,estimate_s,peak_bytes,dominated_by";
  const bool energy = looks_at(space.spec, PlanMeasure::energy);
  if (money) text += ",cost_per_token,joules_per_token";
  text += energy ? ",energy_per_token_j\n" : "\n";
  // An empty cell says that it was not computed: 0 would sort first.
  const auto time = [](const std::optional<Seconds>& t) {
    return t ? shortest(t->value()) : std::string{};
  };
  // The frontier's order is by time; points that are beaten come with what beats them.
  for (const FrontierEntry& entry : frontier(result)) {
    const PlanPoint& p = *entry.point;
    text += strategy_text(space, p.strategy) + "," + std::to_string(p.devices) + "," +
            time(p.simulated) + "," + time(p.alone) + "," + shortest(p.bound.value()) + "," +
            shortest(p.estimate.value()) + "," + shortest(p.peak.value()) + "," +
            (entry.dominator == nullptr ? "" : strategy_text(space, entry.dominator->strategy));
    if (money)
      text += p.cost ? "," + shortest(p.cost->token) + "," + shortest(p.cost->joules) : ",,";
    if (energy) text += p.energy ? "," + shortest(*p.energy) : ",";
    text += "\n";
  }
  return text;
}

}  // namespace stepcast
