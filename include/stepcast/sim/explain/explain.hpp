#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sim/forecast/forecast.hpp"

/// Says what bounds a step: where its longest chain of waiting runs, and what would shorten it
/// (docs/explain.md).
namespace stepcast {

/// Time that the critical path spends on one thing [s].
struct PathShare {
  std::string name;
  double seconds = 0;
};

/// The longest path through what a run executed, per step: with several steps, of the mean
/// step after the first.
struct CriticalPath {
  double total = 0;  ///< [s], the step time
  /// Each list adds up to what it splits, longest first: categories and operators to `total` (host
  /// and communications are rows of operators too), links to the time of communications.
  std::vector<PathShare> categories, operators, links;

  /// A stretch of the path on one rank class [s since the start of the run].
  struct Span {
    std::uint32_t rank_class;
    double from, to;
    std::string category, label;
  };
  std::vector<Span> spans;  ///< in order of time, neighbours with equal category and class merged

  /// Says how much later the work of one kind may come without moving the end.
  struct Slack {
    std::string name;                       ///< `stage 0 computing`, `tensor communication`
    std::uint64_t count = 0, critical = 0;  ///< pieces of work; of these without slack
    double least = 0, median = 0;           ///< [s]
  };
  std::vector<Slack> slacks;
};
CriticalPath critical_path(const RecordedRun& run);

/// A number of the scenario that a step time may depend on.
struct Parameter {
  enum class Nature { time, rate, plain };
  std::string path;  ///< `cluster.device.matmul_peak`
  Nature nature = Nature::plain;
  double value = 0;  ///< SI
  std::string text;  ///< for people, with unit
  Range range;       ///< of its key, taken alone
};
/// Every time, bandwidth, FLOP rate and plain number of the scenario that is not 0, in
/// the order of the description.
std::vector<Parameter> parameters(const Scenario& scenario);
/// The scenario with that number multiplied. Throws ContractError for an unknown path.
Scenario scaled(Scenario scenario, const std::string& path, double factor);
/// The same where a file could say so: nothing where the key cannot have that value, or
/// where the checks refuse it beside the other values of the scenario.
std::optional<Scenario> varied(const Scenario& scenario, const Parameter& parameter, double factor);

/// The elasticity is d log(step time) / d log(parameter), from exact runs at +-1 %.
struct Elasticity {
  Parameter parameter;
  double value = 0;
};
/// A step without some of its costs.
struct Bound {
  std::string name;      ///< `communication free`
  double step_time = 0;  ///< [s]
};

/// A forecast looked into: its critical path, what its numbers are worth, and its bounds.
struct Explanation {
  double step_time = 0;
  std::string headline;  ///< that of the run
  CriticalPath path;
  /// There is one for every parameter that could be varied, largest magnitude first.
  std::vector<Elasticity> elasticities;
  /// The sum of times minus that of rates: 1 where the step time is proportional to all
  /// times together.
  double time_sum = 0;
  std::vector<Bound> bounds;
};

/// Runs the scenario many times, each in a process of its own, `workers` at a time. Throws
/// InputError when it is too long to record, EngineError when a run fails.
Explanation explain(const Scenario& scenario, int workers);

/// One paragraph in plain words.
std::string explanation_text(const Scenario& scenario, const Explanation& explanation);
/// The paragraph and tables of at most 100 columns, with the `top` largest of each.
std::string explanation_table(const Scenario& scenario, const Explanation& explanation,
                              std::size_t top);
std::string explanation_json(const Scenario& scenario, const Explanation& explanation);
/// The elasticities as a tornado chart, an SVG image of its own.
std::string tornado_svg(const Scenario& scenario, const Explanation& explanation, std::size_t top);

}  // namespace stepcast
