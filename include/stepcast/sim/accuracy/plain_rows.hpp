#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/accuracy/accuracy.hpp"

/// What a forecast is worth to someone who knows cluster, model, plan and sizes, and no switch of a
/// framework.
namespace stepcast {

/// Whether a plain question names the framework of its row or takes that of the device.
enum class PlainFramework { named, assumed };

/// The document of a row with the keys of a question alone: cluster, model, plan, sizes, precision,
/// recomputation, offload, pipeline and data, how experts are routed, and which overlaps were asked
/// for. Its framework stays where it is `named`.
Node plain_document(const Node& row, PlainFramework framework);

/// A row as the ledger has it, and plain; a plain row that is refused has `failure`.
struct PlainRow {
  MeasuredRow ledger, named, assumed;
};
/// Of the rows that count in the figures of the ledger. Throws InputError where a row itself is
/// wrong.
std::vector<PlainRow> measure_plain(const std::string& folder, const SearchPath& search,
                                    int workers);

/// The sources of the rows with a model, in their order.
std::vector<std::string> plain_sources(const std::vector<PlainRow>& rows);
/// Of one side of the rows of a source, or of all for an empty name; refused rows are left out.
ErrorFigures plain_figures(const std::vector<PlainRow>& rows, MeasuredRow PlainRow::*side,
                           const std::string& source);

/// Errors of plain questions by source, for people.
std::string plain_text(const std::vector<PlainRow>& rows);
/// `{"plain": {"ledger": FIGURES, "named": ..., "assumed": ..., "sources": [...]}}`
std::string plain_json(const std::vector<PlainRow>& rows);

}  // namespace stepcast
