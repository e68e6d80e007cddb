#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/sim/scenario/scenario.hpp"

namespace stepcast {

/// What became of a point: `invalid` cannot be asked for, `failed` is a defect of the program.
enum class PointStatus {
  ok,
  out_of_memory,  ///< a stage does not fit; simulated only where a sweep has a baseline
  invalid,        ///< the configuration is refused
  failed          ///< the simulation of it did not end
};
const char* name(PointStatus status);

/// The numbers of a point by name, in the order of every table: what was asked, and the
/// metrics of docs/formats.md. The place of a name in this list is its place in
/// PointResult::numbers.
const std::vector<std::string>& number_names();
/// The place of a name of number_names().
std::size_t number_place(std::string_view name);

/// What came out at one point of a sweep: one row of a store, a CSV file or a table.
struct PointResult {
  std::string key;          ///< hash of the resolved scenario; of its text where that is not valid
  std::string version;      ///< of the simulator
  std::string fingerprint;  ///< of its build
  std::string sweep;        ///< its name
  std::int64_t point = 0;
  std::string values;  ///< label of the point
  /// The keys that vary, with a number in plain form (4096 for 4Ki) or the text as the
  /// file writes it.
  std::vector<std::pair<std::string, std::string>> varied;
  PointStatus status = PointStatus::ok;
  std::string reason;                          ///< of a status other than ok, one line
  std::string schedule;                        ///< of the pipeline, empty when invalid
  std::vector<std::optional<double>> numbers;  ///< as number_names(); nothing where undefined

  bool of_this_build() const;
  /// Says whether there is a forecast of the step.
  bool simulated() const {
    return (status == PointStatus::ok || status == PointStatus::out_of_memory) &&
           number("step_time_s").has_value();
  }
  std::optional<double> number(std::string_view name) const { return numbers[number_place(name)]; }
  friend bool operator==(const PointResult&, const PointResult&) = default;
};

/// The numbers of a forecast, as number_names() has them.
std::vector<std::optional<double>> numbers_of(const Scenario& scenario, const Forecast& forecast);
/// The same with nothing but what was asked, and the memory of the fullest stage.
std::vector<std::optional<double>> numbers_without_step(std::vector<std::optional<double>> numbers);
/// Says which stage does not fit, and by how much; it is empty when all do.
std::string memory_excess(const Forecast& forecast);

/// One line of JSON holds everything, and reads back. `from_line` throws ContractError for anything
/// that `to_line` did not write.
std::string to_line(const PointResult& result);
PointResult from_line(const std::string& line);

/// The keys that vary as a JSON object, numbers as numbers; and back.
std::string varied_json(const PointResult& result);
std::vector<std::pair<std::string, std::string>> varied_from(const std::string& text);

/// A value of a key that varies as PointResult::varied has it.
std::string plain_value(const std::string& text);
/// The keys that vary in any of the rows, in the order of their first appearance.
std::vector<std::string> varied_keys(const std::vector<PointResult>& rows);
/// The value of one of them; nothing where the row does not vary it.
std::optional<std::string> varied_value(const PointResult& row, std::string_view key);

/// Writes a number as tables of data have it: whole ones without exponent, others in shortest
/// form.
std::string plain_number(double value);

}  // namespace stepcast
