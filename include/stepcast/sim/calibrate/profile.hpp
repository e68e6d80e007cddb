#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/calibrate/calibrate.hpp"
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

/// The samples of one type before and after the fit.
struct TypeQuality {
  std::string type;
  std::size_t samples = 0;
  double error_before = 0, error_after = 0;  ///< mean absolute, as fractions
  double share = 0;                          ///< of the type's device time that samples explain
};

struct ProfileCalibration {
  std::vector<FittedValue> values;  ///< only what the samples see
  std::vector<double> singular_values;
  std::vector<TypeQuality> types;
};

/// The time of a sample on a cluster. Gaps are device.launch.vector; transfers are a
/// latency and bytes over one link. Throws InputError where a collective does not fit the cluster.
Seconds sample_time(const Sample& sample, const ClusterSpec& cluster);

/// Fits the numbers that samples see, starting at the cluster's. Throws InputError without
/// samples.
ProfileCalibration calibrate_from_profile(const Profile& profile, const ClusterSpec& cluster);

std::string profile_text(const ProfileCalibration& calibration, const Profile& profile);
/// A cluster file that extends `base`, with every fitted number as `source: fitted`.
std::string profile_yaml(const ProfileCalibration& calibration, const std::string& base,
                         const std::string& name);

}  // namespace stepcast
