#pragma once
#include <string>
#include <vector>

#include "stepcast/sim/calibrate/profile.hpp"
#include "stepcast/sim/calibrate/profile_compare.hpp"

/// What readers of profiles share. Private to sim/calibrate.
namespace stepcast {

/// The text of a file, unpacked where it begins as gzip does. Throws InputError: missing,
/// unreadable, larger than 1 GiB, a gzip stream that ends early.
std::string read_profile_text(const std::string& path);

/// A kernel with what it belongs to; `line` is 0 where the file has no lines.
struct ProfileRow {
  TracedKernel kernel;
  std::string device, step;  ///< as the file writes them; empty: not said
  int line = 0;
};

/// Chrome traces; communication.json of the Ascend profiler.
std::vector<ProfileRow> read_chrome_rows(const std::string& path);
void read_communication(const std::string& path, Profile& profile);

}  // namespace stepcast
