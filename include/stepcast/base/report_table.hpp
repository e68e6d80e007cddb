#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// A column of a table: words stand at its left, numbers at its right.
struct TableColumn {
  std::string name;
  bool words = false;
};
/// Columns of words and of numbers, for lists of columns.
TableColumn text_column(std::string name);
TableColumn number_column(std::string name);

/// Cells under named columns, of which a terminal, a page and a file show the same.
class ReportTable {
 public:
  explicit ReportTable(std::vector<TableColumn> columns);
  /// Appends a row, which has a cell for each column.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// Lines for a terminal: each column as wide as its widest cell, two blanks between columns.
  std::string text(std::string_view indent = "") const;
  /// A table of Markdown; bars in cells are escaped.
  std::string markdown() const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace stepcast
