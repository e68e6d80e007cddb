#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// One side of a comparison: what went in and what came out.
struct DiffSide {
  std::string name;
  /// `path` and `value` of every key of a scenario, or of the scenario section of a result.
  std::vector<std::pair<std::string, std::string>> inputs;
  bool whole = false;                      ///< all inputs are there; not so for a result
  double step_time = 0;                    ///< [s]
  std::optional<double> mfu, peak_memory;  ///< nothing for a synthetic workload; [bytes]
  std::vector<double> parts;               ///< seconds by breakdown_names()
};

/// Reads a result of `stepcast run --json`, or simulates a scenario in processes of its own.
/// Throws InputError for what is neither, EngineError where the simulation fails.
std::pair<DiffSide, DiffSide> read_sides(const std::string& before, const std::string& after,
                                         const SearchPath& search);

/// One input that differs; nothing where a side does not have it.
struct InputChange {
  std::string path;
  std::optional<std::string> before, after;
};
/// Of two scenarios all keys; where a result is a side, what both of them say.
std::vector<InputChange> changed_inputs(const DiffSide& before, const DiffSide& after);

/// For people, and as JSON (docs/formats.md).
std::string diff_table(const DiffSide& before, const DiffSide& after);
std::string diff_json(const DiffSide& before, const DiffSide& after);

}  // namespace stepcast
