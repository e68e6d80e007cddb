#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepcast/sim/kernels/profile.hpp"
#include "stepcast/sim/kernels/profile_compare.hpp"

/// What readers of profiles share. Private to sim/kernels.
namespace stepcast {

/// The text of a file, unpacked where it begins as gzip does. Throws InputError: missing,
/// unreadable, larger than 1 GiB, a gzip stream that ends early.
std::string read_profile_text(const std::string& path);

/// Where the files of a profile are: the folder itself, or ASCEND_PROFILER_OUTPUT inside it, into
/// which the Ascend profiler writes them.
std::string profile_folder(const std::string& folder);

/// A kernel with what it belongs to; `line` is 0 where the file has no lines.
struct ProfileRow {
  TracedKernel kernel;
  std::string device, step;  ///< as the file writes them; empty: not said
  int line = 0;
};

/// A time since some epoch, whose microseconds have more digits than a double.
struct Microseconds {
  std::int64_t whole = 0;
  double fraction = 0;
};
/// The number that `text` writes as a plain decimal; for anything else (1e3) its `value`.
Microseconds microseconds(std::string_view text, double value);
double seconds_between(const Microseconds& from, const Microseconds& to);
/// What is wrong with the times of a kernel [us], as a message; empty: nothing.
std::string wrong_times(double start, double duration);

/// Starts count from the first that the file has. Chrome traces; communication.json of the Ascend
/// profiler.
std::vector<ProfileRow> read_chrome_rows(const std::string& path);
void read_communication(const std::string& path, Profile& profile);

}  // namespace stepcast
