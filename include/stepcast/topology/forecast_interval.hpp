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
  /// Of questions whose framework is not known in full, as both above; none: as those.
  std::optional<ClassRange> plain, plain_experts;

  /// The one that a model's step has; `exact` questions say what their framework launches.
  const ClassRange& of(bool with_experts, bool exact) const {
    if (!exact && with_experts && plain_experts) return *plain_experts;
    if (!exact && plain) return *plain;
    return with_experts && experts ? *experts : steps;
  }
};

}  // namespace stepcast
