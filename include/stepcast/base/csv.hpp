#pragma once
#include <string>
#include <string_view>
#include <vector>

/// Here comma-separated tables (RFC 4180) cross the edge of the program.
namespace stepcast {

/// One record of a table: a line, or several where a quoted cell holds line ends.
struct CsvRecord {
  int line = 0;  ///< where it begins, counted from 1
  std::vector<std::string> cells;
};

/// The records of a text, empty lines left out. Lines end in LF or CRLF; quoted cells may
/// hold commas, line ends and doubled quotes; a byte order mark is skipped. Cells are as they
/// stand, with their blanks. Throws InputError, which calls the text `name`: a quote without end,
/// or text behind one that ends a cell.
std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& name);

/// A cell as it is written: in quotes where it holds a comma, a quote or a line end.
std::string csv_cell(std::string_view cell);

}  // namespace stepcast
