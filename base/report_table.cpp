#include "stepcast/base/report_table.hpp"

#include <algorithm>
#include <utility>

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr std::string_view gap = "  ";

std::string in_markdown(const std::string& cell) {
  std::string text;
  for (const char c : cell) {
    if (c == '|') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

TableColumn text_column(std::string name) { return {std::move(name), true}; }
TableColumn number_column(std::string name) { return {std::move(name)}; }

ReportTable::ReportTable(std::vector<TableColumn> columns) : columns_{std::move(columns)} {}

void ReportTable::add(std::vector<std::string> cells) {
  expects(cells.size() == columns_.size(), "a row has a cell for each column");
  rows_.push_back(std::move(cells));
}

std::string ReportTable::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const TableColumn& column : columns_) widths.push_back(column.name.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());

  std::string all;
  const auto add_line = [&](const auto& cell_of) {
    std::string line{indent};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string blanks(widths[i] - cell.size(), ' ');
      if (i > 0) line += gap;
      line += columns_[i].words ? cell + blanks : blanks + cell;
    }
    // The last column of words ends no line with blanks.
    all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_line([&](std::size_t i) -> const std::string& { return columns_[i].name; });
  for (const auto& row : rows_)
    add_line([&](std::size_t i) -> const std::string& { return row[i]; });
  return all;
}

std::string ReportTable::markdown() const {
  std::string all = "|", rule = "|";
  for (const TableColumn& column : columns_) {
    all += " " + column.name + " |";
    // Numbers to the right, words to the left.
    rule += column.words ? "---|" : "---:|";
  }
  all += "\n" + rule + "\n";
  for (const auto& row : rows_) {
    all += "|";
    for (const std::string& cell : row) all += " " + in_markdown(cell) + " |";
    all += "\n";
  }
  return all;
}

}  // namespace stepcast
