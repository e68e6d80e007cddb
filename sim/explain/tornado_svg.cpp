#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepcast/base/palette.hpp"
#include "stepcast/base/svg.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/explain/explain.hpp"

namespace stepcast {
namespace {

constexpr double page_width = 860, label_width = 360, row_height = 22, head_height = 64,
                 margin = 20;

std::string style() {
  return "<style>\n" + palette_css() +
         "svg{background:var(--paper)}text{font:13px system-ui,sans-serif;fill:var(--ink)}"
         ".title{font-size:16px;font-weight:600}.quiet{fill:var(--quiet)}.more{fill:var(--worse)}"
         ".less{fill:var(--better)}.axis{stroke:var(--quiet);stroke-width:1}</style>";
}

std::string row_svg(const Elasticity& row, double y, double centre, double scale) {
  const double length = std::abs(row.value) * scale;
  // Bars grow from the middle, to the left where the step gets shorter; the number stands at the
  // far end.
  const double x = row.value < 0 ? centre - length : centre;
  const double number_x = row.value < 0 ? x - 6 : x + length + 6;
  std::string text = fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{} <tspan class=\"quiet\">{}</tspan></text>\n",
      label_width, y + 15, escaped(row.parameter.path), escaped(row.parameter.text));
  text += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"/>\n",
                      row.value < 0 ? "less" : "more", x, y + 3, length, row_height - 6);
  return text + fmt::format("<text x=\"{:.2f}\" y=\"{}\" text-anchor=\"{}\">{:+.3f} %</text>\n",
                            number_x, y + 15, row.value < 0 ? "end" : "start", row.value);
}

}  // namespace

std::string tornado_svg(const Scenario& scenario, const Explanation& explanation, std::size_t top) {
  const auto& rows = explanation.elasticities;
  const std::size_t count = std::min(top, rows.size());
  // Never equal, as the scale divides by their difference.
  double most = 1e-9, least = -1e-9;
  for (std::size_t i = 0; i < count; ++i) {
    most = std::max(most, rows[i].value);
    least = std::min(least, rows[i].value);
  }
  // Numbers stand beyond the bars on both sides.
  constexpr double number_width = 64;
  const double room = page_width - label_width - 2 * margin - 2 * number_width;
  const double scale = room / (most - least);
  const double centre = label_width + margin + number_width - least * scale;
  const double height = head_height + row_height * static_cast<double>(count) + margin;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" role=\"img\">\n{2}\n<title>Elasticities of {3}</title>\n",
      page_width, height, style(), escaped(scenario.name));
  svg += fmt::format(
      "<text class=\"title\" x=\"{0}\" y=\"26\">{1}: what moves the step time ({2})</text>\n"
      "<text class=\"quiet\" x=\"{0}\" y=\"46\">change of the step time when one number grows by "
      "1 %</text>\n",
      margin, escaped(scenario.name), human(Seconds{explanation.step_time}));
  for (std::size_t i = 0; i < count; ++i)
    svg += row_svg(rows[i], head_height + row_height * static_cast<double>(i), centre, scale);
  svg += fmt::format("<line class=\"axis\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\"/>\n",
                     centre, head_height, height - margin);
  return svg + "</svg>\n";
}

}  // namespace stepcast
