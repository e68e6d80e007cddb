#pragma once
#include <optional>
#include <string>
#include <vector>

/// How far measured steps lie from their forecasts: docs/accuracy.md, Intervals.
namespace stepcast {

/// Quotients of published over forecast step time, or memory.
struct QuotientRange {
  double low = 1, high = 1;
};

/// A range with the measured rows that it was taken from: docs/accuracy.md, Intervals.
struct ClassRange : QuotientRange {
  std::string of;      ///< the class ("dense, H100"); empty: not told
  bool wider = false;  ///< the class has other types of hardware: this type has too few rows
  std::vector<std::string> devices;  ///< of this type that rows were measured on
};

/// Between these quotients lie 80 % of the measured steps of this hardware that no fit has seen.
struct ForecastInterval {
  ClassRange steps;
  std::optional<ClassRange> experts;  ///< of models with experts; none: as `steps`
  std::optional<ClassRange> memory;   ///< of the memory of the fullest device

  /// The one that a model's step has.
  const ClassRange& of(bool with_experts) const {
    return with_experts && experts ? *experts : steps;
  }
};

}  // namespace stepcast
