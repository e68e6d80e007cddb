#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "stepcast/base/report_table.hpp"
#include "stepcast/base/text.hpp"
#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/accuracy/intervals.hpp"

/// Here is how the ledger's text and its page write the parts of a row.
namespace stepcast::ledger_words {

inline double percent(double fraction) { return 100 * fraction; }

inline std::string part(const ErrorFigures& f) {
  return f.rows == 0 ? "-" : fmt::format("{:.1f} ({})", percent(f.mean), f.rows);
}

inline std::string verdict_of(const MeasuredRow& row) {
  return row.failure.empty() ? fmt::format("{:+.1f}", percent(row.error()))
                             : "failed: " + row.failure;
}

inline std::string memory_text(const MeasuredRow& row) {
  const auto error = row.memory_error();
  return error ? fmt::format("{:+.0f}", percent(*error)) : "";
}

inline std::string time_text(double seconds) { return human(Seconds{seconds}); }

/// Rows that were fitted need no word.
inline std::string_view label_text(const MeasuredRow& row) {
  return row.label == RowLabel::fitted ? std::string_view{} : name(row.label);
}

// Tables that a terminal and a page show alike.
ReportTable groups_table(const char* heading, const std::vector<LedgerGroup>& groups);
ReportTable rows_table(const Ledger& ledger);
ReportTable ratios_table(const Ledger& ledger);
ReportTable intervals_table(const char* heading, const std::vector<IntervalClass>& classes);

}  // namespace stepcast::ledger_words
