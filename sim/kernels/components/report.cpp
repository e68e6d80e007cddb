#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "stepcast/base/report_table.hpp"
#include "stepcast/sim/kernels/components.hpp"

namespace stepcast {
namespace {

double in_percent(double fraction) { return 100 * fraction; }

std::string mean_text(const ErrorFigures& f) {
  return f.rows == 0 ? "-" : fmt::format("{:.1f}", in_percent(f.mean));
}
std::string bias_text(const ErrorFigures& f) {
  return f.rows == 0 ? "-" : fmt::format("{:+.1f}", in_percent(f.bias));
}
std::string worst_text(const ErrorFigures& f) {
  return f.rows == 0 ? "-" : fmt::format("{:.1f}", in_percent(f.worst));
}

/// Whether figures with the excluded rows say something of their own.
bool has_excluded(const ComponentGroup& g) { return g.all.rows != g.judged.rows; }

using ExclusionReason = std::tuple<std::string, std::string, std::string>;  // device, kind, why

std::set<ExclusionReason> exclusion_reasons(const ComponentLedger& ledger) {
  std::set<ExclusionReason> reasons;
  for (const MeasuredComponent& row : ledger.rows)
    if (!row.exclude.empty()) reasons.emplace(row.exclude, row.device, std::string(row.kind->name));
  return reasons;
}

ReportTable groups_table(const ComponentLedger& ledger) {
  ReportTable table(
      {text_column("device"), text_column("kind"), text_column("size"), text_column("use"),
       number_column("rows"), number_column("mean"), number_column("bias"), number_column("worst"),
       number_column("rows with excluded"), number_column("mean"), number_column("bias")});
  for (const ComponentGroup& g : component_groups(ledger)) {
    // The figure with excluded rows is shown only where there are such.
    const ErrorFigures all = has_excluded(g) ? g.all : ErrorFigures{};
    table.add({g.device, g.kind, g.size, std::string(name(g.use)), std::to_string(g.judged.rows),
               mean_text(g.judged), bias_text(g.judged), worst_text(g.judged),
               all.rows == 0 ? "" : std::to_string(all.rows), all.rows == 0 ? "" : mean_text(all),
               all.rows == 0 ? "" : bias_text(all)});
  }
  return table;
}

nlohmann::ordered_json component_figures(const ErrorFigures& f) {
  return {{"rows", f.rows}, {"mean", f.mean}, {"bias", f.bias}, {"worst", f.worst}};
}

}  // namespace

std::string components_text(const ComponentLedger& ledger) {
  std::string text = groups_table(ledger).text();
  for (const LeftOutTable& table : ledger.left_out)
    text += fmt::format("{}, {}: {} rows, no cluster file of this device\n", table.device,
                        table.table, table.rows);
  return text + fmt::format("\nmean over groups: {:.2f} %\n", in_percent(ledger.overall()));
}

std::string components_markdown(const ComponentLedger& ledger) {
  std::string text =
      fmt::format("Overall mean absolute error: {:.2f} %\n\n", in_percent(ledger.overall()));
  ReportTable excluded({text_column("why"), text_column("device"), text_column("kind")});
  for (const auto& [why, device, kind] : exclusion_reasons(ledger))
    excluded.add({why, device, kind});
  text += groups_table(ledger).markdown() + "\n### Excluded\n\n" + excluded.markdown();
  ReportTable left_out({text_column("device"), text_column("table"), number_column("rows")});
  for (const LeftOutTable& table : ledger.left_out)
    left_out.add({table.device, table.table, std::to_string(table.rows)});
  if (!left_out.empty()) text += "\n### Without a cluster file\n\n" + left_out.markdown();
  return text;
}

std::string components_json(const ComponentLedger& ledger) {
  using Json = nlohmann::ordered_json;
  Json json{{"overall", ledger.overall()}, {"groups", Json::array()}, {"rows", Json::array()}};
  for (const ComponentGroup& g : component_groups(ledger))
    json["groups"].push_back({{"device", g.device},
                              {"kind", g.kind},
                              {"size", g.size},
                              {"use", name(g.use)},
                              {"judged", component_figures(g.judged)},
                              {"all", component_figures(g.all)}});
  for (const MeasuredComponent& row : ledger.rows)
    json["rows"].push_back({{"device", row.device},
                            {"table", row.table},
                            {"kind", row.kind->name},
                            {"size", row.size},
                            {"use", name(row.use)},
                            {"exclude", row.exclude},
                            {"measured_s", row.measured},
                            {"forecast_s", row.forecast}});
  return json.dump(2) + "\n";
}

}  // namespace stepcast
