#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// Varies between runs of one scenario and is reported only when asked for.
struct RunTiming {
  double wall_s = 0;
  std::uint64_t peak_rss_bytes = 0;
};

/// The result as JSON, indented, ending in a line feed. Fields: docs/formats.md.
std::string report_json(const Scenario& scenario, const Forecast& forecast,
                        const std::optional<RunTiming>& timing);

/// The result for people, in at most 100 columns of text; with `colour` it has the escape
/// codes of a terminal.
std::string report_table(const Scenario& scenario, const Forecast& forecast,
                         const std::optional<RunTiming>& timing, bool colour = false);

/// The executed schedule, with one row of at most `width` columns per stage (its first rank
/// class): what fills most of a column's time, with waits of each kind apart.
std::string pipeline_text(const RecordedRun& run, std::size_t width, bool colour);

/// What a step is made of in one or two sentences: first the largest of computing, exposed
/// communication, bubble, host and other idle time, then the kind that most of it is, then what
/// comes next. Text, pages, explain and JSON (`headline`) have it.
std::string verdict(const Forecast& forecast);

/// `1.093 M`, `12.35 k`, `533.6`: tokens or samples a second.
std::string rate_text(double rate);

/// One line: `framework  MindSpeed 2.3, assumed; --set framework=...`; empty without a framework.
std::string framework_line(const Scenario& scenario);
/// The keys that the framework says, each with its value and where the rule was read. It says so
/// where the scenario has no framework.
std::string framework_keys_text(const Scenario& scenario);

}  // namespace stepcast
