#pragma once
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "stepcast/sim/import/import.hpp"

/// Launch files of frameworks with the values that a reader of their documentation finds in them:
/// tests/sim/import/data/subjects.csv. The values were taken from the published files by hand.
namespace stepcast::import_tests {

struct Subject {
  std::string id, file;
  ImportOptions options;
  std::map<std::string, std::string> values;  ///< by column, those that are filled
};

/// As test programs print it.
inline void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.id; }

std::vector<Subject> subjects();
std::string data_path(const std::string& file);

/// The value of a column in an imported scenario; empty for a column that has none there.
std::string imported_value(const Scenario& scenario, const std::string& column);

}  // namespace stepcast::import_tests
