#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

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

nlohmann::ordered_json component_figures(const ErrorFigures& f) {
  return {{"rows", f.rows}, {"mean", f.mean}, {"bias", f.bias}, {"worst", f.worst}};
}

}  // namespace

std::string components_text(const ComponentLedger& ledger) {
  std::string text =
      fmt::format("{:<13}{:<28}{:<24}{:<17}{:>5}{:>8}{:>8}{:>8}  {:>22}\n", "device", "kind",
                  "size", "use", "rows", "mean%", "bias", "worst", "with excluded");
  for (const ComponentGroup& g : component_groups(ledger))
    text += fmt::format("{:<13}{:<28}{:<24}{:<17}{:>5}{:>8}{:>8}{:>8}  {:>22}\n", g.device, g.kind,
                        g.size, name(g.use), g.judged.rows, mean_text(g.judged),
                        bias_text(g.judged), worst_text(g.judged),
                        has_excluded(g) ? fmt::format("{} ({:+.1f}, {} rows)", mean_text(g.all),
                                                      in_percent(g.all.bias), g.all.rows)
                                        : "");
  for (const LeftOutTable& table : ledger.left_out)
    text += fmt::format("{:<13}{}: {} rows, no cluster file of this device\n", table.device,
                        table.table, table.rows);
  return text + fmt::format("\nmean over groups: {:.2f} %\n", in_percent(ledger.overall()));
}

std::string components_markdown(const ComponentLedger& ledger) {
  std::string text =
      fmt::format("Overall mean absolute error: {:.2f} %\n\n", in_percent(ledger.overall()));
  text +=
      "| device | kind | size | use | rows | mean | bias | worst | rows with excluded | mean | "
      "bias "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const ComponentGroup& g : component_groups(ledger)) {
    const bool more = has_excluded(g);
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", g.device, g.kind,
                    g.size, name(g.use), g.judged.rows, mean_text(g.judged), bias_text(g.judged),
                    worst_text(g.judged), more ? fmt::format("{}", g.all.rows) : "",
                    more ? mean_text(g.all) : "", more ? bias_text(g.all) : "");
  }
  text += "\n### Excluded\n\n| why | device | kind |\n|---|---|---|\n";
  for (const auto& [why, device, kind] : exclusion_reasons(ledger))
    text += fmt::format("| {} | {} | {} |\n", why, device, kind);
  if (!ledger.left_out.empty())
    text += "\n### Without a cluster file\n\n| device | table | rows |\n|---|---|---|\n";
  for (const LeftOutTable& table : ledger.left_out)
    text += fmt::format("| {} | {} | {} |\n", table.device, table.table, table.rows);
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
