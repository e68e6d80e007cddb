#include <fmt/format.h>

#include "stepcast/base/report_table.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/calibrate/left_out.hpp"

namespace stepcast {
namespace {

constexpr std::string_view figure_mark = "Mean absolute error of what was left out: ";

std::string mean_of(const ErrorFigures& f) {
  return f.rows == 0 ? "-" : fmt::format("{:.1f}", 100 * f.mean);
}
std::string bias_of(const ErrorFigures& f) {
  return f.rows == 0 ? "-" : fmt::format("{:+.1f}", 100 * f.bias);
}
bool has_excluded(const LeftOutFigures& row) {
  return row.unseen_with_excluded.rows != row.unseen.rows;
}

std::vector<std::string> cells(const LeftOutFigures& row) {
  const ErrorFigures excluded = has_excluded(row) ? row.unseen_with_excluded : ErrorFigures{};
  return {row.device,
          row.kind,
          row.size,
          row.left_out,
          std::to_string(row.preset.rows),
          mean_of(row.preset),
          bias_of(row.preset),
          mean_of(row.fitted),
          bias_of(row.fitted),
          std::to_string(row.unseen.rows),
          mean_of(row.unseen),
          bias_of(row.unseen),
          excluded.rows == 0 ? "" : std::to_string(excluded.rows),
          excluded.rows == 0 ? "" : mean_of(excluded),
          excluded.rows == 0 ? "" : bias_of(excluded)};
}

ReportTable table_of(const std::vector<LeftOutFigures>& all) {
  ReportTable table({text_column("device"), text_column("kind"), text_column("size"),
                     text_column("left out"), number_column("rows"), number_column("presets: mean"),
                     number_column("bias"), number_column("fit: mean"), number_column("bias"),
                     number_column("unseen rows"), number_column("mean"), number_column("bias"),
                     number_column("with excluded"), number_column("mean"), number_column("bias")});
  for (const LeftOutFigures& row : all) table.add(cells(row));
  return table;
}

}  // namespace

std::string left_out_text(const std::vector<LeftOutFigures>& all) {
  return "\nfitted again without a part of the table, which is then forecast\n" +
         table_of(all).text() +
         fmt::format("\nmean over what was left out: {:.2f} %\n", 100 * overall(all));
}

std::string left_out_markdown(const std::vector<LeftOutFigures>& all) {
  return fmt::format("\n### Left out\n\n{}{:.2f} %\n\n{}", figure_mark, 100 * overall(all),
                     table_of(all).markdown());
}

std::optional<double> read_left_out(std::string_view markdown) {
  // As left_out_markdown() wrote it.
  const std::size_t at = markdown.find(figure_mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = markdown.substr(at + figure_mark.size());
  const auto value = parse_number(rest.substr(0, rest.find(' ')));
  if (!value) return {};
  return *value / 100;
}

}  // namespace stepcast
