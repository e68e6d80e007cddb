#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "stepcast/base/text.hpp"
#include "stepcast/sim/study/operator_rows.hpp"

namespace stepcast {
namespace {

using OperatorJson = nlohmann::ordered_json;

double shown_size(const OperatorRequest& request, OperatorColumn column) {
  const auto size = size_in(column);
  return size != nullptr ? request.shape.*size : static_cast<double>(request.ranks);
}

bool is_collective(const OperatorRequest& request) {
  return request.kind->of == OperatorClass::collective;
}

OperatorJson forecast_json(const OperatorRequest& request, const OperatorForecaster& cluster) {
  const OperatorForecast f = cluster.forecast(request);
  const double time = f.time.value();
  OperatorJson json{{"operator", request.kind->name}, {"cluster", cluster.cluster().name}};
  for (const OperatorColumn column : request.kind->sizes)
    json[std::string(info(column).name)] = shown_size(request, column);
  if (has_sequences(request.kind->of)) json["batch"] = request.shape.batch;
  if (request.kind->of == OperatorClass::attention) {
    json["causal"] = request.shape.causal;
    if (request.shape.generation != nullptr) json["generation"] = request.shape.generation->name;
  }
  json["type"] = name(request.shape.type);
  json["time_s"] = time;
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

std::string operator_text(const OperatorRequest& request, const OperatorForecaster& cluster) {
  const OperatorForecast f = cluster.forecast(request);
  std::string text{request.kind->name};
  for (const OperatorColumn column : request.kind->sizes)
    text +=
        fmt::format(" {} {}",
                    column == OperatorColumn::m_or_bytes ? (is_collective(request) ? "bytes" : "m")
                                                         : info(column).name,
                    shortest(shown_size(request, column)));
  if (has_sequences(request.kind->of))
    text += fmt::format(" batch {}", shortest(request.shape.batch));
  if (request.kind->of == OperatorClass::attention && request.shape.causal) text += " causal";
  text += fmt::format(" in {} on {}\n\n", name(request.shape.type), cluster.cluster().name);
  const auto add = [&](std::string row) {
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  add(labelled("time", human(f.time), "launch " + human(f.launch) + " beside it"));
  if (f.flops.value() > 0)
    add(labelled("FLOPs", fmt::format("{:.3g}", f.flops.value()), human(f.flops / f.time)));
  add(labelled("bytes", human(f.bytes), human(f.bytes / f.time)));
  add(labelled("bound", name(f.bound)));
  add(labelled("efficiency", fmt::format("{:.1f} %", 100 * f.efficiency),
               "of what the data sheet allows"));
  return text;
}

std::string operator_json(const OperatorRequest& request, const OperatorForecaster& cluster) {
  return forecast_json(request, cluster).dump(2) + "\n";
}

std::string operator_table_json(const OperatorTable& table) {
  OperatorJson rows = OperatorJson::array();
  for (const OperatorTable::Row& row : table.rows) {
    OperatorJson json{{"line", row.record.line}};
    json.update(forecast_json(row.request, *row.cluster));
    rows.push_back(std::move(json));
  }
  return OperatorJson{{"rows", std::move(rows)}}.dump(2) + "\n";
}

}  // namespace stepcast
