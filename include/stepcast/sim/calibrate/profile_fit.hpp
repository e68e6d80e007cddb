#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/calibrate/calibrate.hpp"
#include "stepcast/sim/kernels/profile.hpp"

/// Hardware numbers fitted to what a profile holds (docs/calibration.md).
namespace stepcast {

/// The samples of one type before and after the fit.
struct TypeQuality {
  std::string type;
  std::size_t samples = 0;
  double error_before = 0, error_after = 0;  ///< mean absolute, as fractions
  double share = 0;                          ///< of the type's device time that samples explain
};

/// Numbers of a cluster that follow from a profile, and how well they explain its kernels.
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

/// The fit and what of the profile was not used, as tables for people.
std::string profile_text(const ProfileCalibration& calibration, const Profile& profile);
/// A cluster file that extends `base`, with every fitted number as `source: fitted`.
std::string profile_yaml(const ProfileCalibration& calibration, const std::string& base,
                         const std::string& name);

}  // namespace stepcast
