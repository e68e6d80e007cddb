#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/scheduler/stage_order.hpp"

/// An order table is a pipeline schedule of the user's own, written out unit by unit.
namespace stepcast {

/// Orders as a file writes them out, checked: each stage has the units of the shape, each once.
struct OrderTable {
  PipelineShape shape;
  std::vector<StageOrder> orders;  ///< [stage], without order_faults()
};

/// Reads a file with `stepcast: 1`, `micro_batches`, `chunks` (1), `slices` (1), `placement`
/// (loop) and `orders`, a list with one text per stage as to_string(StageOrder) writes it. Throws
/// InputError: everything that is wrong, words that are no units, and order_faults().
OrderTable read_order_table(const std::string& path, const SearchPath& search);

/// Names the keys of such a file, for its schema. It describes a draft and throws it away.
void describe_order_file(Visitor& visitor);

/// Units of one stage; `wrong` is the first word that is none, empty where all are.
struct ParsedOrder {
  StageOrder order;
  std::string wrong;  ///< the first word that is no unit and no pair; empty = all are
};
/// The inverse of to_string(StageOrder): `F0 F1 {F2|B0} B1.1/0`.
ParsedOrder parse_order(std::string_view text);

}  // namespace stepcast
