#pragma once
#include <nlohmann/json.hpp>

#include "stepcast/sim/forecast/metrics.hpp"
#include "stepcast/sim/forecast/seeds.hpp"

namespace stepcast {

/// `interval` of a run with seeds.
inline nlohmann::ordered_json interval_json(const StepInterval& interval) {
  using Json = nlohmann::ordered_json;
  const auto bounds = [](const StepInterval::Bounds& b) {
    return Json{{"low_s", b.low}, {"high_s", b.high}};
  };
  Json json = bounds(interval.both);
  json["model"] = interval.model ? bounds(*interval.model) : Json(nullptr);
  json["spread"] = bounds(interval.spread);
  return json;
}

/// What an interval was taken from: null where no file says.
inline nlohmann::ordered_json origin_json(const RangeOrigin& origin) {
  using Json = nlohmann::ordered_json;
  if (origin.of.empty()) return nullptr;
  return {{"class", origin.of},
          {"note", origin.note.empty() ? Json(nullptr) : Json(origin.note)},
          {"kind", origin.why.empty() ? "exact" : "plain"},
          {"why", origin.why.empty() ? Json(nullptr) : Json(origin.why)}};
}

}  // namespace stepcast
