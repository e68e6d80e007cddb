#include <fmt/format.h>

#include "difference_page.hpp"
#include "ledger_words.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/accuracy/intervals.hpp"

namespace stepcast {
namespace {

using namespace ledger_words;

constexpr std::string_view begin_mark = "<!-- ledger: written by stepcast accuracy --write -->";
constexpr std::string_view end_mark = "<!-- end of the ledger -->";
constexpr std::string_view overall_mark = "Overall mean absolute error: ";

std::string groups_markdown(const char* heading, const std::vector<LedgerGroup>& groups) {
  std::string text = fmt::format(
      "| {} | rows | mean | median | p90 | worst | bias | ranks | calibrated on | held out | "
      "foreign |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
      heading);
  for (const LedgerGroup& g : groups) {
    const ErrorFigures& f = g.all;
    text += fmt::format(
        "| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:+.1f} | {:.3f} | {} | {} | {} |\n",
        g.name, f.rows, percent(f.mean), percent(f.median), percent(f.p90), percent(f.worst),
        percent(f.bias), g.ranks, part(g.calibrated), part(g.held_out), part(g.foreign));
  }
  return text;
}

std::string gibibytes(double bytes) { return fmt::format("{:.1f}", bytes / (1 << 30)); }

/// How far unseen steps lie from their forecasts, by class.
std::string intervals_markdown(const Ledger& ledger) {
  const std::vector<IntervalClass> classes = interval_classes(ledger);
  if (classes.empty()) return "";
  std::string text =
      "\n### Intervals\n\n| class | unseen rows | 80 % of published over forecast | inside the "
      "interval of other sources, % | median width of those, % |\n|---|---|---|---|---|\n";
  for (const IntervalClass& c : classes)
    text += fmt::format("| {} | {} | {:.3f} to {:.3f} | {:.0f} | {:.0f} |\n", c.name, c.rows,
                        c.range.low, c.range.high, percent(c.inside), percent(c.width));
  return text;
}

/// Each row that reports its memory, [GiB].
std::string memory_rows(const Ledger& ledger) {
  std::string text =
      "\n| memory of the fullest device, GiB | published | forecast | error % "
      "|\n|---|---|---|---|\n";
  for (const MeasuredRow& row : ledger.rows)
    if (const auto error = row.memory_error())
      text +=
          fmt::format("| {} | {} | {} | {:+.1f} |\n", row.name, gibibytes(*row.published_memory),
                      gibibytes(*row.forecast_memory), percent(*error));
  return text;
}

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
  return text + memory_rows(ledger);
}

std::string ratios_markdown(const Ledger& ledger) {
  if (ledger.ratios.empty()) return "";
  std::string text =
      "\n### Ratios\n\n| step time of one over the other | published | forecast | points |\n"
      "|---|---|---|---|\n";
  for (const Ratio& r : ledger.ratios)
    text += fmt::format("| {} | {:.3f} | {:.3f} | {:+.1f} |\n", r.name, r.published, r.forecast,
                        percent(r.forecast - r.published));
  return text;
}

std::string rows_markdown(const Ledger& ledger) {
  std::string text =
      "\n### Rows\n\n| row | published | forecast | error % | memory % | "
      "|\n|---|---|---|---|---|---|\n";
  for (const MeasuredRow& row : ledger.rows)
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.name, time_text(row.published),
                    time_text(row.forecast), verdict_of(row), memory_text(row), label_text(row));
  return text;
}

}  // namespace

std::string ledger_markdown(const Ledger& ledger) {
  std::string text = fmt::format("{}{:.2f} %\n\n", overall_mark, percent(ledger.overall()));
  text += groups_markdown("group", ledger_groups(ledger));
  const std::vector<LedgerGroup> classes = ledger_classes(ledger);
  if (!classes.empty()) text += "\n### Classes\n\n" + groups_markdown("class", classes);
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
    throw InputError({{{path},
                       {},
                       fmt::format("has no place for the ledger, allowed: the lines '{}' "
                                   "and '{}'",
                                   begin_mark, end_mark)}});
  // What stands outside of the marks is written by hand.
  return page.substr(0, begin + begin_mark.size()) + "\n" + markdown + page.substr(end);
}

}  // namespace stepcast
