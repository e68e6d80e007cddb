#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/build.hpp"
#include "stepcast/sim/explain/explain.hpp"
#include "stepcast/sim/explain/loss.hpp"

namespace stepcast {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson shares(const std::vector<PathShare>& rows) {
  OrderedJson list = OrderedJson::array();
  for (const PathShare& row : rows) list.push_back({{"name", row.name}, {"seconds", row.seconds}});
  return list;
}

/// JSON has no infinity: a slack that nothing bounds is null.
OrderedJson finite(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson path_json(const CriticalPath& path) {
  OrderedJson slacks = OrderedJson::array();
  for (const CriticalPath::Slack& s : path.slacks) {
    slacks.push_back({{"name", s.name},
                      // Slack without an end is null: JSON has no infinity.
                      {"count", s.count},
                      {"critical", s.critical},
                      {"least_s", finite(s.least)},
                      {"median_s", finite(s.median)}});
  }
  return {{"total_s", path.total},
          {"categories", shares(path.categories)},
          {"operators", shares(path.operators)},
          {"links", shares(path.links)},
          {"slack", slacks}};
}

const char* name(Parameter::Nature nature) {
  static constexpr const char* names[] = {"time", "rate", "plain"};
  return names[static_cast<std::size_t>(nature)];
}

OrderedJson share_json(const StepShare& share) {
  return {{"per_micro_batch_s", share.per_micro_batch}, {"once_s", share.once}};
}

}  // namespace

std::string explanation_json(const Scenario& scenario, const Explanation& e) {
  OrderedJson elasticities = OrderedJson::array(), bounds = OrderedJson::array();
  for (const Elasticity& row : e.elasticities) {
    elasticities.push_back({{"path", row.parameter.path},
                            {"kind", name(row.parameter.nature)},
                            {"value", row.parameter.value},
                            {"elasticity", row.value}});
  }
  for (const Bound& b : e.bounds)
    bounds.push_back({{"name", b.name}, {"step_time_s", b.step_time}});
  const OrderedJson json{{"stepcast", program_head<OrderedJson>()},
                         {"scenario", {{"name", scenario.name}, {"sha256", scenario.sha256}}},
                         {"summary", explanation_text(scenario, e)},
                         {"step_time_s", e.step_time},
                         {"headline", e.headline},
                         {"critical_path", path_json(e.path)},
                         {"elasticities", elasticities},
                         // The sum of all elasticities of times, which near 1 says that no number
                         // was missed.
                         {"elasticity_of_all_times", e.time_sum},
                         {"bounds", bounds}};
  return json.dump(2) + "\n";
}

std::string loss_json(const LossSplit& split) {
  OrderedJson causes = OrderedJson::array();
  // Losses per micro-batch and losses once a step, since they grow with different sizes.
  for (const LossCause& cause : split.causes)
    causes.push_back({{"name", cause.name},
                      {"lost_in_micro_batches_s", split.lost_in_micro_batches(cause)},
                      {"lost_once_s", split.lost_once(cause)},
                      {"small", share_json(cause.small)},
                      {"large", share_json(cause.large)}});
  const OrderedJson json{{"stepcast", program_head<OrderedJson>()},
                         {"small",
                          {{"devices", split.small_devices},
                           {"micro_batches", split.small_micro_batches},
                           {"step_time_s", split.small_step}}},
                         {"large",
                          {{"devices", split.large_devices},
                           {"micro_batches", split.large_micro_batches},
                           {"step_time_s", split.large_step}}},
                         {"seeds", split.seeds},
                         {"efficiency", split.efficiency()},
                         {"causes", causes}};
  return json.dump(2) + "\n";
}

}  // namespace stepcast
