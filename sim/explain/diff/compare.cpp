#include <fmt/format.h>

#include <algorithm>

#include "diff_text.hpp"
#include "stepcast/base/report_table.hpp"

namespace stepcast {
namespace {

constexpr std::size_t name_width = 24, value_width = 11, change_width = 12;

/// The first side is A.
std::string letter(std::size_t side) {
  constexpr std::size_t letters = 26;
  const std::string last(1, static_cast<char>('A' + side % letters));
  return side < letters ? last : letter(side / letters - 1) + last;
}

std::string values_text(const InputRow& row, const char* between) {
  std::string text;
  for (const auto& value : row.values) text += (text.empty() ? "" : between) + value.value_or("-");
  return text;
}

std::string rows_text(const char* title, const std::vector<InputRow>& rows) {
  if (rows.empty()) return {};
  std::string text = fmt::format("  {}\n", title);
  for (const InputRow& row : rows)
    text += fmt::format("    {:<36} {}\n", row.path, values_text(row, " | "));
  return text;
}

/// One line of the table: the first side, then `from` up to `to` with their changes.
template <class Text, class Change>
std::string line(const std::string& name, std::size_t from, std::size_t to, const Text& text,
                 const Change& change) {
  std::string out =
      fmt::format("  {:<{}}{:>{}}", name, name_width, text(std::size_t{0}), value_width);
  for (std::size_t i = from; i < to; ++i)
    out += fmt::format("{:>{}}{:>{}}", text(i), value_width, change(i), change_width);
  return out + "\n";
}

std::string times_line(const std::string& name, const std::vector<std::optional<double>>& values,
                       std::size_t from, std::size_t to) {
  return line(
      name, from, to, [&](std::size_t i) { return time_or_dash(values[i]); },
      [&](std::size_t i) {
        const auto amount = change(values[0], values[i]);
        return amount ? signed_time(*amount) : "-";
      });
}

std::vector<std::optional<double>> step_times(const std::vector<DiffSide>& sides) {
  std::vector<std::optional<double>> times;
  times.reserve(sides.size());
  for (const DiffSide& side : sides) times.emplace_back(side.step_time);
  return times;
}

std::string share(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}%", 100 * *value) : "-";
}

std::string block(const std::vector<DiffSide>& sides, std::size_t from, std::size_t to) {
  std::string text = "\n" + line("where the time went", from, to, letter,
                                 [](std::size_t i) { return letter(i) + " - A"; });
  for (const PartRow& part : part_rows(sides)) text += times_line(part.name, part.values, from, to);
  text += times_line("step time", step_times(sides), from, to);
  // Side A has no change against itself; others have theirs in per cent, ratios of it in points.
  const double first = sides[0].step_time;
  text += line(
      "  of A", from, to, [](std::size_t) { return ""; },
      [&](std::size_t i) {
        return fmt::format("{:+.1f}%", change_percent(first, sides[i].step_time));
      });
  text += line(
      "MFU", from, to, [&](std::size_t i) { return share(sides[i].mfu); },
      [&](std::size_t i) {
        const auto amount = change(sides[0].mfu, sides[i].mfu);
        return amount ? fmt::format("{:+.1f} pt", 100 * *amount) : "-";
      });
  const auto memory = [&](std::size_t i) {
    return sides[i].peak_memory ? human(Bytes{*sides[i].peak_memory}) : std::string("-");
  };
  text += line("memory peak", from, to, memory, [&](std::size_t i) {
    const auto &a = sides[0].peak_memory, &b = sides[i].peak_memory;
    return a && b ? fmt::format("{:+.1f}%", change_percent(*a, *b)) : std::string("-");
  });
  for (const CostRow& row : cost_rows(sides))
    text += line(
        row.name, from, to, [&](std::size_t i) { return row.texts[i]; },
        [&](std::size_t i) { return cost_change(row, sides[0], sides[i], i); });
  return text;
}

/// A table with a column for each side.
ReportTable table_of_sides(const std::string& first, std::size_t sides) {
  std::vector<TableColumn> columns{text_column(first)};
  for (std::size_t i = 0; i < sides; ++i) columns.push_back(number_column(letter(i)));
  return ReportTable(std::move(columns));
}

std::string markdown_rows(const std::string& title, const std::vector<InputRow>& rows,
                          std::size_t sides) {
  if (rows.empty()) return {};
  ReportTable table = table_of_sides(title, sides);
  for (const InputRow& row : rows) {
    std::vector<std::string> cells{row.path};
    for (const auto& value : row.values) cells.push_back(value.value_or("-"));
    table.add(std::move(cells));
  }
  return "\n" + table.markdown();
}

std::vector<std::string> cells_of_times(const std::string& name,
                                        const std::vector<std::optional<double>>& values) {
  std::vector<std::string> cells{name};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto amount = change(values[0], values[i]);
    cells.push_back(time_or_dash(values[i]) +
                    (i > 0 && amount ? " (" + signed_time(*amount) + ")" : ""));
  }
  return cells;
}

}  // namespace

std::string percent_text(double percent) {
  const double size = std::abs(percent);
  const bool round = size >= 10 && size < 99;  // -99.6 % is not all of it
  return fmt::format("{:+.{}f} %", percent, round ? 0 : size >= 1 ? 1 : 2);
}

std::vector<PartRow> part_rows(const std::vector<DiffSide>& sides) {
  std::vector<PartRow> rows;
  for (std::size_t p = 0; p < breakdown_names().size(); ++p) {
    PartRow row{(is_exposed_part(p) ? "exposed " : "") + part_word(p), {}};
    for (const DiffSide& side : sides) row.values.push_back(side.parts[p]);
    double longest = 0;
    for (const DiffSide& side : sides) longest = std::max(longest, side.step_time);
    // Parts that are nothing in every side get no row.
    if (std::ranges::any_of(row.values,
                            [&](const auto& v) { return v.value_or(0) > least_part * longest; }))
      rows.push_back(std::move(row));
  }
  return rows;
}

std::string missing_note(const std::vector<DiffSide>& sides) {
  std::string text;
  for (const PartRow& row : part_rows(sides))
    if (std::ranges::any_of(row.values, [](const auto& v) { return !v; }))
      text += fmt::format("  {} is not in every result: its change is not known\n", row.name);
  return text;
}

std::string compare_table(const std::vector<DiffSide>& sides, std::size_t width, InputList inputs,
                          const std::vector<PublishedPair>& pairs) {
  std::string text;
  for (std::size_t i = 0; i < sides.size(); ++i)
    text += fmt::format("  {}  {}\n", letter(i), sides[i].label);
  text += "\n";
  for (std::size_t i = 1; i < sides.size(); ++i)
    text += fmt::format("  {} takes {}\n", letter(i), result_sentence(sides[0], sides[i])) +
            pairs_line(sides[0], sides[i], pairs, "    ");
  const std::size_t fixed = 2 + name_width + value_width;
  const std::size_t at_once =
      std::max<std::size_t>(1, (width - fixed) / (value_width + change_width));
  for (std::size_t from = 1; from < sides.size(); from += at_once)
    text += block(sides, from, std::min(from + at_once, sides.size()));
  text += missing_note(sides) + "\n" + inputs_block(sides, inputs, " | ");
  text += rows_text("layers that moved", differing_layers(sides));
  for (std::size_t i = 1; i < sides.size(); ++i)
    if (sides[i].build != sides[0].build)
      text += fmt::format("  {} is of another build than A: {}\n", letter(i), sides[i].build);
  return text;
}

std::string compare_markdown(const std::vector<DiffSide>& sides, InputList inputs) {
  ReportTable what({text_column("side"), text_column("what")});
  for (std::size_t i = 0; i < sides.size(); ++i) what.add({letter(i), sides[i].label});
  ReportTable times = table_of_sides("where the time went", sides.size());
  for (const PartRow& part : part_rows(sides)) times.add(cells_of_times(part.name, part.values));
  times.add(cells_of_times("step time", step_times(sides)));
  std::vector<std::string> mfu{"MFU"}, memory{"memory peak"};
  for (const DiffSide& side : sides) {
    mfu.push_back(share(side.mfu));
    memory.push_back(side.peak_memory ? human(Bytes{*side.peak_memory}) : "-");
  }
  times.add(std::move(mfu));
  times.add(std::move(memory));
  for (const CostRow& row : cost_rows(sides)) {
    std::vector<std::string> cells{row.name};
    cells.insert(cells.end(), row.texts.begin(), row.texts.end());
    times.add(std::move(cells));
  }
  std::string text = what.markdown() + "\n" + times.markdown();
  // The list of inputs is short unless asked for all: keys that follow from others are left out.
  const bool all = inputs == InputList::all;
  text += markdown_rows("input", all ? differing_inputs(sides) : shown_inputs(sides).rows,
                        sides.size());
  return text + markdown_rows("layers", differing_layers(sides), sides.size());
}

}  // namespace stepcast
