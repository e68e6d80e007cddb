#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stepcast/base/report_table.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/explain/explain.hpp"

namespace stepcast {
namespace {

/// Elasticities that the table and the text leave out are smaller, and so are shares of the path.
constexpr double shown_at_least = 5e-4, told_at_least = 1e-2;

std::string bar(double share, double width) {
  const auto cells = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  std::string text;
  for (int i = 0; i < cells; ++i) text += "█";
  return text;
}

double percent_of(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string shares(const char* title, const std::vector<PathShare>& rows, double total,
                   std::size_t top) {
  std::string text = fmt::format("  {}\n", title);
  for (std::size_t i = 0; i < std::min(top, rows.size()); ++i) {
    const PathShare& row = rows[i];
    if (i > 0 && row.seconds < shown_at_least * total) break;
    const std::string cells = bar(row.seconds / total, 18);
    text += fmt::format("  {:<40.40}{:>10}  {:>5.1f}%{}{}\n", row.name, human(Seconds{row.seconds}),
                        percent_of(row.seconds, total), cells.empty() ? "" : "  ", cells);
  }
  return text + "\n";
}

std::string slack_rows(const CriticalPath& path) {
  ReportTable table({text_column("slack of"), number_column("pieces"), number_column("critical"),
                     number_column("least"), number_column("median")});
  for (const CriticalPath::Slack& s : path.slacks) {
    const auto time = [](double t) { return std::isfinite(t) ? human(Seconds{t}) : "never used"; };
    table.add({s.name, std::to_string(s.count), std::to_string(s.critical), time(s.least),
               time(s.median)});
  }
  return table.text("  ") + "\n";
}

constexpr std::size_t path_width = 38, bar_width = 18;

std::string elasticity_rows(const Explanation& e, std::size_t top) {
  std::string text = fmt::format("  {:<{}}{:>12}{:>8}\n", "1 % more of", path_width, "now", "step");
  const double largest = e.elasticities.empty() ? 1 : std::abs(e.elasticities.front().value);
  std::size_t shown = 0;
  for (const Elasticity& row : e.elasticities) {
    if (shown == top || std::abs(row.value) < shown_at_least) break;
    ++shown;
    // A bar takes what a long name leaves of the line.
    const std::string& path = row.parameter.path;
    const std::size_t longer = std::max(path.size(), path_width) - path_width;
    const std::string cells = bar(std::abs(row.value) / largest,
                                  static_cast<double>(bar_width - std::min(longer, bar_width)));
    text += fmt::format("  {:<{}}{:>12}{:>+7.3f}%{}{}\n", path, path_width, row.parameter.text,
                        row.value, cells.empty() ? "" : "  ", cells);
  }
  const std::size_t rest = e.elasticities.size() - shown;
  if (rest > 0) text += fmt::format("  {} more numbers matter less; --json lists them.\n", rest);
  return text + fmt::format("  all times together: {:+.3f}%\n\n", e.time_sum);
}

std::string bound_rows(const Explanation& e) {
  ReportTable table({text_column("if it were"), number_column("step"), number_column("less")});
  for (const Bound& b : e.bounds)
    table.add({b.name, human(Seconds{b.step_time}),
               fmt::format("{:.1f}%", percent_of(e.step_time - b.step_time, e.step_time))});
  return table.text("  ");
}

const Elasticity* best_of(const Explanation& e, Parameter::Nature nature) {
  for (const Elasticity& row : e.elasticities)
    if (row.parameter.nature == nature && std::abs(row.value) >= told_at_least) return &row;
  return nullptr;
}

std::string advice(const Explanation& e) {
  // Rates and times are told apart, as one buys the former and tunes the latter.
  const Elasticity* rate = best_of(e, Parameter::Nature::rate);
  const Elasticity* time = best_of(e, Parameter::Nature::time);
  std::string text;
  if (rate) {
    text += fmt::format(" One per cent more {} ({}) changes the step by {:+.2f} %.",
                        rate->parameter.path, rate->parameter.text, rate->value);
  }
  if (time) {
    text += fmt::format(" {} a {} that is one per cent longer ({}), by {:+.2f} %.",
                        rate ? "Among the fixed times" : "One matters most:", time->parameter.path,
                        time->parameter.text, time->value);
  }
  return text;
}

/// Breaks lines at spaces.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string result = " ";
  std::size_t column = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (column + 1 + (end - at) > width) {
      result += "\n ";
      column = 1;
    }
    result += " " + text.substr(at, end - at);
    column += 1 + end - at;
    at = end + 1;
  }
  return result + "\n\n";
}

}  // namespace

std::string explanation_text(const Scenario& scenario, const Explanation& e) {
  const auto& categories = e.path.categories;
  std::string text =
      fmt::format("{} takes {} per step.", scenario.name, human(Seconds{e.step_time}));
  if (!e.headline.empty()) text += " " + e.headline;
  // The two largest parts say most; the table has the rest.
  if (!categories.empty()) {
    text += fmt::format(" Along its critical path {:.0f} % is {}",
                        percent_of(categories[0].seconds, e.path.total), categories[0].name);
    if (categories.size() > 1)
      text += fmt::format(" and {:.0f} % {}", percent_of(categories[1].seconds, e.path.total),
                          categories[1].name);
    text += fmt::format("; the longest item is {} ({}).", e.path.operators[0].name,
                        human(Seconds{e.path.operators[0].seconds}));
  }
  text += advice(e);
  // Bounds without contention, bubbles and the like: none of them can be reached, and the best says
  // where to look.
  const auto best = std::ranges::min_element(e.bounds, {}, &Bound::step_time);
  if (best != e.bounds.end()) {
    text += fmt::format(" Of the ideals, {} would win most: {}, {:.0f} % less.", best->name,
                        human(Seconds{best->step_time}),
                        percent_of(e.step_time - best->step_time, e.step_time));
  }
  return text;
}

std::string explanation_table(const Scenario& scenario, const Explanation& e, std::size_t top) {
  constexpr std::size_t width = 79;
  std::string text = wrapped(explanation_text(scenario, e), width);
  text += shares("critical path by category", e.path.categories, e.path.total, top);
  text +=
      shares("critical path by operator and communication", e.path.operators, e.path.total, top);
  if (!e.path.links.empty())
    text += shares("its communication by link", e.path.links, e.path.total, top);
  return text + slack_rows(e.path) + elasticity_rows(e, top) + bound_rows(e);
}

}  // namespace stepcast
