#include <cmath>
#include <nlohmann/json.hpp>

#include "stepcast/base/build.hpp"
#include "stepcast/sim/study/explain.hpp"

namespace stepcast {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson shares(const std::vector<PathShare>& rows) {
  OrderedJson list = OrderedJson::array();
  for (const PathShare& row : rows) list.push_back({{"name", row.name}, {"seconds", row.seconds}});
  return list;
}

OrderedJson finite(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson path_json(const CriticalPath& path) {
  OrderedJson slacks = OrderedJson::array();
  for (const CriticalPath::Slack& s : path.slacks) {
    slacks.push_back({{"name", s.name},
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
                         {"critical_path", path_json(e.path)},
                         {"elasticities", elasticities},
                         {"elasticity_of_all_times", e.time_sum},
                         {"bounds", bounds}};
  return json.dump(2) + "\n";
}

}  // namespace stepcast
