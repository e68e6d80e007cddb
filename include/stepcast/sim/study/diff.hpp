#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// This is one side of a comparison: what went in and what came out.
struct DiffSide {
  std::string name;
  /// This has `path` and `value` of every key of a scenario, or of the scenario section of a
  /// result.
  std::vector<std::pair<std::string, std::string>> inputs;
  bool whole = false;                      ///< all inputs are there; not so for a result
  double step_time = 0;                    ///< [s]
  std::optional<double> mfu, peak_memory;  ///< nothing for a synthetic workload; [bytes]
  std::vector<double> parts;               ///< seconds by breakdown_names()
};

/// This reads a result of `stepcast run --json`, or simulates a scenario in processes of its own.
/// Throws InputError for what is neither, EngineError where the simulation fails.
std::pair<DiffSide, DiffSide> read_sides(const std::string& before, const std::string& after,
                                         const SearchPath& search);

/// This is one input that differs; nothing where a side does not have it.
struct InputChange {
  std::string path;
  std::optional<std::string> before, after;
};
/// Of two scenarios this compares all keys; where a result is a side, what both of them say.
std::vector<InputChange> changed_inputs(const DiffSide& before, const DiffSide& after);

/// One text is for people, the other is JSON (docs/formats.md).
std::string diff_table(const DiffSide& before, const DiffSide& after);
std::string diff_json(const DiffSide& before, const DiffSide& after);

}  // namespace stepcast
