#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "stepcast/base/svg.hpp"
#include "stepcast/scheduler/draw.hpp"
#include "tick_step.hpp"

namespace stepcast {
namespace {

// All lengths in pixels.
constexpr double margin = 16, row_labels = 66, row_height = 26, row_gap = 5, header = 76,
                 footer = 40, character = 6.1, most_width = 20000, least_width = 560;

constexpr std::string_view style = R"(<style>
text { font-family: ui-sans-serif, system-ui, sans-serif; font-size: 12px; fill: #1f2328; }
.u text { font-size: 10px; text-anchor: middle; }
.t { font-size: 15px; font-weight: 600; }
.s { fill: #57606a; }
.ground { fill: #ffffff; }
.lane { fill: #f3f4f6; }
.tick { stroke: #d0d7de; }
.u rect { stroke: #ffffff; }
.F { fill: #9ec5fe; }
.B { fill: #8fd3a8; }
.b { fill: #a3e0d8; }
.w { fill: #f6cf8b; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .s { fill: #9198a1; }
  .ground { fill: #0d1117; }
  .lane { fill: #161b22; }
  .tick { stroke: #30363d; }
  .u rect { stroke: #0d1117; }
  .F { fill: #1f5fae; }
  .B { fill: #23733f; }
  .b { fill: #1f6f68; }
  .w { fill: #8a5a12; }
}
</style>
)";

std::string number(double value) { return fmt::format("{:.6g}", value); }

class Picture {
 public:
  explicit Picture(const Drawing& drawing) : drawing_{drawing} {
    // The longest label must fit into the shortest unit, within the widths that screens can show.
    double shortest = std::numeric_limits<double>::infinity();
    std::size_t longest = 2;
    for (std::size_t s = 0; s < drawing.orders.size(); ++s) {
      for (std::size_t i = 0; i < drawing.orders[s].size(); ++i) {
        const UnitTime& time = drawing.times.units[s][i];
        shortest = std::min(shortest, (time.end - time.start).value());
        longest = std::max(longest, to_string(drawing.orders[s][i], drawing.shape).size());
      }
    }
    const double makespan = drawing.times.makespan.value();
    const double wanted = (static_cast<double>(longest) * character + 6) / shortest;
    scale_ = std::min(std::max(wanted, least_width / makespan), most_width / makespan);
  }

  std::string text(const std::string& title) const {
    const double width = left() + x(drawing_.times.makespan) + margin;
    const double height = header + rows() + footer;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n{3}"
        "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
        width, height, escaped(title), style);
    svg += fmt::format("<text class=\"t\" x=\"{}\" y=\"28\">{}</text>\n", margin, escaped(title));
    svg += legend() + lanes() + ticks();
    for (std::size_t s = 0; s < drawing_.orders.size(); ++s) svg += stage(s);
    return svg + "</svg>\n";
  }

 private:
  static double left() { return margin + row_labels; }
  double x(Seconds time) const { return time.value() * scale_; }
  static double y(std::size_t stage) {
    return header + static_cast<double>(stage) * (row_height + row_gap);
  }
  double rows() const { return y(drawing_.orders.size()) - header; }

  bool has(UnitKind kind) const {
    return std::ranges::any_of(drawing_.orders, [&](const StageOrder& order) {
      return std::ranges::find(order, kind, &Unit::kind) != order.end();
    });
  }

  std::string legend() const {
    const struct {
      UnitKind kind;
      const char *letter, *name;
    } kinds[] = {{UnitKind::forward, "F", "forward"},
                 {UnitKind::backward, "B", "backward"},
                 {UnitKind::backward_input, "b", "backward, input"},
                 {UnitKind::backward_weight, "w", "backward, weight"}};
    constexpr double swatch = 12, gap = 18, text_width = 6.6;
    std::string svg;
    double at = margin;
    for (const auto& [kind, letter, name] : kinds) {
      if (!has(kind)) continue;
      svg += fmt::format(
          "<rect class=\"{0}\" x=\"{1}\" y=\"44\" width=\"{2}\" height=\"{2}\"/>"
          "<text class=\"s\" x=\"{3}\" y=\"54\">{0} {4}</text>\n",
          letter, number(at), swatch, number(at + swatch + 5), name);
      at += swatch + 5 + gap + text_width * static_cast<double>(std::string_view(name).size() + 2);
    }
    if (drawing_.shape.chunks > 1)
      svg += fmt::format("<text class=\"s\" x=\"{}\" y=\"54\">paler: later chunk</text>\n",
                         number(at));
    return svg;
  }

  std::string lanes() const {
    std::string svg;
    for (std::size_t s = 0; s < drawing_.orders.size(); ++s) {
      svg += fmt::format(
          "<text x=\"{}\" y=\"{}\">stage {}</text>"
          "<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
          margin, number(y(s) + row_height / 2 + 4), s, left(), number(y(s)),
          number(x(drawing_.times.makespan)), row_height);
    }
    return svg;
  }

  std::string ticks() const {
    constexpr double least_pixels = 60;
    // At round times, and at least so many pixels apart.
    const double step = tick_step(least_pixels / scale_), bottom = header + rows();
    std::string svg;
    for (int i = 0; i * step <= drawing_.times.makespan.value() * (1 + 1e-9); ++i) {
      const double at = left() + x(Seconds{i * step});
      svg += fmt::format(
          "<line class=\"tick\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>"
          "<text class=\"s\" x=\"{0}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
          number(at), header - 4, number(bottom + 2), number(bottom + 18), number(i * step));
    }
    return svg;
  }

  std::string stage(std::size_t s) const {
    const StageOrder& order = drawing_.orders[s];
    std::string svg = "<g class=\"u\">\n";
    for (std::size_t i = 0; i < order.size(); ++i) {
      const UnitTime& time = drawing_.times.units[s][i];
      if (!order[i].with_next) {
        svg += box(order[i], time, y(s), row_height);
        continue;
      }
      // A pair shares the row of its stage.
      svg += box(order[i], time, y(s), row_height / 2);
      ++i;
      svg += box(order[i], time, y(s) + row_height / 2, row_height / 2);
    }
    return svg + "</g>\n";
  }

  std::string box(const Unit& unit, const UnitTime& time, double top, double height) const {
    const std::string name = to_string(unit, drawing_.shape);
    const double width = x(time.end) - x(time.start), begin = left() + x(time.start);
    std::string svg = fmt::format(
        "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}>"
        "<title>{}: {} to {}</title></rect>",
        name[0], number(begin), number(top), number(width), number(height), paleness(unit), name,
        number(time.start.value()), number(time.end.value()));
    // A name with its chunk where there is room, else without, else none.
    for (const std::string& label : {name, to_string(unit, 1)}) {
      if (static_cast<double>(label.size()) * character + 2 > width) continue;
      svg += fmt::format(R"(<text x="{}" y="{}">{}</text>)", number(begin + width / 2),
                         number(top + height / 2 + 3.5), label);
      break;
    }
    return svg + "\n";
  }

  /// Later chunks fade towards 0.45 of the colour.
  std::string paleness(const Unit& unit) const {
    constexpr double palest = 0.45;
    if (drawing_.shape.chunks == 1 || unit.chunk.value == 0) return {};
    const double share =
        static_cast<double>(unit.chunk.value) / static_cast<double>(drawing_.shape.chunks - 1);
    return fmt::format(" fill-opacity=\"{:.3g}\"", 1 - (1 - palest) * share);
  }

  const Drawing& drawing_;
  double scale_;
};

}  // namespace

std::string draw_svg(const Drawing& drawing, const std::string& title) {
  return Picture(drawing).text(title);
}

}  // namespace stepcast
