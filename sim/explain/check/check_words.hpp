#pragma once
#include <string>

#include "stepcast/sim/explain/check.hpp"

namespace stepcast {

/// A checked value in the words of a report.
struct ValueWords {
  std::string found, expected, tolerance, difference;  ///< `found`, `difference`: empty without one
};
ValueWords words_of(const CheckedValue& value);
/// "step_time 12.4 s, expected 12.3 s within 1%".
std::string value_line(const CheckedValue& value);

}  // namespace stepcast
