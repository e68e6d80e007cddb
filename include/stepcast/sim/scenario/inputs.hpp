#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// One key of a resolved scenario.
struct Input {
  std::string path;    ///< `parallel.tp`
  std::string value;   ///< in SI units, as Scenario::content has it
  std::string source;  ///< `clusters/atlas-800t-a2.yaml:31 datasheet`, `--set`; empty: the default
};

/// All keys that the forecast depends on, in the order of the description, with the place
/// where each value was written: file and line, with its folder unless it is the scenario itself,
/// and what the file says of its origin. A key of a model that `hf_config` names has that file. A
/// value of more than 200 characters is told by its length and hash.
std::vector<Input> inputs_of(const Scenario& scenario);

}  // namespace stepcast
