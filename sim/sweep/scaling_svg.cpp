#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "row_parts.hpp"
#include "stepcast/base/palette.hpp"
#include "stepcast/base/svg.hpp"
#include "stepcast/sim/sweep/scaling.hpp"

namespace stepcast {
namespace {

// Sizes in pixels.
constexpr double panel_width = 420, panel_height = 300, left_edge = 60, top_edge = 50, gap = 90;
constexpr double legend_line = 18, bar_share = 0.7;

const char* colour(std::size_t i) { return series_colours[i % series_colours.size()]; }

/// Stalls and idle time have shorter names there.
std::string_view part_colour(std::size_t part) {
  const std::string& name = breakdown_names()[part];
  return shade(name == "other_idle" ? "idle" : name.substr(0, name.find('_'))).light;
}

std::string text_at(double x, double y, const std::string& text, const char* anchor = "middle") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* stroke) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, stroke);
}

/// A published size.
std::string cross(double x, double y, const char* stroke) {
  constexpr double arm = 4;
  return line(x - arm, y - arm, x + arm, y + arm, stroke) +
         line(x - arm, y + arm, x + arm, y - arm, stroke);
}

/// The values of a point but its devices and what goes with them: what a line of the diagram stands
/// for.
std::string series_of(const Sweep& sweep, const PointResult& row) {
  std::vector<PointValue> values = point_values(sweep, static_cast<std::size_t>(row.point));
  for (const SweepAxis& axis : sweep.axes) {
    if (std::ranges::count(axis.paths, "cluster.devices") == 0) continue;
    std::erase_if(values,
                  [&](const PointValue& v) { return std::ranges::count(axis.paths, v.path) > 0; });
  }
  return label(values);
}

/// Of single fleets, where no seeds were run: one of ten is slower than p10 says, one faster.
std::optional<EfficiencyBand> fleet_band(const PointTable& table, std::size_t i) {
  const PointResult& row = table.rows[i];
  const auto low = row.number("fleet_p10_s"), high = row.number("fleet_p90_s");
  if (!low || !high) return {};
  const double ideal = *table.efficiency[i] * *row.number("step_time_s");
  return EfficiencyBand{.p10 = ideal / *high, .p50 = *table.efficiency[i], .p90 = ideal / *low};
}

/// The efficiency of equal devices against equal devices.
std::optional<double> flawless_efficiency(const Sweep& sweep, const PointTable& table,
                                          std::size_t i) {
  const PointResult& row = table.rows[i];
  const auto base = baseline_point(sweep, static_cast<std::size_t>(row.point));
  if (!base) return {};
  const auto found =
      std::ranges::find(table.rows, static_cast<std::int64_t>(*base), &PointResult::point);
  if (found == table.rows.end() || !found->simulated()) return {};
  const auto share = [](const PointResult& of) {
    return 1 - *of.number("fleet_s") / *of.number("step_time_s");
  };
  if (share(row) == 1 && share(*found) == 1) return {};
  return *table.efficiency[i] * share(*found) / share(row);
}

/// Efficiency in percent over devices, of each series.
class Efficiencies {
 public:
  Efficiencies(const Sweep& sweep, const PointTable& table) {
    double highest = 100;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      if (table.efficiency.empty() || !table.efficiency[i]) continue;
      const double devices = *table.rows[i].number("devices");
      const double percent = 100 * *table.efficiency[i];
      auto band = efficiency_band(table, i);
      seeds_ = seeds_ || band.has_value();
      if (!band) band = fleet_band(table, i);
      const auto flawless = flawless_efficiency(sweep, table, i);
      series_[series_of(sweep, table.rows[i])].push_back({devices, percent, band, flawless});
      bands_ = bands_ || band.has_value();
      if (flawless) highest = std::max(highest, 100 * *flawless);
      if (band) highest = std::max(highest, 100 * band->p90);
      least_ = std::min(least_, devices);
      most_ = std::max(most_, devices);
      highest = std::max(highest, percent);
    }
    for (const PublishedCurve& curve : table.published)
      for (const PublishedPoint& point : curve.points)
        highest = std::max(highest, 100 * point.efficiency);
    published_ = table.published;
    high_ = std::ceil(highest / 10) * 10;
  }

  /// Both axes labelled; devices on a scale of doublings.
  std::string panel() const {
    const char* title = seeds_
                            ? "scaling efficiency [%] over devices, mean and 10 % to 90 % of seeds"
                        : bands_ ? "scaling efficiency [%] over devices, 10 % to 90 % of fleets; "
                                   "dashed: equal devices"
                                 : "scaling efficiency [%] over devices";
    std::string svg = text_at(left_edge + panel_width / 2, top_edge - 20, title);
    for (int tick = 0; tick <= high_; tick += 20)
      svg += line(left_edge, y(tick), left_edge + panel_width, y(tick), "#DDDDDD") +
             text_at(left_edge - 8, y(tick) + 4, std::to_string(tick), "end");
    std::size_t index = 0;
    for (const auto& [name, points] : series_) {
      svg += curve(points, index);
      if (!name.empty()) {
        const double height =
            top_edge + panel_height + 40 + legend_line * static_cast<double>(index);
        svg += line(left_edge, height - 4, left_edge + 20, height - 4, colour(index)) +
               text_at(left_edge + 26, height, name, "start");
      }
      ++index;
    }
    for (const PublishedCurve& curve : published_) {
      for (const PublishedPoint& point : curve.points)
        svg +=
            cross(x(static_cast<double>(point.devices)), y(100 * point.efficiency), colour(index));
      const double height = top_edge + panel_height + 40 + legend_line * static_cast<double>(index);
      svg += cross(left_edge + 10, height - 4, colour(index)) +
             text_at(left_edge + 26, height, "published: " + curve.name, "start");
      ++index;
    }
    return svg;
  }

 private:
  struct Place {
    double devices, percent;
    std::optional<EfficiencyBand> band;
    std::optional<double> flawless;
  };

  double x(double devices) const {
    const double span = most_ > least_ ? std::log2(most_ / least_) : 1;
    return left_edge + panel_width * std::log2(devices / least_) / span;
  }
  double y(double percent) const { return top_edge + panel_height * (1 - percent / high_); }

  /// The first one labels the devices.
  std::string curve(const std::vector<Place>& points, std::size_t index) const {
    std::string svg, path, upper, lower, equal;
    for (const auto& [devices, percent, band, flawless] : points) {
      if (flawless) equal += fmt::format("{:.1f},{:.1f} ", x(devices), y(100 * *flawless));
      if (band) {
        upper += fmt::format("{:.1f},{:.1f} ", x(devices), y(100 * band->p90));
        lower.insert(0, fmt::format("{:.1f},{:.1f} ", x(devices), y(100 * band->p10)));
      }
      path += fmt::format("{:.1f},{:.1f} ", x(devices), y(percent));
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x(devices),
                         y(percent), colour(index));
      if (index == 0)
        svg += text_at(x(devices), top_edge + panel_height + 18, fmt::format("{}", devices));
    }
    if (!upper.empty())
      svg += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.2\"/>\n",
                         upper + lower, colour(index));
    if (!equal.empty())
      svg += fmt::format(
          "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-dasharray=\"4 3\"/>\n", equal,
          colour(index));
    return svg +
           fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n",
                       path, colour(index));
  }

  std::map<std::string, std::vector<Place>> series_;
  std::vector<PublishedCurve> published_;
  double least_ = 1e300, most_ = 0, high_ = 100;
  bool bands_ = false, seeds_ = false;
};

/// A bar per point, from the bottom the parts of its step in percent.
std::string parts_panel(const PointTable& table) {
  const double begin = left_edge + panel_width + gap;
  std::string svg =
      text_at(begin + panel_width / 2, top_edge - 20, "where the time of a step goes [%]");
  std::vector<const PointResult*> rows;
  for (const PointResult& row : table.rows)
    if (row.simulated()) rows.push_back(&row);
  const double pitch = panel_width / static_cast<double>(std::max<std::size_t>(rows.size(), 1));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double> parts = row_parts(*rows[i]);
    const double step = *rows[i]->number("step_time_s");
    const double x = begin + pitch * (static_cast<double>(i) + (1 - bar_share) / 2);
    double y = top_edge + panel_height;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const double height = panel_height * parts[p] / step;
      // Upwards from the axis, in the order of the legend.
      y -= height;
      // Too thin to be seen, and hundreds of them make a large file.
      if (height < 0.05) continue;
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x,
          y, pitch * bar_share, height, part_colour(p));
    }
    svg += text_at(x + pitch * bar_share / 2, top_edge + panel_height + 18,
                   plain_number(*rows[i]->number("devices")));
  }
  for (int tick = 0; tick <= 100; tick += 20)
    svg += text_at(begin - 8, top_edge + panel_height * (1 - tick / 100.0) + 4,
                   std::to_string(tick), "end");
  for (std::size_t p = 0; p < breakdown_names().size(); ++p) {
    const double y = top_edge + legend_line * static_cast<double>(p) + 10;
    const double x = begin + panel_width + 12;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n",
                       x, y - 10, part_colour(p)) +
           text_at(x + 18, y, part_word(p), "start");
  }
  return svg;
}

}  // namespace

std::string scaling_svg(const Sweep& sweep, const PointTable& table) {
  std::map<std::string, int> series;
  // One colour per series, counted first because the height depends on their number.
  for (const PointResult& row : table.rows) series[series_of(sweep, row)] = 0;
  const double width = left_edge + 2 * panel_width + gap + 130;
  const double height = top_edge + panel_height + 50 +
                        legend_line * static_cast<double>(series.size() + table.published.size());
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             width, height) +
         text_at(left_edge, 18, sweep.name, "start") + Efficiencies(sweep, table).panel() +
         parts_panel(table) + "</svg>\n";
}

}  // namespace stepcast
