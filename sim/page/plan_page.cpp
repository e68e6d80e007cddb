#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "html.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/plan/plan_report.hpp"
#include "stepcast/sim/scenario/breakdown.hpp"

namespace stepcast {
namespace {

using Json = nlohmann::ordered_json;

// Beyond this many times the fastest a point is in the table only, so that the frontier is seen.
constexpr double slowest_drawn = 2;

Json optional(const std::optional<Seconds>& time) {
  return time ? Json(time->value()) : Json(nullptr);
}

Json card(const char* label, const std::string& value, const std::string& note) {
  return {{"label", label}, {"value", value}, {"note", note}, {"bad", false}};
}

/// What the objective looks for, and what a proof says of all other points.
struct Goal {
  const char* wanted;
  const char* proven;
};
Goal goal_of(PlanSpec::Objective objective) {
  switch (objective) {
    case PlanSpec::Objective::step_time:
    case PlanSpec::Objective::pareto:
      break;
    case PlanSpec::Objective::tokens_per_device:
      return {"the most tokens per second and device", "that no point has more tokens per device"};
    case PlanSpec::Objective::cost:
      return {"the least price of a token", "that no point is cheaper"};
    case PlanSpec::Objective::throughput:
      return {"the most tokens per second", "that no point has more tokens per second"};
    case PlanSpec::Objective::energy:
      return {"the least energy of a token", "that no point takes less energy"};
    case PlanSpec::Objective::memory:
      return {"the least memory, of equal ones the fastest", "that no point takes less memory"};
  }
  return {"the fastest step", "that no point is faster"};
}

Json measures(const PlanResult& result) {
  Json list = Json::array();
  for (const PlanMeasure measure : result.measures) list.push_back(name(measure));
  return list;
}

Json headline(const PlanSpace& space, const PlanResult& result) {
  const PlanPoint& winner = best_point(space, result);
  Json cards = Json::array();
  cards.push_back(card("step time", human(*winner.simulated), "of the winner, simulated"));
  cards.push_back(card("memory peak", human(winner.peak), "of " + human(winner.capacity)));
  cards.push_back(card("points", fmt::format("{:.0f}", result.counts.points),
                       fmt::format("{:.0f} simulated", result.counts.simulated)));
  cards.push_back(
      card("proven", result.proven ? "yes" : "no", goal_of(space.spec.objective).proven));
  if (result.rank_correlation)
    cards.push_back(card("rank correlation", fmt::format("{:.3f}", *result.rank_correlation),
                         "estimate, simulation"));
  if (winner.seeds)
    cards.push_back(card("under stalls", human(winner.seeds->decides),
                         fmt::format("{:g} % of the steps of {} seeds are within",
                                     100 * space.spec.quantile, space.spec.seeds)));
  if (result.comparison)
    cards.push_back(card("baseline", fmt::format("{:+.1f}%", 100 * result.comparison->difference()),
                         "step time against " + result.comparison->file));
  return cards;
}

Json points(const PlanSpace& space, const std::vector<FrontierEntry>& entries) {
  // The page names the point that beats another by its place in the list.
  std::map<const PlanPoint*, std::size_t> place;
  for (std::size_t i = 0; i < entries.size(); ++i) place[entries[i].point] = i;
  Json list = Json::array();
  for (const FrontierEntry& entry : entries) {
    const bool beaten = entry.dominator != nullptr;
    list.push_back({{"name", strategy_text(space, entry.point->strategy)},
                    {"devices", entry.point->devices},
                    {"time", entry.time.value()},
                    {"memory", entry.point->peak.value()},
                    {"simulated", entry.point->simulated.has_value()},
                    {"beaten_by", beaten ? Json(place.at(entry.dominator)) : Json(-1)},
                    {"because", beaten ? beaten_by(entry) : ""}});
  }
  return list;
}

Json rows(const PlanSpace& space, const std::vector<FrontierEntry>& entries) {
  Json list = Json::array();
  for (const FrontierEntry& entry : entries) {
    const PlanPoint& p = *entry.point;
    list.push_back(Json::array(
        {strategy_text(space, p.strategy), p.devices, optional(p.simulated), optional(p.alone),
         p.bound.value(), p.estimate.value(), p.peak.value(),
         entry.dominator == nullptr ? "" : strategy_text(space, entry.dominator->strategy)}));
  }
  return list;
}

/// The best points under stalls, the best first; null without seeds.
Json finalists(const PlanSpace& space, const PlanResult& result) {
  if (result.finalists.empty()) return nullptr;
  Json list = Json::array();
  for (const PlanPoint& p : result.finalists) {
    const PlanSeeds& seeds = *p.seeds;
    list.push_back({{"name", strategy_text(space, p.strategy, p.placement)},
                    {"devices", p.devices},
                    {"decides", seeds.decides.value()},
                    {"p10", seeds.step_time.p10},
                    {"p50", seeds.step_time.p50},
                    {"p90", seeds.step_time.p90},
                    {"calm", p.simulated->value()},
                    {"free", (p.capacity - p.peak).value()}});
  }
  const StepInterval::Bounds& interval = result.finalists.front().seeds->interval;
  return {{"seeds", space.spec.seeds},
          {"quantile", space.spec.quantile},
          {"interval", {interval.low, interval.high}},
          {"within", finalists_within(space, result)},
          {"points", list}};
}

Json counts(const PlanCounts& counts) {
  Json list = Json::array();
  for (const auto& [reason, points] : counts.infeasible)
    list.push_back(Json::array({"infeasible: " + reason, points}));
  list.push_back(Json::array({"with a bound above what was kept", counts.bounded}));
  list.push_back(Json::array({"estimated", counts.estimated}));
  list.push_back(Json::array({"bounded by their units", counts.unit_bounded}));
  list.push_back(Json::array({"timed without contention", counts.timed}));
  list.push_back(Json::array({"simulated", counts.simulated}));
  return list;
}

}  // namespace

std::string plan_page(const PlanSpace& space, const PlanResult& result) {
  const std::vector<FrontierEntry> entries = frontier(result);
  const PlanPoint& winner = best_point(space, result);
  // From the plan's own JSON, so that page and file say the same.
  Json comparison = Json::parse(plan_json(space, result)).at("comparison");
  for (std::size_t i = 0; result.comparison && i < breakdown_names().size(); ++i)
    if (is_exposed_part(i)) comparison["exposed"].push_back(breakdown_names()[i]);
  const Json data{{"kind", "plan"},
                  {"headline", headline(space, result)},
                  {"wanted", goal_of(space.spec.objective).wanted},
                  {"measures", measures(result)},
                  {"points", points(space, entries)},
                  {"slowest_shown", slowest_drawn * entries.front().time.value()},
                  {"capacity", winner.capacity.value()},
                  {"comparison", comparison},
                  {"finalists", finalists(space, result)},
                  {"columns",
                   {"strategy", "devices", "simulated_s", "alone_s", "bound_s", "estimate_s",
                    "peak_bytes", "dominated_by"}},
                  {"rows", rows(space, entries)},
                  {"proof", proof_text(space, result)},
                  {"counts", counts(result.counts)}};
  const Scenario& base = space.bases.front().scenario;
  return html_page(base.name, base.question,
                   "The best plan: " + strategy_text(space, winner.strategy, winner.placement),
                   data.dump());
}

}  // namespace stepcast
