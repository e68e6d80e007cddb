#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/sim/report/kernel_trace.hpp"

/// A profile of one rank beside its forecast, by operator class, with the causes of the difference
/// (docs/profile.md).
namespace stepcast {

/// One step of one rank as a profiler wrote it.
struct KernelProfile {
  std::string file;
  KernelTrace trace;  ///< of the step of median length; `step` is 0 where only one was profiled
  std::size_t steps = 1;
  std::vector<std::string> unknown;  ///< names of kernels in class `other`, longest first
};

/// Whether a file or folder is meant as a profile: a folder, a CSV file, or a Chrome trace.
bool looks_like_profile(const std::string& path);

/// The class of a kernel by its name, or its type with the Ascend profiler (docs/profile.md has the
/// table), and whether it communicates; `other` where no pattern matches.
struct KernelName {
  std::string of;
  bool communication = false;
};
KernelName classified(std::string_view name);

/// Reads kernel_details.csv or a Chrome trace of the PyTorch profiler (.json, .json.gz), or a
/// folder that holds one of them. Throws InputError with file and line: neither of these, an empty
/// or truncated one, no kernels, kernels of several devices.
KernelProfile read_kernel_profile(const std::string& path);

/// One class on both sides; seconds are sums over its launches.
struct ClassComparison {
  std::string of;
  bool communication = false;
  std::size_t forecast_launches = 0, profile_launches = 0;
  double forecast = 0, profile = 0;  ///< [s]
  /// Median of profile over forecast of the launches that both have; 0 where there are none.
  double ratio = 0;
  /// These make the change of the step: of launches that take longer, of those that only one side
  /// has, and of single communications that wait. For communications only what no kernel hides
  /// counts.
  double slower = 0, more = 0, waiting = 0;
};

/// A side of the comparison. computing + exposed + gaps + idle = step.
struct ProfileSide {
  double step = 0;
  double computing = 0;  ///< some kernel runs
  double exposed = 0;    ///< only communication runs
  double gaps = 0;       ///< nothing runs, for less than 50 us at a time: starts of kernels
  double idle = 0;       ///< nothing runs, for longer
};

/// One reason for which the profiled step differs from its forecast; `change` is profile minus
/// forecast [s].
struct ProfileCause {
  enum class Kind { slower, launches, waiting, gaps, idle, overlap };
  Kind kind;
  std::string of;     ///< class; empty for gaps, idle and overlap
  double change = 0;  ///< of the step [s]
  std::string text;   ///< for people
};

/// A forecast (A) beside a profile (B), by part of the step, class of kernel and cause.
struct ProfileComparison {
  ProfileSide forecast, profile;
  std::vector<ClassComparison> classes;  ///< by change of time, largest first
  std::vector<ProfileCause> causes;      ///< likewise; they add up to the change of the step
};

/// `forecast` has one step; of a profile of one step both sides are counted from the first kernel
/// to the end of the last.
ProfileComparison compare_profile(const KernelTrace& forecast, const KernelProfile& profile);

/// What the two sides of the comparison are called.
struct ProfileNames {
  std::string scenario;
  std::uint32_t rank = 0, stage = 0;
};
std::string profile_table(const ProfileComparison& comparison, const KernelProfile& profile,
                          const ProfileNames& names);
std::string profile_markdown(const ProfileComparison& comparison, const KernelProfile& profile,
                             const ProfileNames& names);
std::string profile_json(const ProfileComparison& comparison, const KernelProfile& profile,
                         const ProfileNames& names);

}  // namespace stepcast
