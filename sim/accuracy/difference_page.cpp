#include "difference_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware_types.hpp"
#include "ledger_words.hpp"
#include "stepcast/base/report_table.hpp"

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

ReportTable figures_table(const Ledger& ledger, const char* heading) {
  ReportTable table(
      {text_column(heading), number_column("as shipped"), number_column("list emptied")});
  for (const Pair& p : figure_pairs(ledger)) table.add({p.name, p.shipped, p.emptied});
  return table;
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
  ReportTable lists({text_column("rows"), text_column(""), text_column("keys"),
                     text_column("reason"), text_column("source")});
  for (const Difference& d : ledger.differences)
    lists.add({rows_named(d), std::string(name(d.kind)), keys_text(d), d.reason, d.source});
  std::string text = "\n### Keys that differ from the script\n\n" +
                     figures_table(ledger, "figure, % (rows)").markdown() + "\n" + lists.markdown();
  // Such rows cannot be forecast by script, and leaving them out silently would flatter the figure.
  const auto lacking = std::ranges::count_if(ledger.by_script, &ScriptRow::lacking);
  if (lacking > 0)
    text += fmt::format(
        "\n{} rows whose script says what the format has no word for are in no figure of the "
        "emptied list.\n",
        lacking);
  ReportTable rows(
      {text_column("row"), number_column("error as shipped, %"), number_column("by its script")});
  for (const ScriptRow& row : ledger.by_script)
    if (!row.lacking)
      rows.add({row.row.name, verdict_of(shipped_row(ledger, row)), verdict_of(row.row)});
  return text + "\n" + rows.markdown();
}

std::string differences_text(const Ledger& ledger) {
  if (ledger.differences.empty()) return "";
  ReportTable rows({text_column("row with such keys"), number_column("as shipped"),
                    text_column("by its script")});
  for (const ScriptRow& row : ledger.by_script)
    rows.add({row.row.name, verdict_of(shipped_row(ledger, row)), by_script_text(row)});
  return "\n" + figures_table(ledger, "keys that differ from the script, %").text() + "\n" +
         rows.text();
}

}  // namespace stepcast
