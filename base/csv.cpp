#include "stepcast/base/csv.hpp"

#include "stepcast/base/errors.hpp"

namespace stepcast {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

constexpr std::string_view blanks = " \t\r";

bool only_blanks(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string::npos;
}

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& name) : text_{text}, name_{name} {
    if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
  }

  std::vector<CsvRecord> records() {
    std::vector<CsvRecord> all;
    while (at_ < text_.size()) {
      CsvRecord record = next();
      // Lines of blanks are no records.
      if (record.cells.size() > 1 || !only_blanks(record.cells.front()))
        all.push_back(std::move(record));
    }
    return all;
  }

 private:
  CsvRecord next() {
    CsvRecord record{line_, {std::string{}}};
    bool ended = false;  // the quote of the cell
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\n') {
        ++line_;
        break;
      }
      // Both characters are one line end.
      const bool line_end = c == '\r' && at_ < text_.size() && text_[at_] == '\n';
      if (line_end) continue;
      if (ended && c != ',' && blanks.find(c) == std::string_view::npos)
        refuse_input({name_, line_, 1}, {},
                     "holds text behind the quote that ends a cell, allowed: a comma or the "
                     "end of the line; a quote inside of a cell is written twice");
      // A quote opens a cell where nothing but blanks stands before it.
      const bool opens = c == '"' && only_blanks(record.cells.back());
      if (c == ',')
        record.cells.emplace_back();
      else if (opens)
        record.cells.back() = quoted();
      else
        record.cells.back() += c;
      ended = c != ',' && (ended || opens);
    }
    return record;
  }

  /// What stands between the quote that was just read and the one that ends it.
  std::string quoted() {
    const int began = line_;
    std::string cell;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\n') ++line_;
      if (c != '"') {
        cell += c;
        continue;
      }
      // Two quotes stand for one.
      if (at_ >= text_.size() || text_[at_] != '"') return cell;
      cell += text_[at_++];
    }
    refuse_input({name_, began, 1}, {}, "holds a quote without end");
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& name) {
  return CsvReader{text, name}.records();
}

std::string csv_cell(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) return std::string{cell};
  std::string out = "\"";
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace stepcast
