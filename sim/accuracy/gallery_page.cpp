#include <fmt/format.h>

#include "stepcast/base/report_table.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/accuracy/gallery.hpp"

namespace stepcast {
namespace {

constexpr std::string_view counted_mark = "Rows that count as near: ";

std::string published_text(const Technique& row) {
  if (row.gain > 0) return fmt::format("{:.3f}", row.gain);
  if (row.at_least > 0) return fmt::format("{:.2f} to {:.2f}", row.at_least, row.at_most);
  return row.at_most > 0 ? fmt::format("up to {:.2f}", row.at_most) : "-";
}

std::string error_text(const Technique& row) {
  const auto error = gain_error(row);
  return error ? fmt::format("{:+.0f} %", 100 * *error) : "";
}

std::string verdict_text(const Technique& row, bool counts) {
  const bool bound = row.gain == 0 && row.at_least == 0 && row.at_most > 0;
  const Verdict verdict = verdict_of(row, row.forecast);
  // A bound says that the gain is no larger, and nothing else.
  std::string text{bound && verdict == Verdict::within ? "below the bound" : name(verdict)};
  if (is_assumed(row)) text += ", assumed";
  if (!row.apart.empty()) text += ", apart";
  if (counts) text += ", counts";
  return text;
}

std::string assumptions_text(const Technique& row) {
  std::string text;
  for (const AssumedValue& a : row.assumptions)
    text += fmt::format("{}{}{}: {:.3f} and {:.3f} ({}; {})", text.empty() ? "" : "; ", a.what,
                        a.in == AssumedIn::both ? "" : fmt::format(", of the {}", name(a.in)),
                        a.at_low, a.at_high, joined(a.low), joined(a.high));
  for (const std::string& more : {row.apart, row.remark})
    if (!more.empty()) text += (text.empty() ? "" : ". ") + more;
  return text;
}

std::string step_text(const GalleryStep& step) {
  std::string text = human(step.forecast);
  if (step.published > Seconds{0}) text += " for " + human(step.published);
  return text;
}

/// The two steps, those that are published behind `for`, and what does not fit into memory.
std::string steps_text(const Technique& row) {
  if (!compares_steps(row)) return "";
  std::string text = step_text(row.without) + "; " + step_text(row.with);
  if (!row.without.fits && !row.with.fits) return text + "; neither fits into memory";
  if (!row.without.fits) return text + "; the first does not fit into memory";
  return row.with.fits ? text : text + "; the second does not fit into memory";
}

std::string rows_of(const Gallery& gallery, const GallerySource& source) {
  ReportTable table({text_column("technique"), number_column("published"),
                     number_column("forecast"), number_column("error"), text_column("verdict"),
                     text_column("steps"), text_column("assumed, with the forecast at both ends")});
  const std::vector<bool> counted = counted_rows(gallery);
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const Technique& row = gallery.techniques[i];
    // A table per source, with rows in the order of the file.
    if (row.source != source.key) continue;
    table.add({fmt::format("{} ({})", row.name, row.where), published_text(row),
               fmt::format("{:.3f}", row.forecast), error_text(row), verdict_text(row, counted[i]),
               steps_text(row), assumptions_text(row)});
  }
  return fmt::format("\n### {}\n\n{}", source.name, table.markdown());
}

std::string summary(const GalleryFigures& f) {
  ReportTable table({number_column("rows"), number_column("with a published gain"),
                     number_column("within"), number_column("right direction"),
                     number_column("not"), number_column("assumed")});
  std::vector<std::string> cells;
  for (const std::size_t count : {f.rows, f.published, f.within, f.direction, f.wrong, f.assumed})
    cells.push_back(std::to_string(count));
  table.add(std::move(cells));
  return fmt::format("{}{}\n\n{}", counted_mark, f.counted, table.markdown());
}

}  // namespace

std::string gallery_text(const Gallery& gallery) {
  ReportTable table({text_column("technique"), number_column("published"),
                     number_column("forecast"), number_column("error"), text_column("verdict")});
  const std::vector<bool> counted = counted_rows(gallery);
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const Technique& row = gallery.techniques[i];
    table.add({row.source + ": " + row.name, published_text(row),
               fmt::format("{:.3f}", row.forecast), error_text(row),
               verdict_text(row, counted[i])});
  }
  // What counts and what does not is said beside the figures, so that neither hides the other.
  const GalleryFigures f = figures(gallery);
  return table.text() +
         fmt::format(
             "\n{} rows, {} with a published gain: {} within, {} right direction, {} not; "
             "{} assumed; {} count\n",
             f.rows, f.published, f.within, f.direction, f.wrong, f.assumed, f.counted);
}

std::string gallery_markdown(const Gallery& gallery) {
  std::string text = summary(figures(gallery));
  for (const GallerySource& source : gallery.sources) text += rows_of(gallery, source);
  if (gallery.systems.empty()) return text;
  ReportTable table({text_column("system"), text_column("why")});
  for (const UntimedSystem& s : gallery.systems) table.add({s.name, s.reason});
  return text + "\n### Without a row\n\n" + table.markdown();
}

std::optional<double> read_counted(std::string_view markdown) {
  const std::size_t at = markdown.find(counted_mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = markdown.substr(at + counted_mark.size());
  return parse_number(rest.substr(0, rest.find('\n')));
}

}  // namespace stepcast
