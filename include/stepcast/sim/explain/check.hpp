#pragma once
#include <optional>
#include <string>
#include <vector>

#include "stepcast/sim/explain/pairs.hpp"
#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// One expectation of a scenario beside what came out.
struct CheckedValue {
  std::string key;  ///< below `expect`: `step_time`, `exposed.expert`
  Expectation expected;
  std::optional<double> found;  ///< SI units; nothing where the scenario has no such value
  int line = 0;                 ///< of the file itself; 0 where it stands in one that is extended
  bool holds() const;
};

/// What `stepcast check` found in one file.
struct CheckResult {
  std::string file, name;
  std::string error;                 ///< why there is nothing to compare; several lines
  bool bad_input = false;            ///< the error is one of the file, not of the simulation
  std::vector<CheckedValue> values;  ///< in the order of the description
  std::vector<double> breakdown;     ///< by breakdown_names() [s]
  /// What the file has of it, nothing where it lacks a part; empty without `breakdown:`.
  std::vector<std::optional<double>> golden;
  double seconds = 0;  ///< it took; the only thing that varies between runs

  bool passed() const;
};

/// Seconds of a forecast by breakdown_names(); they add up to the step time.
std::vector<double> breakdown_of(const Forecast& forecast);

/// The scenario files with `expect:` among the paths: a file stands for itself, a folder
/// for all *.yaml below it that are scenarios with expectations, in the order of their names.
/// Throws InputError for a path that is not there, for a file without expectations that is named,
/// and where a folder has none at all.
std::vector<std::string> find_checks(const std::vector<std::string>& paths,
                                     const SearchPath& search);

/// Runs every file in a process of its own, `workers` at a time; results come in the order of
/// `files`.
std::vector<CheckResult> run_checks(const std::vector<std::string>& files, int workers,
                                    const SearchPath& search,
                                    const std::vector<std::string>& overrides = {});

/// A text for people: a line per file, and why where one fails; then what became of
/// all.
/// With pairs it says of a step time that is off how such differences were told.
std::string check_table(const std::vector<CheckResult>& results,
                        const std::vector<PublishedPair>& pairs = {});
/// The worst value that does not hold, and where the time went since ("+3.1 %:
/// exposed expert communication +180 ms"). It is empty when the file passed.
std::string failure_line(const CheckResult& result);
/// JUnit XML, with one test case per file.
std::string junit_xml(const std::vector<CheckResult>& results);
/// A table in Markdown, those that failed first and why, as for the summary of a CI job.
std::string check_markdown(const std::vector<CheckResult>& results);
/// The same for a page: `checks`, each with `name`, `file`, `passed`, `why` and `values`,
/// with numbers in SI units and as words.
std::string check_json(const std::vector<CheckResult>& results);
/// Workflow commands of GitHub, `::error file=...,line=...::...`, one for each value that
/// does not hold and each file without a result.
std::string check_annotations(const std::vector<CheckResult>& results);

/// The text of the file with the values of `result` in place of the expected ones and of
/// the golden breakdown, with the parts that it lacks; everything else, comments and layout, stays.
/// Units stay too, numbers get six digits. Throws InputError where a value stands in another file,
/// or cannot take the new one.
std::string updated_text(const CheckResult& result, const SearchPath& search);

}  // namespace stepcast
