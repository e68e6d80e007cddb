#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/study/accuracy.hpp"

namespace stepcast {
namespace {

constexpr std::string_view begin_mark = "<!-- ledger: written by stepcast accuracy --write -->";
constexpr std::string_view end_mark = "<!-- end of the ledger -->";
constexpr std::string_view overall_mark = "Overall mean absolute error: ";

double percent(double fraction) { return 100 * fraction; }

/// Memory per family that reports it: 5 % low is what a user can still reserve for.
std::string memory_markdown(const Ledger& ledger) {
  const std::vector<MemoryFigures> all = memory_figures(ledger);
  if (all.empty()) return "";
  std::string text =
      "\n### Memory\n\n| family | rows | bias | lowest | more than 5 % low "
      "|\n|---|---|---|---|---|\n";
  for (const MemoryFigures& m : all)
    text += fmt::format("| {} | {} | {:+.1f} | {:+.1f} | {} |\n", m.family, m.rows, percent(m.bias),
                        percent(m.lowest), m.too_low);
  return text;
}

std::string half(const ErrorFigures& f) {
  return f.rows == 0 ? "-" : fmt::format("{:.1f} ({})", percent(f.mean), f.rows);
}

std::string verdict_of(const MeasuredRow& row) {
  return row.failure.empty() ? fmt::format("{:+.1f}", percent(row.error()))
                             : "failed: " + row.failure;
}

std::string memory_text(const MeasuredRow& row) {
  const auto error = row.memory_error();
  return error ? fmt::format("{:+.0f}", percent(*error)) : "";
}

nlohmann::ordered_json json_of(const ErrorFigures& f) {
  return {{"rows", f.rows}, {"mean", f.mean},   {"median", f.median},
          {"p90", f.p90},   {"worst", f.worst}, {"bias", f.bias}};
}

std::string time_text(double seconds) { return human(Seconds{seconds}); }

}  // namespace

std::string ledger_text(const Ledger& ledger) {
  std::string text =
      fmt::format("{:<24}{:>5}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}  {:>14}  {:>14}\n", "family", "rows",
                  "mean%", "median", "p90", "worst", "bias", "ranks", "calibrated on", "held out");
  for (const LedgerGroup& g : ledger_groups(ledger)) {
    const ErrorFigures& f = g.all;
    text += fmt::format(
        "{:<24}{:>5}{:>8.1f}{:>8.1f}{:>8.1f}{:>8.1f}{:>+8.1f}{:>8.3f}  {:>14}  {:>14}\n", g.name,
        f.rows, percent(f.mean), percent(f.median), percent(f.p90), percent(f.worst),
        percent(f.bias), g.ranks, half(g.calibrated), half(g.held_out));
  }
  text += fmt::format("\n{:<56}{:>11}{:>11}{:>8}{:>8}\n", "row", "published", "forecast", "error%",
                      "memory%");
  for (const MeasuredRow& row : ledger.rows)
    text += fmt::format("{:<56}{:>11}{:>11}{:>8}{:>8}\n", row.name, time_text(row.published),
                        time_text(row.forecast), verdict_of(row), memory_text(row));
  if (!ledger.ratios.empty())
    text += fmt::format("\n{:<66}{:>11}{:>11}\n", "ratio of step times", "published", "forecast");
  for (const Ratio& ratio : ledger.ratios)
    text += fmt::format("{:<66}{:>11.3f}{:>11.3f}\n", ratio.name, ratio.published, ratio.forecast);
  return text;
}

std::string ledger_json(const Ledger& ledger) {
  using Json = nlohmann::ordered_json;
  Json json{{"overall", ledger.overall()}, {"groups", Json::array()}, {"rows", Json::array()}};
  for (const LedgerGroup& g : ledger_groups(ledger))
    json["groups"].push_back({{"name", g.name},
                              {"all", json_of(g.all)},
                              {"rank_correlation", g.ranks},
                              {"calibrated_on", json_of(g.calibrated)},
                              {"held_out", json_of(g.held_out)}});
  for (const MeasuredRow& row : ledger.rows) {
    Json& entry = json["rows"].emplace_back(Json{{"name", row.name},
                                                 {"family", row.family},
                                                 {"device", row.device},
                                                 {"held_out", row.held_out},
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
  return json.dump(2) + "\n";
}

std::string ledger_markdown(const Ledger& ledger) {
  std::string text = fmt::format("{}{:.2f} %\n\n", overall_mark, percent(ledger.overall()));
  text +=
      "| group | rows | mean | median | p90 | worst | bias | ranks | calibrated on | held out |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const LedgerGroup& g : ledger_groups(ledger)) {
    const ErrorFigures& f = g.all;
    text += fmt::format(
        "| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:+.1f} | {:.3f} | {} | {} |\n", g.name,
        f.rows, percent(f.mean), percent(f.median), percent(f.p90), percent(f.worst),
        percent(f.bias), g.ranks, half(g.calibrated), half(g.held_out));
  }
  text += memory_markdown(ledger);
  if (!ledger.ratios.empty()) {
    text +=
        "\n### Ratios\n\n| step time of one over the other | published | forecast | points |\n"
        "|---|---|---|---|\n";
    for (const Ratio& r : ledger.ratios)
      text += fmt::format("| {} | {:.3f} | {:.3f} | {:+.1f} |\n", r.name, r.published, r.forecast,
                          percent(r.forecast - r.published));
  }
  text +=
      "\n### Rows\n\n| row | published | forecast | error % | memory % | "
      "|\n|---|---|---|---|---|---|\n";
  for (const MeasuredRow& row : ledger.rows)
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.name, time_text(row.published),
                        time_text(row.forecast), verdict_of(row), memory_text(row),
                        row.held_out ? "held out" : "");
  return text;
}

std::optional<double> read_overall(std::string_view markdown) {
  const std::size_t at = markdown.find(overall_mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = markdown.substr(at + overall_mark.size());
  const auto value = parse_number(rest.substr(0, rest.find(' ')));
  if (!value) return {};
  return *value / 100;
}

std::string replace_ledger(const std::string& page, const std::string& path,
                           const std::string& markdown) {
  const std::size_t begin = page.find(begin_mark), end = page.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    throw InputError({{{path},
                       {},
                       fmt::format("has no place for the ledger, allowed: the lines '{}' "
                                   "and '{}'",
                                   begin_mark, end_mark)}});
  return page.substr(0, begin + begin_mark.size()) + "\n" + markdown + page.substr(end);
}

}  // namespace stepcast
