#include "difference_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware_types.hpp"
#include "ledger_words.hpp"

namespace stepcast {
namespace {

using namespace ledger_words;

/// A figure of the ledger as it is shipped, and with its list emptied.
struct Pair {
  std::string name;
  std::string shipped, emptied;
};

std::string mean_figure(const ErrorFigures& f) {
  return f.rows == 0 ? "-" : fmt::format("{:.2f} ({})", percent(f.mean), f.rows);
}
std::string bias_figure(const ErrorFigures& f) {
  return f.rows == 0 ? "-" : fmt::format("{:+.2f}", percent(f.bias));
}

/// The figures that the aims are about.
std::vector<Pair> figure_pairs(const Ledger& ledger) {
  const Ledger empty = emptied(ledger);
  std::map<std::string, LedgerGroup> before, after;
  for (LedgerGroup& g : ledger_groups(ledger)) before.emplace(g.name, g);
  for (LedgerGroup& g : ledger_groups(empty)) after.emplace(g.name, g);
  std::vector<Pair> pairs;
  const auto add = [&](const std::string& name, const std::string& group, auto figure) {
    pairs.push_back({name, figure(before.at(group)), figure(after.at(group))});
  };
  add("all with a model", "all with a model", [](const auto& g) { return mean_figure(g.all); });
  for (const HardwareType& type : hardware_types) {
    const std::string group = std::string("dense, ") + type.name;
    add(group + ", held out", group, [](const auto& g) { return mean_figure(g.held_out); });
  }
  add("experts", "experts", [](const auto& g) { return mean_figure(g.all); });
  add("experts, bias", "experts", [](const auto& g) { return bias_figure(g.all); });
  return pairs;
}

/// What a row's forecast is by its script.
std::string by_script_text(const ScriptRow& row) {
  return row.lacking ? "no word for it" : verdict_of(row.row);
}

const MeasuredRow& shipped_row(const Ledger& ledger, const ScriptRow& row) {
  return *std::ranges::find(ledger.rows, row.row.file, &MeasuredRow::file);
}

std::string rows_named(const Difference& d) {
  std::string text;
  for (const std::string& row : d.rows) text += (text.empty() ? "" : ", ") + row;
  return d.files.size() > d.rows.size() ? fmt::format("{} ({} rows)", text, d.files.size()) : text;
}

std::string keys_text(const Difference& d) {
  std::string text;
  for (const DifferingKey& key : d.keys) {
    if (!text.empty()) text += "; ";
    text += key.lacking.empty()
                ? fmt::format("`{}`: {}, by the script {}", key.key, key.ledger, key.script)
                : fmt::format("`{}`: {}, by the script {}, for which the format has no word",
                              key.key, key.ledger, key.lacking);
  }
  return text;
}

}  // namespace

std::string differences_markdown(const Ledger& ledger) {
  if (ledger.differences.empty()) return "";
  std::string text =
      "\n### Keys that differ from the script\n\n| figure, % (rows) | as shipped | list emptied "
      "|\n|---|---|---|\n";
  for (const Pair& p : figure_pairs(ledger))
    text += fmt::format("| {} | {} | {} |\n", p.name, p.shipped, p.emptied);
  text += "\n| rows | | keys | reason | source |\n|---|---|---|---|---|\n";
  for (const Difference& d : ledger.differences)
    text += fmt::format("| {} | {} | {} | {} | {} |\n", rows_named(d), name(d.kind), keys_text(d),
                        d.reason, d.source);
  const auto lacking = std::ranges::count_if(ledger.by_script, &ScriptRow::lacking);
  if (lacking > 0)
    text += fmt::format(
        "\n{} rows whose script says what the format has no word for are in no figure of the "
        "emptied list.\n",
        lacking);
  text += "\n| row | error as shipped, % | by its script |\n|---|---|---|\n";
  for (const ScriptRow& row : ledger.by_script)
    if (!row.lacking)
      text += fmt::format("| {} | {} | {} |\n", row.row.name, verdict_of(shipped_row(ledger, row)),
                          verdict_of(row.row));
  return text;
}

std::string differences_text(const Ledger& ledger) {
  if (ledger.differences.empty()) return "";
  std::string text = fmt::format("\n{:<36}{:>14}{:>14}\n", "keys that differ from the script, %",
                                 "as shipped", "list emptied");
  for (const Pair& p : figure_pairs(ledger))
    text += fmt::format("{:<36}{:>14}{:>14}\n", p.name, p.shipped, p.emptied);
  text += fmt::format("\n{:<56}{:>11}  {}\n", "row with such keys", "as shipped", "by its script");
  for (const ScriptRow& row : ledger.by_script)
    text += fmt::format("{:<56}{:>11}  {}\n", row.row.name, verdict_of(shipped_row(ledger, row)),
                        by_script_text(row));
  return text;
}

}  // namespace stepcast
