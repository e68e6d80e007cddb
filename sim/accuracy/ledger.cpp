#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "difference_page.hpp"
#include "ledger_words.hpp"
#include "stepcast/base/report_table.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/accuracy/gallery.hpp"
#include "stepcast/sim/accuracy/intervals.hpp"
#include "stepcast/sim/accuracy/plain_rows.hpp"

namespace stepcast {
namespace {

using namespace ledger_words;

nlohmann::ordered_json json_of(const ErrorFigures& f) {
  return {{"rows", f.rows}, {"mean", f.mean},   {"median", f.median},
          {"p90", f.p90},   {"worst", f.worst}, {"bias", f.bias}};
}

nlohmann::ordered_json json_of(const LedgerGroup& g) {
  return {{"name", g.name},
          {"all", json_of(g.all)},
          {"rank_correlation", g.ranks},
          {"calibrated_on", json_of(g.calibrated)},
          {"held_out", json_of(g.held_out)},
          {"foreign", json_of(g.foreign)}};
}

nlohmann::ordered_json json_of(const Technique& row) {
  nlohmann::ordered_json json{{"name", row.name}, {"source", row.source}, {"kind", row.kind}};
  // Of gain and range a row has what its source publishes.
  if (row.gain > 0) json["gain"] = row.gain;
  if (row.at_least > 0) json["at_least"] = row.at_least;
  if (row.at_most > 0) json["at_most"] = row.at_most;
  json["forecast"] = row.forecast;
  if (const auto error = gain_error(row)) json["error"] = *error;
  json["verdict"] = name(verdict_of(row, row.forecast));
  json["assumed"] = is_assumed(row);
  if (!row.apart.empty()) json["apart"] = row.apart;
  for (const auto& [key, step] : {std::pair{"baseline", row.without}, {"technique", row.with}}) {
    json[key] = {{"forecast_s", step.forecast.value()}, {"fits", step.fits}};
    if (step.published > Seconds{0}) json[key]["published_s"] = step.published.value();
  }
  for (const AssumedValue& a : row.assumptions)
    json["assumptions"].push_back({{"what", a.what},
                                   {"in", name(a.in)},
                                   {"low", a.low},
                                   {"at_low", a.at_low},
                                   {"high", a.high},
                                   {"at_high", a.at_high}});
  return json;
}

nlohmann::ordered_json json_of(const Difference& d) {
  nlohmann::ordered_json json{{"kind", name(d.kind)},
                              {"files", d.files},
                              {"keys", nlohmann::ordered_json::array()},
                              {"reason", d.reason},
                              {"source", d.source}};
  for (const DifferingKey& key : d.keys) {
    json["keys"].push_back({{"key", key.key}, {"ledger", key.ledger}});
    auto& last = json["keys"].back();
    // Either the script's value or why no key can say it.
    (key.lacking.empty() ? last["script"] : last["lacking"]) =
        key.lacking.empty() ? key.script : key.lacking;
  }
  return json;
}

/// Figures with the list emptied, and the rows that it changes; null without a list.
nlohmann::ordered_json by_script_json(const Ledger& ledger) {
  if (ledger.differences.empty()) return nullptr;
  const Ledger empty = emptied(ledger);
  nlohmann::ordered_json json{{"overall", empty.overall()}};
  for (const LedgerGroup& g : ledger_groups(empty)) json["groups"].push_back(json_of(g));
  for (const ScriptRow& r : ledger.by_script) {
    json["rows"].push_back({{"name", r.row.name}, {"lacking", r.lacking}});
    if (r.lacking) continue;
    json["rows"].back()["published_s"] = r.row.published;
    json["rows"].back()["forecast_s"] = r.row.forecast;
    if (!r.row.failure.empty()) json["rows"].back()["failure"] = r.row.failure;
  }
  return json;
}

}  // namespace

std::string ledger_text(const Ledger& ledger) {
  std::string text = groups_table("family", ledger_groups(ledger)).text() + "\n";
  const std::vector<LedgerGroup> classes = ledger_classes(ledger);
  if (!classes.empty()) text += groups_table("class", classes).text();
  text += differences_text(ledger) + "\n" + rows_table(ledger).text();
  if (!ledger.ratios.empty()) text += "\n" + ratios_table(ledger).text();
  return text;
}

std::string ledger_json(const Ledger& ledger) {
  using Json = nlohmann::ordered_json;
  // Figures by group and by class first, rows last: most readers stop before these.
  Json json{{"overall", ledger.overall()},
            {"groups", Json::array()},
            {"classes", Json::array()},
            {"rows", Json::array()}};
  for (const LedgerGroup& g : ledger_groups(ledger)) json["groups"].push_back(json_of(g));
  for (const LedgerGroup& g : ledger_classes(ledger)) json["classes"].push_back(json_of(g));
  for (const MeasuredRow& row : ledger.rows) {
    Json& entry = json["rows"].emplace_back(Json{{"name", row.name},
                                                 {"family", row.family},
                                                 {"device", row.device},
                                                 {"framework", row.framework},
                                                 {"label", name(row.label)},
                                                 {"held_out", row.label == RowLabel::held_out},
                                                 {"published_s", row.published},
                                                 {"forecast_s", row.forecast}});
    if (!row.failure.empty()) entry["failure"] = row.failure;
    if (row.published_memory) entry["published_memory_bytes"] = *row.published_memory;
    if (row.forecast_memory) entry["forecast_memory_bytes"] = *row.forecast_memory;
  }
  json["ratios"] = Json::array();
  for (const Ratio& r : ledger.ratios)
    json["ratios"].push_back(
        {{"name", r.name}, {"published", r.published}, {"forecast", r.forecast}});
  json["differences"] = Json::array();
  for (const Difference& d : ledger.differences) json["differences"].push_back(json_of(d));
  json["by_script"] = by_script_json(ledger);
  return json.dump(2) + "\n";
}

std::string gallery_json(const Gallery& gallery) {
  const GalleryFigures f = figures(gallery);
  nlohmann::ordered_json json{{"counted", f.counted},     {"rows", f.rows},
                              {"published", f.published}, {"within", f.within},
                              {"direction", f.direction}, {"wrong", f.wrong},
                              {"assumed", f.assumed},     {"techniques", nlohmann::json::array()}};
  const std::vector<bool> counted = counted_rows(gallery);
  for (std::size_t i = 0; i < counted.size(); ++i) {
    json["techniques"].push_back(json_of(gallery.techniques[i]));
    json["techniques"].back()["counts"] = static_cast<bool>(counted[i]);
  }
  return json.dump(2) + "\n";
}

std::string plain_json(const std::vector<PlainRow>& rows) {
  const auto sides = [&](const std::string& source) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    // The same rows asked in three ways; differences between them are what frameworks' switches are
    // worth.
    for (const auto& [name, side] :
         {std::pair{"ledger", &PlainRow::ledger}, std::pair{"named", &PlainRow::named},
          std::pair{"assumed", &PlainRow::assumed}}) {
      const ErrorFigures f = plain_figures(rows, side, source);
      json[name] = {{"rows", f.rows}, {"mean", f.mean}, {"bias", f.bias}, {"worst", f.worst}};
    }
    return json;
  };
  nlohmann::ordered_json json = sides("");
  json["sources"] = nlohmann::ordered_json::array();
  for (const std::string& name : plain_sources(rows)) {
    nlohmann::ordered_json source{{"name", name}};
    source.update(sides(name));
    json["sources"].push_back(source);
  }
  json["intervals"] = nlohmann::ordered_json::array();
  for (const IntervalClass& c : plain_classes(rows))
    json["intervals"].push_back({{"class", c.name},
                                 {"rows", c.rows},
                                 {"low", c.range.low},
                                 {"high", c.range.high},
                                 {"inside", c.inside},
                                 {"width", c.width}});
  json["rows"] = nlohmann::ordered_json::array();
  for (const PlainRow& row : rows)
    json["rows"].push_back({{"name", row.ledger.name},
                            {"family", row.ledger.family},
                            {"device", row.ledger.device},
                            {"experts", row.ledger.experts},
                            {"label", name(row.ledger.label)},
                            {"published_s", row.ledger.published},
                            {"forecast_s", row.ledger.forecast},
                            {"named_s", row.named.forecast},
                            {"assumed_s", row.assumed.forecast}});
  return nlohmann::ordered_json{{"plain", json}}.dump(2) + "\n";
}

}  // namespace stepcast
