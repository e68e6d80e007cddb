#pragma once
#include <span>

#include "stepcast/topology/fabric.hpp"
#include "stepcast/workloads/operator_table.hpp"

/// Here single kernels and collectives get their times, as `stepcast operator` shows them.
namespace stepcast {

/// One kernel or collective of the table of operators; its shape is one that its kind takes.
struct OperatorRequest {
  const OperatorKind* kind = nullptr;
  KernelShape shape;
  std::int64_t ranks = 1;  ///< of a collective
};

/// What takes the largest part of the time: matrix products, HBM, vector work, what does
/// not shrink with any of them; for a collective the bytes over its links, or its steps.
enum class OperatorBound { compute, memory, vector, launch, link, latency };
const char* name(OperatorBound bound);

/// Time of one operator on one device [s], with what bounds it. Formulas: docs/models/operators.md.
struct OperatorForecast {
  Seconds time{0};    ///< of the kernels, without their launch
  Seconds launch{0};  ///< on the stream, beside `time`
  Flops flops{0};
  Bytes bytes{0};  ///< HBM traffic; of a collective its call's
  OperatorBound bound = OperatorBound::compute;
  double efficiency = 0;  ///< least time that the data sheet allows over `time`
};

/// The forecast of kernels that run one after the other, without their host.
OperatorForecast forecast_kernels(std::span<const Operator> kernels, const DeviceSpec& device,
                                  bool fp8);

/// Forecasts single operators on the first device, or the first devices of the first node or
/// super-node, of one cluster.
class OperatorForecaster {
 public:
  explicit OperatorForecaster(const ClusterSpec& cluster);

  const ClusterSpec& cluster() const { return fabric_.cluster(); }
  /// The largest group of a collective: the devices of a node, or of a super-node.
  std::int64_t most_ranks() const;
  bool has(ElementType type) const;

  Seconds time(const OperatorRequest& request) const;
  OperatorForecast forecast(const OperatorRequest& request) const;

 private:
  OperatorForecast kernels(const OperatorRequest& request) const;
  OperatorForecast collective(const OperatorRequest& request) const;

  Fabric fabric_;
};

}  // namespace stepcast
