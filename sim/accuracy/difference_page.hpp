#pragma once
#include <string>

#include "stepcast/sim/accuracy/accuracy.hpp"

namespace stepcast {

/// The figures with the list of differences emptied and the rows that it changes; the page has the
/// list itself with its reasons, too. Both are empty without a list.
std::string differences_markdown(const Ledger& ledger);
std::string differences_text(const Ledger& ledger);

}  // namespace stepcast
