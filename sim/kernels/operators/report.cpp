#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/kernels/operator_rows.hpp"

namespace stepcast {
namespace {

using OperatorJson = nlohmann::ordered_json;

bool is_collective(const OperatorRequest& request) {
  return request.kind->of == OperatorClass::collective;
}

std::optional<OperatorInterval> interval_of(const OperatorRequest& request,
                                            const OperatorForecaster& cluster,
                                            const OperatorResiduals& residuals, Seconds time) {
  return operator_interval(residuals, cluster.cluster().device.name, request, time);
}

OperatorJson interval_json(const std::optional<OperatorInterval>& interval) {
  if (!interval) return nullptr;
  return {{"low_s", interval->low.value()},
          {"high_s", interval->high.value()},
          {"shape", name(interval->shape)}};
}

std::string interval_text(const OperatorInterval& interval) {
  std::string text = "to " + human(interval.high);
  if (interval.shape == MeasuredShape::outside) text += ", outside the shapes measured";
  if (interval.shape == MeasuredShape::not_measured)
    text += ", not measured on this device: as wide as the worst kind on any";
  return text;
}

OperatorJson forecast_json(const OperatorRequest& request, const OperatorForecaster& cluster,
                           const OperatorResiduals& residuals) {
  const OperatorForecast f = cluster.forecast(request);
  const double time = f.time.value();
  OperatorJson json{{"operator", request.kind->name}, {"cluster", cluster.cluster().name}};
  for (const OperatorColumn column : request.kind->sizes)
    json[std::string(info(column).name)] = size_of(request, column);
  if (has_sequences(request.kind->of)) json["batch"] = request.shape.batch;
  if (request.kind->of == OperatorClass::attention) {
    json["causal"] = request.shape.causal;
    if (request.shape.generation != nullptr) json["generation"] = request.shape.generation->name;
  }
  json["type"] = name(request.shape.type);
  json["time_s"] = time;
  json["interval"] = interval_json(interval_of(request, cluster, residuals, f.time));
  json["launch_s"] = f.launch.value();
  json["flops"] = f.flops.value();
  json["bytes"] = f.bytes.value();
  json["flops_per_s"] = f.flops.value() / time;
  json["bytes_per_s"] = f.bytes.value() / time;
  json["bound"] = name(f.bound);
  json["efficiency"] = f.efficiency;
  return json;
}

std::string labelled(std::string_view label, const std::string& value,
                     const std::string& more = {}) {
  return fmt::format("  {:<12}{:>12}  {}", label, value, more);
}

}  // namespace

std::string operator_text(const OperatorRequest& request, const OperatorForecaster& cluster,
                          const OperatorResiduals& residuals) {
  const OperatorForecast f = cluster.forecast(request);
  std::string text{request.kind->name};
  for (const OperatorColumn column : request.kind->sizes)
    text +=
        fmt::format(" {} {}",
                    column == OperatorColumn::m_or_bytes ? (is_collective(request) ? "bytes" : "m")
                                                         : info(column).name,
                    shortest(size_of(request, column)));
  if (has_sequences(request.kind->of))
    text += fmt::format(" batch {}", shortest(request.shape.batch));
  if (request.kind->of == OperatorClass::attention && request.shape.causal) text += " causal";
  text += fmt::format(" in {} on {}\n\n", name(request.shape.type), cluster.cluster().name);
  const auto add = [&](std::string row) {
    // No blanks at the ends of lines.
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  add(labelled("time", human(f.time), "launch " + human(f.launch) + " beside it"));
  if (const auto interval = interval_of(request, cluster, residuals, f.time))
    add(labelled("80% interval", human(interval->low), interval_text(*interval)));
  if (f.flops.value() > 0)
    add(labelled("FLOPs", fmt::format("{:.3g}", f.flops.value()), human(f.flops / f.time)));
  add(labelled("bytes", human(f.bytes), human(f.bytes / f.time)));
  add(labelled("bound", name(f.bound)));
  add(labelled("efficiency", fmt::format("{:.1f} %", 100 * f.efficiency),
               "of what the data sheet allows"));
  return text;
}

std::string operator_json(const OperatorRequest& request, const OperatorForecaster& cluster,
                          const OperatorResiduals& residuals) {
  return forecast_json(request, cluster, residuals).dump(2) + "\n";
}

std::string operator_table_json(const OperatorTable& table, const OperatorResiduals& residuals) {
  OperatorJson rows = OperatorJson::array();
  for (const OperatorTable::Row& row : table.rows) {
    OperatorJson json{{"line", row.record.line}};
    json.update(forecast_json(row.request, *row.cluster, residuals));
    rows.push_back(std::move(json));
  }
  return OperatorJson{{"rows", std::move(rows)}}.dump(2) + "\n";
}

}  // namespace stepcast
