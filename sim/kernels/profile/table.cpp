#include "table.hpp"

#include <algorithm>

#include "stepcast/base/document.hpp"
#include "stepcast/base/text.hpp"

namespace stepcast {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

CsvTable::CsvTable(const std::string& path)
    : CsvTable{path, read_document_text(path, {}, "a CSV file")} {}

CsvTable::CsvTable(const std::string& path, std::string_view text) : path_{path} {
  for (CsvRecord& record : parse_csv(text, path)) {
    // Profilers pad their cells.
    for (std::string& cell : record.cells) cell = std::string(trimmed(cell));
    if (header_.empty()) {
      header_ = std::move(record.cells);
      continue;
    }
    if (record.cells.size() != header_.size())
      refuse_input({path, record.line, 1}, {},
                   "has " + std::to_string(record.cells.size()) + " cells, allowed: the " +
                       std::to_string(header_.size()) + " of the header");
    records_.push_back(std::move(record));
  }
  if (header_.empty()) refuse_input({path}, {}, "is empty, allowed: a table with a header");
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
  refuse_input({path_, 1, 1}, {}, "has no column '" + joined(names) + "'");
}

const std::string& CsvTable::text(std::size_t row, std::size_t column) const {
  return records_[row].cells[column];
}

std::optional<double> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string& cell = text(row, column);
  // Profilers write either where a kernel has no such number.
  if (cell.empty() || cell == "N/A") return {};
  if (const auto value = parse_number(cell)) return value;
  fail(row, "holds '" + cell + "' in column '" + header_[column] + "', allowed: a number or N/A");
}

void CsvTable::fail(std::size_t row, const std::string& message) const {
  refuse_input({path_, records_[row].line, 1}, {}, message);
}

}  // namespace stepcast
