#pragma once
#include <cstddef>

namespace stepcast {

/// What the state of a rank class needs at its most, as measured (docs/benchmarks.md); a guess too
/// low leaves the rest on small pages.
inline constexpr std::size_t heap_of_rank = std::size_t{64} << 10U;

/// While it lives, what the heap grows by comes in one piece of at least that many bytes, which
/// lies on huge pages where the system has them: the state of many ranks is visited all over, and
/// most of its pages of 4 KiB would miss in the tables of the processor. It changes no result.
class HugePages {
 public:
  explicit HugePages(std::size_t bytes);
  ~HugePages();
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

 private:
  char* before_;  ///< end of the heap
};

}  // namespace stepcast
