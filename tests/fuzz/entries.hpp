#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/sim/scenario/scenario.hpp"

/// What reads texts of others, one entry each: any bytes give an answer or an InputError. libFuzzer
/// runs them (scripts/fuzz), and the tests run them over the corpus and edits of it.
namespace stepcast::fuzz {

/// Reads the text. True: it was accepted. Anything but an InputError leaves it as an exception.
using Entry = bool (*)(std::string_view text);

struct NamedEntry {
  const char* name;
  Entry run;
  const char* seeds;  ///< folder of its corpus and ending, `scenarios .yaml`; empty: they are made
  Entry parse;        ///< whether the text has the form that `run` then looks into
  /// What this version writes, where no file of the tree is a seed.
  std::vector<std::string> (*made)() = nullptr;
};

/// The first is the parser alone.
std::span<const NamedEntry> entries();

/// Whether a forecast of it takes well under 2 s: at most 64 ranks and 10^5 units of work, no runs
/// that take processes of their own.
bool is_small(const Scenario& scenario);

/// Forecasts a small scenario in this process. Empty, or what of the result is no time, no size or
/// not finite. Throws InputError.
std::string wrong_forecast(Scenario scenario);

/// One structural edit of a YAML, CSV or JSON text, by the numbers that `draw` gives: a value
/// replaced by a hostile one, a line dropped, doubled or indented. Such edits get past the parser.
std::string edited(std::string text, const std::function<std::size_t(std::size_t)>& draw);

/// Values that no key expects.
std::span<const char* const> hostile_values();

}  // namespace stepcast::fuzz
