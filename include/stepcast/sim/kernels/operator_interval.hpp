#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcast/base/describe.hpp"
#include "stepcast/base/document.hpp"
#include "stepcast/workloads/operator_forecast.hpp"

/// How far a measured kernel or exchange lies from its forecast, and of which shapes some were:
/// docs/models/operators.md, "How far a kernel lies from its forecast".
namespace stepcast {

/// What is known of one kind on one device. The sizes of a column that the kind lacks are 0.
struct KindResiduals {
  std::string device;  ///< `device.name` of its cluster file
  std::string kind;
  std::int64_t rows = 0;
  QuotientRange range;  ///< of measured over forecast time
  std::array<double, operator_columns> least{}, most{};
  std::vector<std::string> types, generations;  ///< that some row had
};

/// The range of all rows, where every kind of a device counts the same, and the range that holds it
/// and those of all kinds.
struct CommonRanges {
  QuotientRange together, widest;
};
/// Residuals of all measured kinds; without `common` there is no such file.
struct OperatorResiduals {
  std::optional<CommonRanges> common;
  std::vector<KindResiduals> kinds;
};

/// Whether shapes like that of a request were measured on its device.
enum class MeasuredShape { inside, outside, not_measured };
const char* name(MeasuredShape shape);

/// Between these times [s] a measured one lies in 80 of 100 cases.
struct OperatorInterval {
  Seconds low{0}, high{0};
  MeasuredShape shape = MeasuredShape::not_measured;
};

/// The size that a request has in a column; 0 where its kind has none.
double size_of(const OperatorRequest& request, OperatorColumn column);
/// The type and the generation as residuals name them: FP16 runs as BF16, and no generation is the
/// usual library's.
std::string residual_type(const OperatorRequest& request);
std::string residual_generation(const OperatorRequest& request);

/// The interval around the forecast `time` of a request on a device. Nothing without residuals.
std::optional<OperatorInterval> operator_interval(const OperatorResiduals& residuals,
                                                  const std::string& device,
                                                  const OperatorRequest& request, Seconds time);

/// The keys of a file of residuals.
void describe(Visitor& visitor, OperatorResiduals& spec);
/// Reads one. Throws InputError.
OperatorResiduals read_residuals(const std::string& path, const SearchPath& search);
/// Reads the one beside the presets, `residuals/operators.yaml`; none where there is no such
/// file.
OperatorResiduals shipped_residuals(const SearchPath& search);

}  // namespace stepcast
