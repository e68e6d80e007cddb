#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "stepcast/base/palette.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"

namespace stepcast {
namespace {

constexpr double width = 720, height = 560, left = 70, right = 180, top = 30, bottom = 60;

/// Decades that hold all times, drawn alike on both axes.
struct Axes {
  explicit Axes(const std::vector<MeasuredRow>& rows) {
    for (const MeasuredRow& r : rows)
      for (const double time : {r.published, r.forecast}) {
        if (time <= 0) continue;
        low = std::min(low, std::floor(std::log10(time)));
        high = std::max(high, std::ceil(std::log10(time)));
      }
  }
  double place(double time) const { return (std::log10(time) - low) / (high - low); }
  double x(double time) const { return left + place(time) * (width - left - right); }
  double y(double time) const { return height - bottom - place(time) * (height - top - bottom); }
  double low = 0, high = 1;
};

/// Where the forecast is `factor` times the published time, inside the axes.
std::string line(const Axes& axes, double factor, const char* style) {
  const double a = std::pow(10, axes.low), b = std::pow(10, axes.high);
  const double from = std::max(a, a / factor), to = std::min(b, b / factor);
  return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' {}/>\n", axes.x(from),
                     axes.y(from * factor), axes.x(to), axes.y(to * factor), style);
}

std::string decades(const Axes& axes) {
  std::string text;
  // A line and a label for each power of ten, on both axes.
  for (int d = static_cast<int>(axes.low); d <= axes.high; ++d) {
    const double time = std::pow(10, d);
    text += fmt::format(
        "<line x1='{0:.1f}' y1='{1:.1f}' x2='{0:.1f}' y2='{2:.1f}' stroke='#ddd'/>\n"
        "<line x1='{3:.1f}' y1='{4:.1f}' x2='{5:.1f}' y2='{4:.1f}' stroke='#ddd'/>\n"
        "<text x='{0:.1f}' y='{6:.1f}' text-anchor='middle'>{7:g} s</text>\n"
        "<text x='{8:.1f}' y='{4:.1f}' text-anchor='end'>{7:g} s</text>\n",
        axes.x(time), height - bottom, top, left, axes.y(time), width - right, height - bottom + 18,
        time, left - 6);
  }
  return text;
}

}  // namespace

std::string ledger_svg(const Ledger& ledger) {
  const Axes axes{ledger.rows};
  std::string text = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0:g}' height='{1:g}' viewBox='0 0 {0:g} "
      "{1:g}' font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' "
      "fill='white'/>\n",
      width, height);
  text += decades(axes) + line(axes, 1, "stroke='#222'");
  // Ten per cent on either side.
  for (const double band : {1.1, 1 / 1.1})
    text += line(axes, band, "stroke='#999' stroke-dasharray='4'");
  std::map<std::string, std::size_t> families;
  for (const MeasuredRow& r : ledger.rows) families.try_emplace(r.family, families.size());
  const auto colour = [&](const std::string& family) {
    return series_colours[families.at(family) % series_colours.size()];
  };
  for (const MeasuredRow& r : ledger.rows) {
    // Rows without a forecast have no place in the drawing.
    if (!r.counts()) continue;
    text += fmt::format(
        "<circle cx='{:.1f}' cy='{:.1f}' r='3.5' {}='{}'><title>{}</title></circle>\n",
        axes.x(r.published), axes.y(r.forecast),
        r.label == RowLabel::fitted ? "fill" : "fill='white' stroke", colour(r.family), r.name);
  }
  for (const auto& [family, index] : families)
    text += fmt::format(
        "<circle cx='{0:g}' cy='{1:g}' r='3.5' fill='{2}'/><text x='{3:g}' y='{4:g}'>{5}</text>\n",
        width - right + 16, top + 10 + 18.0 * static_cast<double>(index), colour(family),
        width - right + 26, top + 14 + 18.0 * static_cast<double>(index), family);
  text += fmt::format(
      "<text x='{:g}' y='{:g}' text-anchor='middle'>published step time (open: not "
      "fitted; dashed: 10 %)</text>\n<text x='16' y='{:g}' text-anchor='middle' "
      "transform='rotate(-90 16 {:g})'>forecast</text>\n</svg>\n",
      (left + width - right) / 2, height - 16, height / 2, height / 2);
  return text;
}

}  // namespace stepcast
