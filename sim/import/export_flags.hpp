#pragma once
#include <string>

#include "flags.hpp"
#include "stepcast/base/errors.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

/// The line of flags in the making. Private to sim/import.
namespace stepcast {

/// Flags of the table, joined with blanks.
struct Flags {
  launch::Framework framework;
  std::string line;

  void add(const std::string& flag, const std::string& value = {}) {
    expects(launch::find_flag(framework, flag).has_value(), "an exported flag is in the table");
    line += (line.empty() ? "" : " ") + flag + (value.empty() ? "" : " " + value);
  }
  void add(const std::string& flag, std::int64_t value) { add(flag, std::to_string(value)); }
  void when(bool wanted, const std::string& flag) {
    if (wanted) add(flag);
  }
};

/// Precision, recomputation, states, kernels and graphs.
void add_training(Flags& flags, const Scenario& scenario);

}  // namespace stepcast
