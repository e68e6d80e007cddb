#pragma once
#include <functional>
#include <string>

/// Work that takes long, for those who wait. Nothing is printed here, and where nobody watches
/// nothing happens; processes of their own do not tell.
namespace stepcast {

/// Work that is about to begin, as a progress line announces it: seconds and bytes are estimates.
struct LongWork {
  std::string what;    ///< in words that a user reads ("replaying the step")
  double seconds = 0;  ///< expected, of processor
  double bytes = 0;    ///< of memory
};

/// Whether anybody in this process is told.
bool is_work_watched();
/// Says that the work begins.
void expect_work(const LongWork& work);
/// Says how much of it is done, 0 to 1.
void tell_share(double share);

/// While it lives, it is told. One at a time.
class WorkWatch {
 public:
  using Expected = std::function<void(const LongWork&)>;
  using Told = std::function<void(double share)>;
  WorkWatch(Expected expected, Told told);
  ~WorkWatch();
  WorkWatch(const WorkWatch&) = delete;
  WorkWatch& operator=(const WorkWatch&) = delete;
};

}  // namespace stepcast
