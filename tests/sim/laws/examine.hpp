#pragma once
#include <map>
#include <string>
#include <vector>

#include "random_scenario.hpp"

/// The laws of docs/models/laws.md, one case at a time.
namespace stepcast::laws {

struct Findings {
  std::vector<std::string> broken;       ///< laws that do not hold, with the numbers
  std::map<std::string, double> slower;  ///< part of the step that something faster adds, by what
  std::map<std::string, int> counts;     ///< what the case could show, such as `flows meet`
};

/// Runs a case several times: folded or not, with SimGrid, scaled, and with faster parts. A process
/// examines at most one case, because SimGrid runs once per process.
Findings examine(const ValidCase& c);

/// Findings as text, from one process to another.
std::string text_of(const Findings& findings);
Findings findings_of(const std::string& text);

}  // namespace stepcast::laws
