#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/accuracy/accuracy.hpp"
#include "stepcast/sim/accuracy/plain_rows.hpp"
#include "stepcast/topology/cluster_spec.hpp"

/// How far a step that no fit has seen lies from its forecast: docs/accuracy.md, Intervals.
namespace stepcast {

/// A class of held-out and foreign rows with a model; a superseded or failed row is in none.
struct IntervalClass {
  std::string name;
  std::size_t rows = 0;
  /// 80 % of the quotients of published over forecast step time of a source that the others know
  /// nothing of lie between: middle and width of the class, shrunk towards those of the next wider
  /// one the more the fewer sources it has.
  QuotientRange range;
  double inside = 0;  ///< the part of the rows inside the range of the class without their source
  double width = 0;   ///< the median of those ranges' width [fraction of the forecast]
};
/// All rows, dense ones and those with experts, both by hardware type, and the memory of rows that
/// report it, where there are any.
std::vector<IntervalClass> interval_classes(const Ledger& ledger);

/// The same of plain rows whose framework is assumed, without memory.
std::vector<IntervalClass> plain_classes(const std::vector<PlainRow>& plain);

/// A part of a cluster file that extends the fitted numbers of a hardware type.
struct IntervalFile {
  std::string name;  ///< interval-a100.yaml
  std::string text;
};
/// One for each hardware type that has rows. Ranges of plain questions are those of plain rows
/// whose framework is assumed, by the same classes.
std::vector<IntervalFile> interval_files(const Ledger& ledger, const std::vector<PlainRow>& plain);

}  // namespace stepcast
