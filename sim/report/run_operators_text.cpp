#include <fmt/format.h>

#include "stepcast/base/csv.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/report/run_operators.hpp"

namespace stepcast {
namespace {

constexpr std::size_t name_width = 24, shape_width = 23, fused_width = 90;

/// Names of any length, cut to a column.
std::string cut_to(const std::string& text, std::size_t width) {
  return text.size() < width ? text : text.substr(0, width - 3) + "..";
}

std::string percent_of(double share) { return fmt::format("{:.1f}%", 100 * share); }

/// What a kernel was made of, below it.
std::string fused_lines(const RunOperator& row) {
  std::string text, line;
  for (std::size_t i = 0; i < row.fused.size(); ++i) {
    const std::string part = row.fused[i] + (i + 1 < row.fused.size() ? "," : "");
    if (!line.empty() && line.size() + part.size() >= fused_width) {
      text += "      " + line + "\n";
      line.clear();
    }
    line += (i == 0 ? "of " : line.empty() ? "" : " ") + part;
  }
  return line.empty() ? text : text + "      " + line + "\n";
}

std::string operator_line(const RunOperator& row) {
  const bool known = row.efficiency > 0;
  return fmt::format("  {:<{}}{:<{}}{:>8.0f}{:>10}{:>7}{:>7} {:<8}{:>10}\n",
                     cut_to(row.name, name_width), name_width, cut_to(row.shape, shape_width),
                     shape_width, row.launches, human(row.time), percent_of(row.share),
                     known ? percent_of(row.efficiency) : "-", known ? name(row.bound) : "-",
                     row.flops > 0 ? fmt::format("{:.3g}", row.flops * row.launches) : "-");
}

}  // namespace

std::string run_operators_table(const std::vector<RunOperator>& operators, std::size_t top) {
  std::string text;
  std::size_t of_stage = 0;
  Seconds rest{0};
  double rest_share = 0, rest_launches = 0;
  const auto close = [&] {
    if (rest.value() > 0)
      text += fmt::format("  {:<{}}{:>8.0f}{:>10}{:>7}\n", "others", name_width + shape_width,
                          rest_launches, human(rest), percent_of(rest_share));
    rest = Seconds{0};
    rest_share = rest_launches = 0;
  };
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const RunOperator& row = operators[i];
    if (i == 0 || row.stage != operators[i - 1].stage) {
      close();
      of_stage = 0;
      text += fmt::format("\n  {:<{}}{:<{}}{:>8}{:>10}{:>7}{:>7} {:<8}{:>10}\n",
                          fmt::format("stage {}", row.stage), name_width, "shape", shape_width,
                          "launches", "time", "share", "effic.", "bound", "FLOP");
    }
    // Behind the first rows of a stage all others are one.
    if (of_stage++ < top) {
      text += operator_line(row) + fused_lines(row);
      continue;
    }
    rest += row.time;
    rest_share += row.share;
    rest_launches += row.launches;
  }
  close();
  return text;
}

std::string run_operators_csv(const std::vector<RunOperator>& operators) {
  std::string text =
      "stage,name,class,shape,flops,bytes,launches,time_s,efficiency,bound,share,fused\n";
  for (const RunOperator& row : operators) {
    // Operators of a fixed time have no efficiency and no bound.
    const bool known = row.efficiency > 0;
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", row.stage, csv_cell(row.name),
                    name(row.of), csv_cell(row.shape), shortest(row.flops), shortest(row.bytes),
                    shortest(row.launches), shortest(row.time.value()),
                    known ? shortest(row.efficiency) : "", known ? name(row.bound) : "",
                    shortest(row.share), csv_cell(fmt::format("{}", fmt::join(row.fused, "; "))));
  }
  return text;
}

}  // namespace stepcast
