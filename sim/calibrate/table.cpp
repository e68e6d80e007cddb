#include "table.hpp"

#include <algorithm>

#include "stepcast/base/document.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") + 1 - first));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::vector<std::string>> split_csv(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      const bool doubled = quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (doubled) cells.back() += line[++i];
      if (!doubled) quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (quoted) return {};
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

CsvTable::CsvTable(const std::string& path) : path_{path} {
  const std::string text = read_document_text(path, {});
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const auto cells = split_csv(line);
    if (!cells) throw InputError({{{path, number, 1}, {}, "holds a quote without end"}});
    if (header_.empty()) {
      header_ = *cells;
      continue;
    }
    if (cells->size() != header_.size())
      throw InputError({{{path, number, 1},
                         {},
                         "has " + std::to_string(cells->size()) + " cells, allowed: the " +
                             std::to_string(header_.size()) + " of the header"}});
    cells_.push_back(*cells);
  }
  if (header_.empty()) throw InputError({{{path}, {}, "is empty, allowed: a table with a header"}});
}

std::optional<std::size_t> CsvTable::find(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    const auto found = std::ranges::find(header_, name);
    if (found != header_.end()) return static_cast<std::size_t>(found - header_.begin());
  }
  return {};
}

std::size_t CsvTable::column(const std::vector<std::string>& names) const {
  if (const auto found = find(names)) return *found;
  throw InputError({{{path_, 1, 1}, {}, "has no column '" + joined(names) + "'"}});
}

const std::string& CsvTable::text(std::size_t row, std::size_t column) const {
  return cells_[row][column];
}

std::optional<double> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string& cell = text(row, column);
  if (cell.empty() || cell == "N/A") return {};
  if (const auto value = parse_number(cell)) return value;
  fail(row, "holds '" + cell + "' in column '" + header_[column] + "', allowed: a number or N/A");
}

void CsvTable::fail(std::size_t row, const std::string& message) const {
  throw InputError({{{path_, static_cast<int>(row) + 2, 1}, {}, message}});
}

}  // namespace stepcast
