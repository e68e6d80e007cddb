#include <fmt/format.h>

#include "difference_page.hpp"
#include "ledger_words.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/report_table.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/accuracy/intervals.hpp"

namespace stepcast {
namespace {

using namespace ledger_words;

constexpr std::string_view begin_mark = "<!-- ledger: written by stepcast accuracy --write -->";
constexpr std::string_view end_mark = "<!-- end of the ledger -->";
constexpr std::string_view overall_mark = "Overall mean absolute error: ";

std::string signed_points(double fraction) { return fmt::format("{:+.1f}", percent(fraction)); }

std::string gibibytes(double bytes) { return fmt::format("{:.1f}", bytes / (1 << 30)); }

/// How far unseen steps lie from their forecasts, by class.
std::string intervals_markdown(const Ledger& ledger) {
  const std::vector<IntervalClass> classes = interval_classes(ledger);
  if (classes.empty()) return "";
  return "\n### Intervals\n\n" + intervals_table("class", classes).markdown();
}

/// Each row that reports its memory, [GiB].
std::string memory_rows(const Ledger& ledger) {
  ReportTable table({text_column("memory of the fullest device, GiB"), number_column("published"),
                     number_column("forecast"), number_column("error %")});
  for (const MeasuredRow& row : ledger.rows)
    if (const auto error = row.memory_error())
      table.add({row.name, gibibytes(*row.published_memory), gibibytes(*row.forecast_memory),
                 signed_points(*error)});
  return "\n" + table.markdown();
}

/// Memory per family that reports it: 5 % low is what a user can still reserve for.
std::string memory_markdown(const Ledger& ledger) {
  const std::vector<MemoryFigures> all = memory_figures(ledger);
  if (all.empty()) return "";
  ReportTable table({text_column("family"), number_column("rows"), number_column("bias"),
                     number_column("lowest"), number_column("more than 5 % low")});
  for (const MemoryFigures& m : all)
    table.add({m.family, std::to_string(m.rows), signed_points(m.bias), signed_points(m.lowest),
               std::to_string(m.too_low)});
  return "\n### Memory\n\n" + table.markdown() + memory_rows(ledger);
}

std::string ratios_markdown(const Ledger& ledger) {
  if (ledger.ratios.empty()) return "";
  return "\n### Ratios\n\n" + ratios_table(ledger).markdown();
}

std::string rows_markdown(const Ledger& ledger) {
  return "\n### Rows\n\n" + rows_table(ledger).markdown();
}

}  // namespace

namespace ledger_words {

ReportTable groups_table(const char* heading, const std::vector<LedgerGroup>& groups) {
  ReportTable table({text_column(heading), number_column("rows"), number_column("mean%"),
                     number_column("median"), number_column("p90"), number_column("worst"),
                     number_column("bias"), number_column("ranks"), number_column("calibrated on"),
                     number_column("held out"), number_column("foreign")});
  for (const LedgerGroup& g : groups) {
    // Figures of all rows, then how many of them were fitted, held out or never seen.
    const ErrorFigures& f = g.all;
    const auto points = [](double fraction) { return fmt::format("{:.1f}", percent(fraction)); };
    table.add({g.name, std::to_string(f.rows), points(f.mean), points(f.median), points(f.p90),
               points(f.worst), fmt::format("{:+.1f}", percent(f.bias)),
               fmt::format("{:.3f}", g.ranks), part(g.calibrated), part(g.held_out),
               part(g.foreign)});
  }
  return table;
}

ReportTable rows_table(const Ledger& ledger) {
  ReportTable table({text_column("row"), number_column("published"), number_column("forecast"),
                     number_column("error %"), number_column("memory %"), text_column("label")});
  for (const MeasuredRow& row : ledger.rows)
    table.add({row.name, time_text(row.published), time_text(row.forecast), verdict_of(row),
               memory_text(row), std::string(label_text(row))});
  return table;
}

ReportTable ratios_table(const Ledger& ledger) {
  ReportTable table({text_column("step time of one over the other"), number_column("published"),
                     number_column("forecast"), number_column("points")});
  for (const Ratio& r : ledger.ratios)
    table.add({r.name, fmt::format("{:.3f}", r.published), fmt::format("{:.3f}", r.forecast),
               signed_points(r.forecast - r.published)});
  return table;
}

ReportTable intervals_table(const char* heading, const std::vector<IntervalClass>& classes) {
  ReportTable table({text_column(heading), number_column("unseen rows"),
                     number_column("80 % of published over forecast"),
                     number_column("inside the interval of other sources, %"),
                     number_column("median width of those, %")});
  for (const IntervalClass& c : classes)
    table.add({c.name, std::to_string(c.rows),
               fmt::format("{:.3f} to {:.3f}", c.range.low, c.range.high),
               fmt::format("{:.0f}", percent(c.inside)), fmt::format("{:.0f}", percent(c.width))});
  return table;
}

}  // namespace ledger_words

std::string ledger_markdown(const Ledger& ledger) {
  std::string text = fmt::format("{}{:.2f} %\n\n", overall_mark, percent(ledger.overall()));
  text += groups_table("group", ledger_groups(ledger)).markdown();
  const std::vector<LedgerGroup> classes = ledger_classes(ledger);
  if (!classes.empty()) text += "\n### Classes\n\n" + groups_table("class", classes).markdown();
  return text + differences_markdown(ledger) + intervals_markdown(ledger) +
         memory_markdown(ledger) + ratios_markdown(ledger) + rows_markdown(ledger);
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
    refuse_input({path}, {},
                 fmt::format("has no place for the ledger, allowed: the lines '{}' and '{}'",
                             begin_mark, end_mark));
  // What stands outside of the marks is written by hand.
  return page.substr(0, begin + begin_mark.size()) + "\n" + markdown + page.substr(end);
}

}  // namespace stepcast
