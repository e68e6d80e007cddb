#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

/// Random small scenarios for the law tests, as a file of tests/sim/laws and settings on it: what
/// fails is repeated with `stepcast run FILE --presets tests/sim/laws --set ...`.
namespace stepcast::laws {

struct Draft {
  std::string file;                   ///< in tests/sim/laws
  std::vector<std::string> settings;  ///< `path.to.key=value`
  std::set<std::string> features;     ///< of all_features()
};

/// What the settings of a Draft may ask for, each under a name such as `schedule zb_v`.
const std::vector<std::string>& all_features();
/// Those that few drafts have: each case looks for one of them first.
const std::vector<std::string>& rare_features();

/// The `attempt`-th draft of case `index` of a seed. The schedule follows from the index, so that
/// all occur; the rest is drawn. The reader may refuse a draft.
Draft draw_scenario(std::uint64_t seed, std::size_t index, std::size_t attempt);

/// Reads a draft, with more settings behind its own. Throws InputError when it is not valid.
Scenario read_draft(const Draft& draft, const std::vector<std::string>& more = {});

/// `FILE --set ... --set ...`, for a shell.
std::string command_of(const Draft& draft);

/// A case: its first draft that is valid, and how many were not.
struct ValidCase {
  Draft draft;
  Scenario scenario;
  std::size_t refused = 0;
};
/// Throws std::runtime_error when no draft of many is valid.
ValidCase valid_case(std::uint64_t seed, std::size_t index);

}  // namespace stepcast::laws
