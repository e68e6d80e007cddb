#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/csv.hpp"
#include "stepcast/base/errors.hpp"

/// Tables with a line of headers, as profilers write them: quoted cells, N/A for unknown.
namespace stepcast {

class CsvTable {
 public:
  /// Throws InputError: missing file, no header, a row of another width, a quote without end.
  explicit CsvTable(const std::string& path);
  /// The same of a text that is there already.
  CsvTable(const std::string& path, std::string_view text);

  std::size_t rows() const { return records_.size(); }
  /// Column of the first of these headers that is there.
  std::optional<std::size_t> find(const std::vector<std::string>& names) const;
  /// As find. Throws InputError that names them.
  std::size_t column(const std::vector<std::string>& names) const;
  const std::string& text(std::size_t row, std::size_t column) const;
  int line(std::size_t row) const { return records_[row].line; }
  /// A number; nothing for N/A and empty cells. Throws InputError for anything else.
  std::optional<double> number(std::size_t row, std::size_t column) const;
  /// Throws InputError at a row.
  [[noreturn]] void fail(std::size_t row, const std::string& message) const;

 private:
  std::string path_;
  std::vector<std::string> header_;
  std::vector<CsvRecord> records_;
};

/// The parts of a text without the blanks around them.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace stepcast
