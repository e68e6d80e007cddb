#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "stepcast/sim/forecast/forecast.hpp"
#include "stepcast/workloads/operator_forecast.hpp"

/// The operators that a run executed, as one table for the command line, the trace and
/// the page of a run (docs/formats/operators.md).
namespace stepcast {

/// What people call a kernel when they sort a profile.
enum class KernelClass {
  matmul,
  grouped_matmul,
  attention,
  linear_attention,
  sparse_attention,  ///< to tokens that an indexer chooses, and the indexer itself
  norm,
  activation,
  rotary,
  routing,
  loss,
  optimizer,
  elementwise,
  given  ///< a time from outside, of a synthetic workload
};
inline constexpr std::size_t kernel_classes = 13;
const char* name(KernelClass which);
KernelClass class_of(const Operator& op);
/// Writes `4096x1024x5120` (m x k x n), `16 of 512x5120x1536`, `1x8 heads 4096x4096x128`.
std::string shape_text(const Operator& op);

/// One operator of a stage: all its launches of equal name, shape, FLOPs and bytes.
struct RunOperator {
  std::uint32_t stage = 0;
  std::string name;
  KernelClass of = KernelClass::given;
  std::string shape;
  double flops = 0, bytes = 0;  ///< of one launch; of whole sequences where documents are shorter
  double launches = 0;          ///< per step, mean over the ranks of the stage
  Seconds time{0};  ///< per step on the mean rank, starts of kernels and stalls included
  /// The least time that the data sheet allows over the time taken; 0 where nothing is
  /// known.
  double efficiency = 0;
  OperatorBound bound = OperatorBound::launch;
  double share = 0;                ///< of the computing of the stage
  std::vector<std::string> fused;  ///< operators and statements of which runtime.fusion made it
};

/// By stage, longest first; of several steps the mean of those after the first. The times of a
/// stage add up to its computing. Every rank class must be recorded.
std::vector<RunOperator> run_operators(const Scenario& scenario, const RecordedRun& run);

/// What one execution of a segment does, for a slice of the trace.
struct SegmentWork {
  std::size_t launches = 0;
  double flops = 0, bytes = 0;
  double least = 0;                             ///< time that the data sheet allows [s]
  OperatorBound bound = OperatorBound::launch;  ///< of the operator that takes longest
  std::string shape;                            ///< of that operator
};
/// [variant][segment] of one stage.
std::vector<std::vector<SegmentWork>> segment_work(const Scenario& scenario, const RecordedRun& run,
                                                   std::uint32_t stage);

/// One text is for people, with the `top` longest of each stage; the other has every row as CSV.
std::string run_operators_table(const std::vector<RunOperator>& operators, std::size_t top);
std::string run_operators_csv(const std::vector<RunOperator>& operators);

/// What was asked to be shown of a run, as a JSON object: `pipeline` with `timeline`, which is
/// JSON, and `operators[]`; neither where it is empty or null.
std::string run_fields_json(const std::string& pipeline, const std::string& timeline,
                            const std::vector<RunOperator>* operators);
/// What report_json() wrote, with such fields behind its own.
std::string with_run_fields(const std::string& report, const std::string& fields);

}  // namespace stepcast
