#pragma once
#include <string>
#include <vector>

#include "stepcast/workloads/collectives.hpp"
#include "stepcast/workloads/operators.hpp"

/// What a user's own cluster measured. Files and columns: docs/calibration.md.
namespace stepcast {

/// A sample is one thing that was measured, and what the model says it is.
struct Sample {
  enum class Kind { kernel, gap, collective, node_link, network_link };
  Kind kind = Kind::kernel;
  std::string type;        ///< operator type, collective or transport, as the profiler names it
  Operator op;             ///< of `kernel`
  CollectiveCall call{};   ///< of `collective`
  std::int64_t ranks = 2;  ///< of `collective`: devices 0 .. ranks-1
  Bytes bytes{0};          ///< of a link: what one transfer moved
  double count = 1;        ///< how often it was seen; `time` is the median, of links the mean
  Seconds time{0};
};

/// What the folders of one profile say: samples to fit to, and the parts of its step [s].
struct Profile {
  std::vector<Sample> samples;
  /// The device time per operator type [s] (op_statistic.csv), for the share that samples
  /// explain.
  std::vector<std::pair<std::string, double>> totals;
  /// The mean of step_trace_time.csv [s]; it is 0 without that file.
  double computing = 0, exposed = 0, free = 0;
  std::vector<std::string> skipped;  ///< what could not be used, and why
};

/// Adds what a folder holds: kernel_details.csv, op_statistic.csv, step_trace_time.csv,
/// communication.json, and tables of hccl_test or nccl-tests in files named KIND-RANKS.txt
/// (all_reduce-16.txt). Throws InputError with file and line, or where the folder holds none.
void read_profile(const std::string& folder, Profile& profile);

}  // namespace stepcast
